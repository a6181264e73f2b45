//! Where outputs go: never over an image, never over each other.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::path_text;
use crate::error::{AtPath, Error, Result};

/// The longest name that every usual file system takes has 255 bytes; numbers and extensions follow the stem.
const MAX_STEM_BYTES: usize = 200;

/// A directory of outputs, all with one extension.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputDirectory<'a> {
    pub path: &'a Path,
    pub extension: &'static str,
}

/// Refuses outputs that would replace an input or each other; creates the directories.
///
/// # Errors
/// When one of them is in the way of another, or a directory cannot be created.
pub(super) fn check(
    inputs: &[PathBuf],
    directories: &[OutputDirectory],
    files: &[&Path],
) -> Result<()> {
    let mut taken = HashSet::new();
    for OutputDirectory {
        path: directory, ..
    } in directories
    {
        fs::create_dir_all(directory).at("create", directory)?;
        let real = fs::canonicalize(directory).at("open", directory)?;
        if !taken.insert(real) {
            return Err(Error::Usage(format!(
                "{} is named for two kinds of output; each needs a directory of its own",
                directory.display()
            )));
        }
    }
    let real: Vec<PathBuf> = files.iter().map(|file| real_path(file)).collect();
    for (file, real) in files.iter().zip(&real) {
        let inside = directories.iter().find(|directory| {
            let its_own = fs::canonicalize(directory.path).ok();
            let same_kind = real
                .extension()
                .is_some_and(|own| own.eq_ignore_ascii_case(directory.extension));
            same_kind && its_own.as_deref() == real.parent()
        });
        if let Some(directory) = inside {
            return Err(Error::Usage(format!(
                "{} may be the name of one of the files that go to {}; choose another",
                file.display(),
                directory.path.display()
            )));
        }
        if !taken.insert(real.clone()) {
            return Err(Error::Usage(format!(
                "{} is named for two outputs; choose another name",
                file.display()
            )));
        }
    }
    for input in inputs {
        // What is not there cannot be overwritten.
        let Ok(input) = fs::canonicalize(input) else {
            continue;
        };
        if taken.contains(&input) {
            return Err(Error::Usage(format!(
                "{} is an input; choose another output",
                input.display()
            )));
        }
        if let Some(parent) = input.parent().filter(|parent| taken.contains(*parent)) {
            return Err(Error::Usage(format!(
                "{} has inputs in it; choose another directory for outputs",
                parent.display()
            )));
        }
    }
    Ok(())
}

/// Where a file is or will be.
fn real_path(file: &Path) -> PathBuf {
    let inside = || {
        let parent = match file.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        Some(fs::canonicalize(parent).ok()?.join(file.file_name()?))
    };
    fs::canonicalize(file)
        .ok()
        .or_else(inside)
        .unwrap_or_else(|| file.to_owned())
}

/// What files about each input are called: its name without the extension, and a number where that is taken.
///
/// Names that differ in case alone count as equal, as they do on some file systems.
pub(super) fn unique_stems(files: &[PathBuf], reserved: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = reserved.iter().map(|&name| name.to_owned()).collect();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let unique = |file: &PathBuf| {
        let stem = file
            .file_stem()
            .map_or("image".to_owned(), |stem| path_text(Path::new(stem)));
        let stem = stem[..stem.floor_char_boundary(MAX_STEM_BYTES)].to_owned();
        let folded = stem.to_lowercase();
        if taken.insert(folded.clone()) {
            return stem;
        }
        let number = numbers.entry(folded.clone()).or_insert(1);
        loop {
            *number += 1;
            if taken.insert(format!("{folded}-{number}")) {
                return format!("{stem}-{number}");
            }
        }
    };
    files.iter().map(unique).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_kept_apart() {
        let files = ["a/x.png", "b/X.png", "b/x-2.jpg", "b/x.tif", "classes.png"];
        let stems = unique_stems(&files.map(PathBuf::from), &["classes"]);
        assert_eq!(stems, ["x", "X-2", "x-2-2", "x-3", "classes-2"]);
        let long = |end: &str| PathBuf::from(format!("{}{end}.png", "ü".repeat(120)));
        let stems = unique_stems(&[long("a"), long("b")], &[]);
        assert_eq!(stems, ["ü".repeat(100), format!("{}-2", "ü".repeat(100))]);
    }

    #[test]
    fn outputs_replace_neither_images_nor_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("a")).unwrap();
        fs::write(at("a/x.png"), b"").unwrap();
        let inputs = [at("a/x.png"), at("missing.png")];
        let (out, again, images) = (at("out"), at("a/../out"), at("a"));
        let (table, table_again, image) = (at("t.csv"), at("a/../t.csv"), at("a/../a/x.png"));
        let check = |directories: &[&Path], files: &[&Path]| {
            let extension = "png";
            let directories: Vec<_> = directories
                .iter()
                .map(|&path| OutputDirectory { path, extension })
                .collect();
            check(&inputs, &directories, files)
        };
        assert!(check(&[&out], &[&table, &at("out/t.csv")]).is_ok());
        let refused = |directories: &[&Path], files: &[&Path]| {
            matches!(check(directories, files), Err(Error::Usage(_)))
        };
        assert!(refused(&[&out], &[&at("a/../out/x.PNG")]));
        assert!(refused(&[&out, &again], &[]));
        assert!(refused(&[&images], &[]));
        assert!(refused(&[], &[&table, &table_again]));
        assert!(refused(&[], &[&image]));
    }
}
