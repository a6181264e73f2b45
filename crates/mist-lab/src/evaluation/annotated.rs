//! Models evaluated on images whose boxes somebody has drawn: right is what has its centre in a true box.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use mist::metrics::{
    Bootstrap, Evaluation, ImageResult, Interval, MatchCounts, centre_of, total_count_error_of,
};
use mist_data::{Annotations, BACKGROUND, FolderDataset, Split};

use crate::detections::{Instances, find_in_files};
use crate::error::{Error, Result};
use crate::models::{Loaded, Origin};
use crate::observer::Observer;

/// No label: all truths and detections are of objects.
const NO_BACKGROUND: usize = usize::MAX;

/// Images and the boxes that people have drawn on them.
#[derive(Clone, Debug)]
pub struct Annotated {
    /// As [`Annotations::read`] takes them.
    pub boxes: PathBuf,
    /// Files, folders and patterns; those that the run has held out if there are none.
    pub images: Vec<PathBuf>,
    /// How many objects are looked for in each image.
    pub instances: Option<Instances>,
}

impl Annotated {
    /// True and found boxes of each image that has been looked at.
    pub(super) fn predict(
        &self,
        loaded: &Loaded,
        device: &Device,
        observer: &mut dyn Observer,
    ) -> Result<Vec<ImageResult>> {
        let annotations = Annotations::read(&self.boxes)?;
        let files = match self.images.is_empty() {
            true => held_out(loaded)?,
            false => self.images.clone(),
        };
        let classes = &loaded.card.class_names;
        let label = |class: &str| match loaded.finder.classes() {
            Some(_) => classes.iter().position(|name| name == class),
            None => Some(0),
        };
        let found = find_in_files(loaded, &files, self.instances, device, observer)?;
        let total = found.len();
        let images: Vec<ImageResult> = found
            .into_iter()
            .filter_map(|image| {
                let truths = annotations.truths(Path::new(&image.file), label)?;
                let detections = image.detections;
                Some(ImageResult { truths, detections })
            })
            .collect();
        if images.is_empty() {
            let reason = "has boxes of none of these images; they are named by their files";
            return Err(Error::input(&self.boxes, reason));
        }
        if images.len() < total {
            let without = total - images.len();
            observer.warning(&format!("{without} images have no boxes and are left out"));
        }
        Ok(images)
    }

    /// What the images are called in results.
    pub(super) fn name(&self) -> String {
        let names = self.images.iter().filter_map(|path| path.file_name());
        let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
        match names.is_empty() {
            true => "held-out images of the run".to_owned(),
            false => names.join(" "),
        }
    }
}

/// The files that a run has not been trained on.
fn held_out(loaded: &Loaded) -> Result<Vec<PathBuf>> {
    let reason =
        "say which images: `--images DIR`; only a run on a folder knows what it has held out";
    let Origin::Run(run) = &loaded.origin else {
        return Err(Error::Usage(reason.to_owned()));
    };
    let recipe = run.recipe()?;
    let Some(folder) = &recipe.images else {
        return Err(Error::Usage(reason.to_owned()));
    };
    let names = FolderDataset::open(folder, 0, Split::Valid)?.file_names();
    Ok(names.iter().map(|name| folder.folder.join(name)).collect())
}

/// Precision, recall and F1 by centres, of all objects and of each class, and errors of counts.
pub(super) fn evaluate(images: &[ImageResult], class_names: &[String]) -> Evaluation {
    let mut evaluation = Evaluation::default();
    let bootstrap = Bootstrap::default();
    let mut insert = |name: String, value: Option<f64>, interval: Option<Interval>| {
        if let Some(value) = value {
            evaluation.metrics.insert(name.clone(), value);
        }
        if let Some(interval) = interval {
            evaluation.intervals.insert(name, interval);
        }
    };
    let classes: Vec<&String> = class_names
        .iter()
        .filter(|name| *name != BACKGROUND)
        .collect();
    let parts = std::iter::once((String::new(), images.to_vec()));
    let of_class = |name: &String| {
        let label = class_names.iter().position(|other| other == name);
        let part = images.iter().map(|image| only(image, label));
        (format!("_{name}"), part.collect())
    };
    let by_class = classes
        .into_iter()
        .map(of_class)
        .filter(|_| class_names.len() > 1);
    for (suffix, part) in parts.chain(by_class) {
        let counts: Vec<MatchCounts> = part
            .iter()
            .map(|image| centre_of(image, NO_BACKGROUND))
            .collect();
        let all: MatchCounts = counts.iter().copied().sum();
        for (name, value) in [
            (
                "precision",
                MatchCounts::precision as fn(MatchCounts) -> Option<f64>,
            ),
            ("recall", MatchCounts::recall),
            ("f1", MatchCounts::f1),
        ] {
            let interval = bootstrap.interval_of_sums(&counts, value);
            insert(format!("{name}{suffix}"), value(all), interval);
        }
        let error = median_count_error(&part.iter().collect::<Vec<_>>());
        let interval = bootstrap.interval_of(&part, median_count_error);
        insert(format!("count_err_median{suffix}"), error, interval);
        let mae = part
            .iter()
            .map(total_count_error_of)
            .sum::<mist::metrics::Ratio>();
        insert(format!("count_mae_total{suffix}"), mae.value(), None);
    }
    evaluation
}

/// What an image has of one class.
fn only(image: &ImageResult, label: Option<usize>) -> ImageResult {
    let mut part = image.clone();
    part.truths.retain(|truth| Some(truth.label) == label);
    part.detections.retain(|found| Some(found.label) == label);
    part
}

/// The median over images with objects of the count's error, as a share of the true count.
fn median_count_error(images: &[&ImageResult]) -> Option<f64> {
    let mut errors: Vec<f64> = images
        .iter()
        .filter(|image| !image.truths.is_empty())
        .map(|image| {
            let (truths, found) = (image.truths.len(), image.detections.len());
            truths.abs_diff(found) as f64 / truths as f64
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    let middle = errors.len() / 2;
    match errors.len() % 2 {
        _ if errors.is_empty() => None,
        0 => Some((errors[middle - 1] + errors[middle]) / 2.0),
        _ => Some(errors[middle]),
    }
}

#[cfg(test)]
mod tests {
    use mist::geometry::{Detection, PixelBox, Truth};

    use super::*;

    fn image(truths: &[(f32, usize)], found: &[(f32, usize)]) -> ImageResult {
        let bounds = |x: f32| PixelBox::from_centre(x, 5.0, 4.0, 4.0);
        ImageResult {
            truths: truths
                .iter()
                .map(|&(x, label)| Truth {
                    bounds: bounds(x),
                    label,
                })
                .collect(),
            detections: found
                .iter()
                .map(|&(x, label)| Detection {
                    bounds: bounds(x),
                    label,
                    score: 1.0,
                })
                .collect(),
        }
    }

    #[test]
    fn classes_are_judged_together_and_apart() {
        let images = [
            image(
                &[(5.0, 0), (15.0, 0), (25.0, 1)],
                &[(6.0, 0), (14.0, 1), (25.0, 1)],
            ),
            image(&[(5.0, 0)], &[(5.0, 0), (40.0, 0)]),
            image(&[], &[(5.0, 1)]),
        ];
        let names = ["red", "white", BACKGROUND].map(str::to_owned);
        let metrics = evaluate(&images, &names).metrics;
        let value = |name: &str| metrics.get(name).unwrap();
        assert_eq!(value("recall"), 3.0 / 4.0);
        assert_eq!(value("precision"), 3.0 / 6.0);
        assert_eq!(value("recall_red"), 2.0 / 3.0);
        assert_eq!(value("precision_white"), 1.0 / 3.0);
        // Red: one of two, then two of one; the last image has none.
        assert_eq!(value("count_err_median_red"), 0.75);
        assert_eq!(value("count_mae_total"), 2.0 / 3.0);
        let alone = evaluate(&images, &["object".to_owned()]).metrics;
        assert_eq!(alone.get("f1"), metrics.get("f1"));
        assert_eq!(alone.get("f1_object"), None);
    }
}
