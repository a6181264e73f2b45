//! Recipes for the user's own folder.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use mist_data::{BACKGROUND, Counts, FolderFiles, Foreground, ImageFolder, Survey, survey};
use toml::Value;

use super::Recipe;
use crate::error::{AtPath, Context, Error, Result};
use crate::observer::Observer;

/// Recipes that folders extend; their lengths are those of objects of [`RECIPE_OBJECT_PX`].
const RECONSTRUCT: &str = "folder-reconstruct";
const CLASSIFY: &str = "folder-classify";
/// For coloured images: what classes look like tells them apart.
const COUNT: &str = "folder-count";
const RECIPE_OBJECT_PX: f32 = 20.0;
/// Side of a crop, in sides of an object.
const CROP_OBJECTS: f32 = 7.2;
/// Objects of so many times the recipe's size are found without resizing images.
const SEEN_AS_THEY_ARE: std::ops::RangeInclusive<f32> = 0.6..=1.6;
/// Images with sides up to this, in sides of an object, are learned from whole if all have one size.
const WHOLE_OBJECTS: f32 = 8.0;
/// Objects smaller than this have too few pixels; the scales of models end at 64 times 20 px.
const OBJECT_PX: std::ops::RangeInclusive<f32> = 4.0..=1024.0;
/// Share of the image that K objects may fill.
const MAX_FILLED_FRAC: f32 = 1.5;
/// Objects that images must hold in all where there are fewer than [`MIN_FILES`].
const MIN_OBJECTS: usize = 12;
const MIN_FILES: usize = 4;
/// Named files in a warning.
const NAMED: usize = 5;
/// How many times the objects that stand out there may be.
const AUTO_FACTOR: f32 = 1.25;

/// How many objects an image has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// At most so many.
    AtMost(usize),
    /// As many as a survey of the images suggests.
    Auto,
}

impl FromStr for Instances {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a number from 1, a range such as 3..9, or auto");
        let number = |text: &str| text.parse().ok().filter(|&number: &usize| number > 0);
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let (low, high) = match text.split_once("..") {
            None => (Some(1), number(text)),
            Some((low, high)) => (low.parse().ok(), number(high)),
        };
        match (low, high) {
            (Some(low), Some(high)) if low <= high => Ok(Self::AtMost(high)),
            _ => Err(wrong()),
        }
    }
}

/// What a user says of a folder.
#[derive(Clone, Debug)]
pub struct FolderRequest {
    /// The folder.
    pub images: PathBuf,
    /// How many objects an image has.
    pub instances: Option<Instances>,
    /// A table of class counts.
    pub counts: Option<PathBuf>,
    /// Side of an object's box; estimated if not given.
    pub object_px: Option<f32>,
}

impl FolderRequest {
    /// The built-in recipe that it extends, which also names its runs.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn recipe_name(&self) -> Result<&'static str> {
        match self.counts {
            Some(_) => Ok(self.counts_recipe(&FolderFiles::open(&self.folder()?)?)),
            None => Ok(RECONSTRUCT),
        }
    }

    fn counts_recipe(&self, files: &FolderFiles) -> &'static str {
        match files.are_coloured() {
            true => COUNT,
            false => CLASSIFY,
        }
    }

    /// The folder by its whole path, as runs remember it.
    ///
    /// # Errors
    /// When it is not there.
    pub fn folder(&self) -> Result<PathBuf> {
        whole_path(&self.images)
    }

    /// The recipe for the folder, then with single settings changed (`key=value`). What was estimated or left out is told.
    ///
    /// # Errors
    /// When the folder cannot be learned from: the text says what to do.
    pub fn recipe(&self, settings: &[String], observer: &mut dyn Observer) -> Result<Recipe> {
        let files = FolderFiles::open(&self.folder()?)?;
        let damaged: Vec<String> = files.damaged.iter().map(ToString::to_string).collect();
        warn(observer, "cannot be read and are left out", &damaged);
        let found = survey(&files)?;
        let (recipe, images, object_px) = match &self.counts {
            None => {
                let object_px = self.object_px(found.object_px, observer)?;
                let images = self.by_crops(&files, &found, object_px, observer)?;
                (RECONSTRUCT, images, object_px)
            }
            Some(path) => {
                let recipe = self.counts_recipe(&files);
                let table = Counts::read(&whole_path(path)?)?;
                let counted = counted_px(&files, &found, &table);
                let object_px = self.object_px(counted.or(found.object_px), observer)?;
                let always_background = recipe == COUNT;
                let images = self.by_counts(&files, &found, &table, always_background, observer)?;
                (recipe, images, object_px)
            }
        };
        let scale = object_px / RECIPE_OBJECT_PX;
        let mut set = Settings::default();
        check_room(&images, &files, object_px)?;
        let window_instances = match images.is_counted() {
            true => images.instances,
            false => files.instances_in_window(images.instances, images.window_px),
        };
        set.images(&images)?;
        match recipe {
            CLASSIFY => set.lengths(scale),
            _ => set.push("model.scales", format_args!("[{:?}]", seen_scale(scale))),
        }
        set.push("model.extractor.instances", window_instances);
        if images.is_counted() {
            set.push("model.task.classifier.classes", images.classes.len());
            if files.are_coloured() {
                set.push("model.detector.in_channels", 3);
                set.push("model.task.classifier.encoder.in_channels", 3);
            }
        }
        let all: Vec<String> = set.0.iter().chain(settings).cloned().collect();
        Recipe::load(recipe, &all)
    }

    fn object_px(&self, estimated: Option<f32>, observer: &mut dyn Observer) -> Result<f32> {
        let object_px = match (self.object_px, estimated) {
            (Some(given), _) => given,
            (None, Some(estimated)) => {
                let estimated = estimated
                    .round()
                    .clamp(*OBJECT_PX.start(), *OBJECT_PX.end());
                observer.message(&format!(
                    "objects seem to be about {estimated} px wide; `--object-px` says otherwise"
                ));
                estimated
            }
            (None, None) => {
                let reason =
                    "nothing stands out in these images: say how wide objects are by `--object-px`";
                return Err(Error::Usage(reason.to_owned()));
            }
        };
        if !OBJECT_PX.contains(&object_px) {
            return Err(Error::Usage(format!(
                "`--object-px` is {object_px}, but must be from {} to {}; resize the images",
                OBJECT_PX.start(),
                OBJECT_PX.end()
            )));
        }
        Ok(object_px)
    }

    /// Crops of images: nothing is known but about how many objects there are.
    fn by_crops(
        &self,
        files: &FolderFiles,
        found: &Survey,
        object_px: f32,
        observer: &mut dyn Observer,
    ) -> Result<ImageFolder> {
        let instances = match self.instances {
            Some(Instances::AtMost(most)) => most,
            Some(Instances::Auto) => {
                let most = (found.instances as f32 * AUTO_FACTOR).ceil() as usize;
                observer.message(&format!(
                    "at most {most} objects are looked for in an image; `--instances` says otherwise"
                ));
                most
            }
            None => {
                let reason = "say about how many objects an image has: `--instances K`, `--instances LOW..HIGH` or \
                              `--instances auto`; or give class counts by `--counts counts.csv`";
                return Err(Error::Usage(reason.to_owned()));
            }
        };
        let window_px = window(files, object_px);
        if files.len() < MIN_FILES {
            if files.len() * instances < MIN_OBJECTS {
                return Err(Error::Usage(format!(
                    "{} images of {instances} objects are too few to learn from: give at least {MIN_FILES} images, or some                      that show {MIN_OBJECTS} objects",
                    files.len()
                )));
            }
            observer.warning(
                "with fewer than 4 images none is held out: evaluations are on crops of those that are trained on",
            );
        }
        Ok(ImageFolder {
            folder: self.folder()?,
            counts: None,
            classes: Vec::new(),
            foreground: self.foreground(found, observer),
            instances,
            window_px,
            contents: files.contents(),
        })
    }

    /// Whole images: counts say nothing of a crop.
    fn by_counts(
        &self,
        files: &FolderFiles,
        found: &Survey,
        table: &Counts,
        always_background: bool,
        observer: &mut dyn Observer,
    ) -> Result<ImageFolder> {
        if self.instances.is_some() {
            let reason = "`--instances` follows from `--counts`; leave one of them out";
            return Err(Error::Usage(reason.to_owned()));
        }
        let path = whole_path(self.counts.as_deref().unwrap_or(Path::new("")))?;
        let names: Vec<String> = (0..files.len()).map(|index| files.name(index)).collect();
        let unknown = table
            .files()
            .filter(|file| !names.iter().any(|name| name == file));
        let unknown: Vec<String> = unknown.map(str::to_owned).collect();
        warn(observer, "of the table are not in the folder", &unknown);
        let uncounted = names.iter().filter(|name| table.of(name).is_none());
        let uncounted: Vec<String> = uncounted.cloned().collect();
        warn(observer, "have no counts and are left out", &uncounted);
        let counted: Vec<&[usize]> = names.iter().filter_map(|name| table.of(name)).collect();
        if counted.len() < MIN_FILES {
            let reason = format!(
                "{} images of the folder have counts in it, and at least {MIN_FILES} are needed; files are named by their \
                 paths below the folder",
                counted.len()
            );
            return Err(Error::input(&path, reason));
        }
        let totals: Vec<usize> = counted.iter().map(|counts| counts.iter().sum()).collect();
        let instances = totals.iter().copied().max().unwrap_or(0);
        if instances == 0 {
            let reason = "counts no object in any image of the folder";
            return Err(Error::input(&path, reason));
        }
        // A class that only images elsewhere have could not be learned.
        let is_there = |label: &usize| counted.iter().any(|counts| counts[*label] > 0);
        let there = (0..table.classes.len()).filter(is_there);
        let mut classes: Vec<String> = there.map(|label| table.classes[label].clone()).collect();
        let varying = totals.iter().any(|&total| total != instances);
        if always_background || classes.len() == 1 || varying {
            classes.push(BACKGROUND.to_owned());
        }
        let usable = (0..files.len()).filter(|&index| table.of(&names[index]).is_some());
        let sizes: Vec<_> = usable.map(|index| files.size(index)).collect();
        let most = |side: fn(&mist_data::ImageSize) -> usize| sizes.iter().map(side).max();
        Ok(ImageFolder {
            folder: self.folder()?,
            counts: Some(path),
            classes,
            foreground: self.foreground(found, observer),
            instances,
            window_px: [
                most(|size| size.width_px).unwrap_or(1),
                most(|size| size.height_px).unwrap_or(1),
            ],
            contents: files.contents(),
        })
    }

    fn foreground(&self, found: &Survey, observer: &mut dyn Observer) -> Foreground {
        let seem = match found.foreground {
            Foreground::Plain => return Foreground::Plain,
            Foreground::Bright => "brighter",
            Foreground::Dark => "darker",
        };
        observer.message(&format!(
            "objects seem to be {seem} than their background; `--set images.foreground=bright`, `dark` or `plain` says \
             otherwise"
        ));
        found.foreground
    }
}

/// The side of an object's box where it is counted how many objects share what stands out; `None` where nothing does.
fn counted_px(files: &FolderFiles, found: &Survey, table: &Counts) -> Option<f32> {
    let (mut area_px, mut objects) = (0.0, 0usize);
    for &(file, standing_out_px) in &found.standing_out_px {
        if let Some(counts) = table.of(&files.name(file)) {
            area_px += standing_out_px as f32;
            objects += counts.iter().sum::<usize>();
        }
    }
    let side_px = |area_px: f32| (4.0 / std::f32::consts::PI * area_px).sqrt();
    (objects > 0 && area_px > 0.0).then(|| side_px(area_px / objects as f32))
}

/// By how much images are shrunk for a detector that tells sizes: not at all where it tells them anyway.
fn seen_scale(scale: f32) -> f32 {
    match SEEN_AS_THEY_ARE.contains(&scale) {
        true => 1.0,
        false => scale,
    }
}

/// Width and height of what a training step sees of an image.
fn window(files: &FolderFiles, object_px: f32) -> [usize; 2] {
    let sizes: Vec<_> = (0..files.len()).map(|index| files.size(index)).collect();
    let first = sizes.first().copied();
    let same = first.filter(|first| sizes.iter().all(|size| size == first));
    let whole_px = (object_px * WHOLE_OBJECTS) as usize;
    if let Some(size) = same
        && files.len() >= MIN_FILES
        && size.width_px.max(size.height_px) <= whole_px
    {
        return [size.width_px, size.height_px];
    }
    let seen_px = RECIPE_OBJECT_PX * seen_scale(object_px / RECIPE_OBJECT_PX);
    let crop_px = (seen_px * CROP_OBJECTS).round() as usize;
    let widest = sizes.iter().map(|size| size.width_px).max();
    let highest = sizes.iter().map(|size| size.height_px).max();
    [widest, highest].map(|most| most.map_or(crop_px, |most| most.min(crop_px)))
}

/// Refuses more objects than the images have room for.
fn check_room(images: &ImageFolder, files: &FolderFiles, object_px: f32) -> Result<()> {
    let area = |size: mist_data::ImageSize| size.width_px * size.height_px;
    let largest = (0..files.len()).map(|index| area(files.size(index))).max();
    let largest = largest.unwrap_or(0) as f32;
    if images.instances as f32 * object_px * object_px <= largest * MAX_FILLED_FRAC {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{} objects of {object_px} px have no room in the largest image; give fewer by `--instances` or smaller ones by \
         `--object-px`",
        images.instances
    )))
}

/// Settings as `--set` takes them.
#[derive(Default)]
struct Settings(Vec<String>);

impl Settings {
    fn push(&mut self, key: &str, value: impl fmt::Display) {
        self.0.push(format!("{key}={value}"));
    }

    fn images(&mut self, images: &ImageFolder) -> Result<()> {
        let value = Value::try_from(images).map_err(super::not_toml);
        let value = value.context("the names of the folder and its table must be UTF-8")?;
        for (key, value) in value.as_table().into_iter().flatten() {
            self.push(&format!("images.{key}"), value);
        }
        Ok(())
    }

    /// The recipe's lengths in pixels of the image, for objects `scale` times as wide as the recipe's.
    fn lengths(&mut self, scale: f32) {
        let odd = |px: f32| (px * scale / 2.0).floor() as usize * 2 + 1;
        self.push("model.scales", format_args!("[{scale:?}]"));
        self.push("model.softmax.window_px", odd(15.0).max(3));
        self.push("model.extractor.nms_window_px", odd(25.0));
        self.push("model.extractor.mass_window_px", odd(9.0));
        self.push("method.lifted.heatmap.window_px", odd(5.0));
        let exploration = "method.lifted.exploration";
        for (key, px) in [
            ("pool.moved_px", 6.0),
            ("pool.final_moved_px", 1.0),
            ("exchanges.min_distance_px", 8.0),
        ] {
            self.push(
                &format!("{exploration}.{key}"),
                format_args!("{:?}", px * scale),
            );
        }
    }
}

fn whole_path(path: &Path) -> Result<PathBuf> {
    path.canonicalize().at("find", path)
}

/// One warning about several files, of which the first are named.
fn warn(observer: &mut dyn Observer, what: &str, files: &[String]) {
    if files.is_empty() {
        return;
    }
    let named = files[..files.len().min(NAMED)].join(", ");
    let more = match files.len() > NAMED {
        true => ", ...",
        false => "",
    };
    observer.warning(&format!("{} files {what}: {named}{more}", files.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ranges_and_auto_are_read() {
        let parse = |text: &str| text.parse::<Instances>();
        assert_eq!(parse("9"), Ok(Instances::AtMost(9)));
        assert_eq!(parse("3..9"), Ok(Instances::AtMost(9)));
        assert_eq!(parse("0..9"), Ok(Instances::AtMost(9)));
        assert_eq!(parse("auto"), Ok(Instances::Auto));
        for wrong in ["0", "9..3", "-1", "1.5", "", "..", "many", "3.."] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
