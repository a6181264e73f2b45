//! What a training leaves for people to watch: `metrics.jsonl`, the TensorBoard file and the samples.

use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::tensor::Tensor;
use mist::geometry::PixelBox;
use mist::measurements::Measurements;
use mist::training::{Panel, PanelContent};
use mist_data::{DecodeLimits, Image, ImageSize, Item, read_image};

use crate::batches;
use crate::draw::{self, Colour, Mark, Plane, choose_zoom, sample_sheet};
use crate::error::{AtPath, Result};
use crate::observer::Observer;
use crate::run::directory::RunDirectory;
use crate::run::metrics_log::{Line, MetricsLog};
use crate::run::regular_file;
use crate::run::tensorboard::EventFile;

/// Images in a sample.
pub(crate) const SHOWN: usize = 4;
/// Screen pixels per pixel of a small image.
const ZOOM: usize = 3;

/// Writes the logs of one training.
pub struct Logger {
    run: RunDirectory,
    log: MetricsLog,
    events: EventFile,
    sums: Measurements,
    steps: u64,
    begun: Instant,
    secs_before: f64,
    best: Option<f64>,
}

impl Logger {
    /// Continues after `start` steps; what was logged later is dropped.
    pub fn open(run: &RunDirectory, start: u64, observer: &mut dyn Observer) -> Result<Self> {
        let (log, curve) = MetricsLog::open(&run.metrics(), start)?;
        let lines = curve.into_lines(&run.metrics(), observer);
        let mut events = open_events(run)?;
        for line in &lines {
            write_scalars(&mut events, line)?;
        }
        for (step, path) in samples(run, start)? {
            match Sample::read(&path) {
                Ok(sample) => sample.write(&mut events, step)?,
                Err(error) => {
                    observer.warning(&format!("a sample is left out of TensorBoard: {error}"));
                }
            }
        }
        Ok(Self {
            run: run.clone(),
            log,
            events,
            sums: Measurements::new(),
            steps: 0,
            begun: Instant::now(),
            secs_before: lines.last().map_or(0.0, |line| line.secs),
            best: lines
                .iter()
                .filter_map(|line| quality(line.validation.as_ref()?))
                .reduce(f64::max),
        })
    }

    /// Counts a step.
    pub fn after_step(&mut self, measurements: &Measurements) {
        for (name, value) in measurements.iter() {
            let sum = self.sums.get(name).unwrap_or(0.0) + value;
            self.sums.insert(name.to_owned(), sum);
        }
        self.steps += 1;
    }

    /// Writes the means since the last line.
    pub fn write(&mut self, done: u64, validation: Option<Measurements>) -> Result<()> {
        let sums = std::mem::take(&mut self.sums);
        let steps = std::mem::take(&mut self.steps).max(1) as f64;
        let means = sums
            .iter()
            .map(|(name, sum)| (name.to_owned(), sum / steps));
        let line = Line {
            step: done,
            secs: self.secs_before + self.begun.elapsed().as_secs_f64(),
            validation,
            measurements: means.collect(),
        };
        self.log.write(&line)?;
        write_scalars(&mut self.events, &line)
    }

    /// Whether these are the best metrics so far; ties go to the newer.
    pub fn is_best(&mut self, metrics: &Measurements) -> bool {
        let quality = quality(metrics);
        let best = quality.is_some() && quality >= self.best;
        if best {
            self.best = quality;
        }
        best
    }

    /// Draws the first images of a step and the panels that its method gave.
    pub fn draw(&mut self, done: u64, panels: &[Panel], items: &[Item]) -> Result<()> {
        let items = &items[..SHOWN.min(items.len())];
        let Some(first) = items.first() else {
            return Ok(());
        };
        let drawn = panels
            .iter()
            .map(DrawnPanel::new)
            .collect::<Result<Vec<_>>>()?;
        let rows: Vec<Vec<(&str, draw::Panel)>> = items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                let mut row = vec![("image", draw::Panel::Image(&item.image))];
                row.extend(drawn.iter().filter_map(|panel| panel.view(index, item)));
                row
            })
            .collect();
        let zoom = choose_zoom(&first.image).min(ZOOM);
        let path = sample_path(&self.run, done);
        mist_data::write_png(&path, &sample_sheet(&rows, zoom)?)?;
        Sample::read(&path)?.write(&mut self.events, done)
    }
}

/// A panel whose tensors were read.
struct DrawnPanel<'a> {
    name: &'a str,
    content: DrawnContent<'a>,
}

enum DrawnContent<'a> {
    /// One channel per image.
    Heat(Vec<Image>),
    Images(Vec<Image>),
    Boxes(&'a [Vec<PixelBox>]),
}

impl<'a> DrawnPanel<'a> {
    fn new(panel: &'a Panel) -> Result<Self> {
        let read = |tensor: Tensor<4>| batches::to_images(tensor.inner());
        let content = match &panel.content {
            PanelContent::Heatmaps(maps) => DrawnContent::Heat(read(maps.clone().sum_dim(1))?),
            PanelContent::Images(images) => DrawnContent::Images(read(images.clone())?),
            PanelContent::Boxes(boxes) => DrawnContent::Boxes(boxes),
        };
        let name = panel.name;
        Ok(Self { name, content })
    }

    /// The view of one image, if the panel has one.
    fn view<'b>(&'b self, index: usize, item: &'b Item) -> Option<(&'b str, draw::Panel<'b>)> {
        let panel = match &self.content {
            DrawnContent::Heat(maps) => {
                let map = maps.get(index)?;
                draw::Panel::Heat(Plane {
                    values: &map.pixels,
                    width_px: map.width_px,
                    height_px: map.height_px,
                })
            }
            DrawnContent::Images(images) => draw::Panel::Image(images.get(index)?),
            DrawnContent::Boxes(boxes) => {
                let mark = |&bounds: &PixelBox| Mark {
                    bounds,
                    caption: String::new(),
                    colour: Colour::ORANGE,
                };
                let marks = boxes.get(index)?.iter().map(mark).collect();
                draw::Panel::Marks(&item.image, marks)
            }
        };
        Some((self.name, panel))
    }
}

/// A fresh event file: it is written again from the log, so that a resumed run shows one curve.
fn open_events(run: &RunDirectory) -> Result<EventFile> {
    let root = run.root();
    for entry in std::fs::read_dir(root).at("read", root)? {
        let entry = entry.at("read", root)?;
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with("events.out.tfevents.")
        {
            let path = entry.path();
            std::fs::remove_file(&path).at("remove", &path)?;
        }
    }
    EventFile::create(root, now()).at("write a TensorBoard file in", root)
}

fn sample_path(run: &RunDirectory, step: u64) -> PathBuf {
    run.samples().join(format!("step-{step:07}.png"))
}

/// The samples of the first `start` steps, in order.
fn samples(run: &RunDirectory, start: u64) -> Result<Vec<(u64, PathBuf)>> {
    let directory = run.samples();
    let mut samples = Vec::new();
    for entry in std::fs::read_dir(&directory).at("read", &directory)? {
        let path = entry.at("read", &directory)?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let step = name.strip_prefix("step-").map(str::parse::<u64>);
        if let Some(Ok(step)) = step
            && step <= start
            && sample_path(run, step) == path
        {
            samples.push((step, path));
        }
    }
    samples.sort();
    Ok(samples)
}

/// A PNG file and its size.
struct Sample {
    png: Vec<u8>,
    size: ImageSize,
}

impl Sample {
    fn read(path: &Path) -> Result<Self> {
        let png = regular_file::read(path)?;
        let size = read_image(path, DecodeLimits::default())?.size();
        Ok(Self { png, size })
    }

    fn write(&self, events: &mut EventFile, step: u64) -> Result<()> {
        let ImageSize {
            width_px,
            height_px,
        } = self.size;
        let written = events.image_png("sample", step, now(), width_px, height_px, &self.png);
        written.at("write", events.path())
    }
}

fn write_scalars(events: &mut EventFile, line: &Line) -> Result<()> {
    let mut write = || -> std::io::Result<()> {
        let time = now();
        for (name, value) in line.measurements.iter() {
            events.scalar(&format!("train/{name}"), line.step, time, *value as f32)?;
        }
        for (name, value) in line.validation.iter().flat_map(Measurements::iter) {
            let tag = format!("validation/{name}");
            events.scalar(&tag, line.step, time, *value as f32)?;
        }
        events.flush()
    };
    let written = write();
    written.at("write", events.path())
}

/// What the best model has most of: little error in redrawing, or boxes that are right in place and label, or in place;
/// where boxes are not known, little error in counting.
fn quality(metrics: &Measurements) -> Option<f64> {
    let rmse = metrics.get("rmse").map(|rmse| -rmse);
    let boxes = rmse.or(metrics.get("both")).or(metrics.get("iou50"));
    let boxes = boxes.or(metrics.get("f1"));
    boxes.or(metrics.get("count_mae").map(|error| -error))
}

fn now() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
