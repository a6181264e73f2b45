//! Detection in image files.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use mist::finder::Finder;
use mist_data::{DecodeLimits, has_image_extension, read_image, write_png};

use super::DetectedImage;
use crate::batches;
use crate::draw::overlay;
use crate::error::{AtPath, Context, Error, Result};
use crate::sheets::{Scores, marks};

/// What to do with images beside finding objects in them.
#[derive(Clone, Debug, Default)]
pub struct DetectOptions {
    /// K, instead of the model's.
    pub instances: Option<usize>,
    /// Draws boxes, names and scores into PNG files in this directory.
    pub overlay: Option<PathBuf>,
    /// Writes each image as the model redraws it into this directory; for models trained by reconstruction.
    pub redrawn: Option<PathBuf>,
}

/// What a model finds in image files and in folders of them, file after file in order of their names.
///
/// # Errors
/// When a file cannot be read or written, or the model cannot be run on an image.
pub fn detect_files(
    finder: &dyn Finder,
    class_names: &[String],
    paths: &[PathBuf],
    options: &DetectOptions,
    device: &Device,
) -> Result<Vec<DetectedImage>> {
    let files = image_files(paths)?;
    let outputs = Outputs::plan(&files, options)?;
    let names = match finder.classes() {
        Some(_) => class_names,
        None => &[],
    };
    files
        .iter()
        .enumerate()
        .map(|(index, file)| {
            let outputs = outputs.of(index);
            detect_file(finder, names, file, options.instances, &outputs, device)
                .context(file.display())
        })
        .collect()
}

fn detect_file(
    finder: &dyn Finder,
    names: &[String],
    file: &Path,
    instances: Option<usize>,
    outputs: &FileOutputs,
    device: &Device,
) -> Result<DetectedImage> {
    let image = read_image(file, DecodeLimits::default())?;
    let tensor = batches::to_tensor([&image].into_iter(), finder.channels(), device)?;
    let k = instances.unwrap_or(finder.instances());
    let found = finder.find(tensor.clone(), &[k])?;
    if let Some(path) = &outputs.redrawn {
        let Some(redrawn) = finder.redraw(tensor, &found)? else {
            let reason = "only a model that was trained by reconstruction redraws images";
            return Err(Error::Usage(reason.to_owned()));
        };
        for redrawn in batches::to_images(redrawn)? {
            write_png(path, &redrawn)?;
        }
    }
    let detections = found.into_iter().next().unwrap_or_default();
    if let Some(path) = &outputs.overlay {
        write_png(
            path,
            &overlay(&image, &marks(&detections, names, Scores::Shown))?,
        )?;
    }
    Ok(DetectedImage {
        file: file.display().to_string(),
        width_px: image.width_px,
        height_px: image.height_px,
        detections,
    })
}

/// Where the pictures of each file go.
struct Outputs {
    overlay: Option<Vec<PathBuf>>,
    redrawn: Option<Vec<PathBuf>>,
}

/// Where the pictures of one file go.
struct FileOutputs {
    overlay: Option<PathBuf>,
    redrawn: Option<PathBuf>,
}

impl Outputs {
    /// Chooses a name for every picture before the first is written, so that none replaces another or an input.
    fn plan(files: &[PathBuf], options: &DetectOptions) -> Result<Self> {
        let place = |directory: &Option<PathBuf>| -> Result<Option<Vec<PathBuf>>> {
            let Some(directory) = directory else {
                return Ok(None);
            };
            fs::create_dir_all(directory).at("create", directory)?;
            let directory = fs::canonicalize(directory).at("open", directory)?;
            Ok(Some(unique_names(files, &directory)))
        };
        let (overlay, redrawn) = (place(&options.overlay)?, place(&options.redrawn)?);
        if let (Some(overlay), Some(redrawn)) = (&overlay, &redrawn)
            && overlay.first().is_some_and(|first| redrawn.contains(first))
        {
            let reason = "overlays and redrawn images need directories of their own";
            return Err(Error::Usage(reason.to_owned()));
        }
        for path in overlay.iter().chain(&redrawn).flatten() {
            let is_input = |file: &PathBuf| fs::canonicalize(file).is_ok_and(|file| file == *path);
            if files.iter().any(is_input) {
                return Err(Error::Usage(format!(
                    "{} is one of the images; choose another directory for pictures",
                    path.display()
                )));
            }
        }
        Ok(Self { overlay, redrawn })
    }

    fn of(&self, index: usize) -> FileOutputs {
        let path = |paths: &Option<Vec<PathBuf>>| paths.as_ref()?.get(index).cloned();
        FileOutputs {
            overlay: path(&self.overlay),
            redrawn: path(&self.redrawn),
        }
    }
}

/// `<stem>.png` for each file; files of equal names in different folders get a number behind the stem.
fn unique_names(files: &[PathBuf], directory: &Path) -> Vec<PathBuf> {
    let mut uses: HashMap<PathBuf, usize> = HashMap::new();
    let unique = |file: &PathBuf| {
        let stem = file.file_stem().unwrap_or(file.as_os_str());
        let mut path;
        loop {
            let count = uses.entry(PathBuf::from(stem)).or_insert(0);
            *count += 1;
            let mut name = stem.to_owned();
            if *count > 1 {
                name.push(format!("-{count}"));
            }
            let taken = *count > 1 && uses.contains_key(Path::new(&name));
            uses.entry(PathBuf::from(&name)).or_insert(1);
            name.push(".png");
            path = directory.join(name);
            if !taken {
                return path;
            }
        }
    };
    files.iter().map(unique).collect()
}

/// The files given, and the images in the folders given, in order of their names.
fn image_files(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in given {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).at("read", path)?;
        let mut inside = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<_>>>()
            .at("read", path)?;
        inside.retain(|file| has_image_extension(file));
        if inside.is_empty() {
            let path = path.display();
            return Err(Error::Usage(format!("{path} holds no images")));
        }
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(overlay: &Path, redrawn: Option<&Path>) -> DetectOptions {
        DetectOptions {
            instances: None,
            overlay: Some(overlay.to_owned()),
            redrawn: redrawn.map(Path::to_owned),
        }
    }

    #[test]
    fn pictures_replace_neither_images_nor_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let files = [at("a/x.png"), at("b/x.png"), at("b/x-2.jpg"), at("b/x.tif")];
        for file in &files {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, b"").unwrap();
        }
        let outputs = Outputs::plan(&files, &options(&at("out"), None)).unwrap();
        let mut names = outputs.overlay.unwrap();
        assert_eq!(names.len(), files.len());
        names.sort();
        names.dedup();
        assert_eq!(names.len(), files.len(), "{names:?}");

        let onto_inputs = Outputs::plan(&files, &options(&at("a"), None));
        assert!(matches!(onto_inputs, Err(Error::Usage(_))));
        let twice = Outputs::plan(&files, &options(&at("out"), Some(&at("a/../out"))));
        assert!(matches!(twice, Err(Error::Usage(_))));
    }
}
