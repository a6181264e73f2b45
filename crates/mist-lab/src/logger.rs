//! What a training leaves for people to watch: `metrics.jsonl`, the TensorBoard file and the pictures.

use std::path::{Path, PathBuf};
use std::time::Instant;

use mist::geometry::Keypoint;
use mist::lifted::Step;
use mist::metrics::MetricSet;
use mist::model::ModelConfig;
use mist_data::Scene;

use crate::error::{AtPath, Result};
use crate::observer::Observer;
use crate::run::directory::RunDirectory;
use crate::run::metrics_log::{Line, MetricsLog};
use crate::run::regular_file;
use crate::run::sample_sheet::{SamplePanel, sample_sheet};
use crate::run::tensorboard::EventFile;

/// Images in a picture.
const PANELS: usize = 4;
/// Screen pixels per scene pixel.
const ZOOM: usize = 3;

/// Sums since the last line.
#[derive(Default)]
struct Since {
    task_loss: f64,
    heatmap_loss: f64,
    steps: u64,
}

/// Writes the logs of one training.
pub struct Logger {
    run: RunDirectory,
    log: MetricsLog,
    events: EventFile,
    since: Since,
    begun: Instant,
    secs_before: f64,
    best: Option<f64>,
}

impl Logger {
    /// Goes on after `start` steps; what was logged later is dropped.
    pub fn open(run: &RunDirectory, start: u64, observer: &mut dyn Observer) -> Result<Self> {
        let (log, curve) = MetricsLog::open(&run.metrics(), start)?;
        let lines = curve.into_lines(&run.metrics(), observer);
        let mut events = open_events(run)?;
        for line in &lines {
            write_scalars(&mut events, line)?;
        }
        for step in 1..=start {
            let picture = picture(run, step);
            if !picture.exists() {
                continue;
            }
            match read_picture(&picture) {
                Ok(picture) => write_picture(&mut events, step, &picture)?,
                Err(error) => {
                    observer.warning(&format!("a picture is left out of TensorBoard: {error}"));
                }
            }
        }
        Ok(Self {
            run: run.clone(),
            log,
            events,
            since: Since::default(),
            begun: Instant::now(),
            secs_before: lines.last().map_or(0.0, |line| line.secs),
            best: lines
                .iter()
                .filter_map(|line| quality(&line.validation?))
                .reduce(f64::max),
        })
    }

    /// Counts a step.
    pub fn after_step(&mut self, step: &Step) {
        self.since.task_loss += f64::from(step.task_loss);
        self.since.heatmap_loss += f64::from(step.heatmap_loss);
        self.since.steps += 1;
    }

    /// Writes the means since the last line.
    pub fn write(&mut self, done: u64, validation: Option<MetricSet<f64>>) -> Result<()> {
        let since = std::mem::take(&mut self.since);
        let steps = since.steps.max(1) as f64;
        let line = Line {
            step: done,
            secs: self.secs_before + self.begun.elapsed().as_secs_f64(),
            task_loss: since.task_loss / steps,
            heatmap_loss: since.heatmap_loss / steps,
            validation,
        };
        self.log.write(&line)?;
        write_scalars(&mut self.events, &line)?;
        Ok(())
    }

    /// Whether these are the best metrics so far; ties go to the newer.
    pub fn is_best(&mut self, found: &MetricSet<f64>) -> bool {
        let quality = quality(found);
        let best = quality.is_some() && quality >= self.best;
        if best {
            self.best = quality;
        }
        best
    }

    /// Draws the first images of a step: image, heatmap, target, boxes before and after the keypoint stage.
    pub fn draw(
        &mut self,
        done: u64,
        step: &Step,
        scenes: &[Scene],
        model: &ModelConfig,
    ) -> Result<()> {
        let [_, scales, height, width] = step.heatmaps.dims();
        let area = height * width;
        let summed = |maps: &burn::tensor::Tensor<4>| -> Result<Vec<Vec<f32>>> {
            let values = maps.clone().try_into_vec_as::<f32>()?;
            Ok(values
                .chunks_exact(scales * area)
                .map(|maps| {
                    (0..area)
                        .map(|pixel| maps.iter().skip(pixel).step_by(area).sum())
                        .collect()
                })
                .collect())
        };
        let (heatmaps, targets) = (summed(&step.heatmaps)?, summed(&step.targets)?);
        let base_px = model.geometry.base_box_px;
        let boxes = |points: &[Keypoint]| -> Vec<(f32, f32, f32)> {
            points
                .iter()
                .map(|p| (p.x_px, p.y_px, p.scale * base_px))
                .collect()
        };
        let before: Vec<_> = step.found.iter().map(|points| boxes(points)).collect();
        let after: Vec<_> = step.moved.iter().map(|points| boxes(points)).collect();
        let count = PANELS.min(scenes.len());
        let panels: Vec<SamplePanel> = (0..count)
            .map(|index| SamplePanel {
                image: &scenes[index].image.pixels,
                heatmap: &heatmaps[index],
                target: &targets[index],
                before: &before[index],
                after: &after[index],
                labels: &[],
            })
            .collect();
        let sheet = sample_sheet(&panels, width, height, ZOOM);
        let path = picture(&self.run, done);
        mist_data::write_png(&path, &sheet)?;
        write_picture(&mut self.events, done, &read_picture(&path)?)
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

fn picture(run: &RunDirectory, step: u64) -> PathBuf {
    run.samples().join(format!("step-{step:07}.png"))
}

/// A PNG file and its size.
struct Picture {
    png: Vec<u8>,
    width_px: usize,
    height_px: usize,
}

fn read_picture(path: &Path) -> Result<Picture> {
    let png = regular_file::read(path)?;
    let image = mist_data::read_png(path)?;
    Ok(Picture {
        png,
        width_px: image.width_px,
        height_px: image.height_px,
    })
}

fn write_picture(events: &mut EventFile, step: u64, picture: &Picture) -> Result<()> {
    let Picture {
        png,
        width_px,
        height_px,
    } = picture;
    let written = events.image_png("sample", step, now(), *width_px, *height_px, png);
    written.at("write", events.path())
}

fn write_scalars(events: &mut EventFile, line: &Line) -> Result<()> {
    let mut write = || -> std::io::Result<()> {
        let (step, time) = (line.step, now());
        events.scalar("loss/task", step, time, line.task_loss as f32)?;
        events.scalar("loss/heatmap", step, time, line.heatmap_loss as f32)?;
        if let Some(found) = &line.validation {
            for (name, value) in found.entries() {
                events.scalar(&format!("validation/{name}"), step, time, *value as f32)?;
            }
        }
        events.flush()
    };
    let written = write();
    written.at("write", events.path())
}

/// What the best model has most of: boxes that are right in place and label, or little error in redrawing.
fn quality(found: &MetricSet<f64>) -> Option<f64> {
    match found.rmse {
        Some(rmse) => Some(-rmse),
        None => found.both,
    }
}

fn now() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
