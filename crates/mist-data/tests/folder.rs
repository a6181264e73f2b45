//! Folders of images as data sets.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mist_data::{
    BACKGROUND, Counts, Dataset, Error, FolderDataset, FolderFiles, Foreground, Image, ImageFolder,
    SceneKind, SceneSet, Split, survey, write_png,
};

/// Glyph scenes as PNG files.
fn glyphs(folder: &Path, count: u64) {
    let scenes = SceneSet::new(SceneKind::Glyphs, 1, Split::Train, None).unwrap();
    for index in 0..count {
        let path = folder.join(format!("{index:03}.png"));
        write_png(&path, &scenes.scene(index).image).unwrap();
    }
}

fn settings(folder: &Path) -> ImageFolder {
    ImageFolder {
        folder: folder.to_owned(),
        counts: None,
        classes: Vec::new(),
        foreground: Foreground::Bright,
        instances: 9,
        window_px: [40, 40],
        contents: FolderFiles::open(folder).unwrap().contents(),
    }
}

#[test]
fn held_out_files_are_never_trained_on_and_items_are_theirs() {
    let folder = tempfile::tempdir().unwrap();
    glyphs(folder.path(), 30);
    let images = settings(folder.path());
    let open = |split| FolderDataset::open(&images, 3, split).unwrap();
    let (train, valid) = (open(Split::Train), open(Split::Valid));
    let names = |set: &FolderDataset| set.file_names().into_iter().collect::<BTreeSet<_>>();
    assert!(names(&train).is_disjoint(&names(&valid)));
    assert_eq!(names(&train).len() + names(&valid).len(), 30);
    assert!((2..=12).contains(&names(&valid).len()));
    assert_eq!(names(&open(Split::Test)), names(&valid));
    assert_eq!(
        (train.len(), valid.len()),
        (None, Some(names(&valid).len() as u64))
    );
    assert_eq!(train.max_instances(), Some(3));
    // With the held-out files gone, the training part is the same.
    let before: Vec<_> = (0..40).map(|index| train.item(index).unwrap()).collect();
    for name in names(&valid) {
        fs::write(folder.path().join(name), b"damaged").unwrap();
    }
    for (index, item) in before.iter().enumerate() {
        assert_eq!(train.item(index as u64).unwrap(), *item);
    }
    assert!(valid.item(0).is_err());
}

#[test]
fn crops_are_functions_of_seed_and_index_whatever_the_sizes() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (width, height)) in [(30, 90), (90, 30), (41, 40), (1, 200)]
        .into_iter()
        .enumerate()
    {
        let mut image = Image::filled(width, height, 1 + 2 * (number % 2), 0.2);
        for (place, value) in image.pixels.iter_mut().enumerate() {
            *value = (place % 97) as f32 / 97.0;
        }
        write_png(&folder.path().join(format!("{number}.png")), &image).unwrap();
    }
    let images = settings(folder.path());
    let open = |seed| FolderDataset::open(&images, seed, Split::Train).unwrap();
    let items = |set: &FolderDataset| {
        (0..20)
            .map(|index| set.item(index).unwrap())
            .collect::<Vec<_>>()
    };
    let first = items(&open(1));
    assert_eq!(first, items(&open(1)));
    assert_ne!(first, items(&open(2)));
    for item in &first {
        assert_eq!((item.image.width_px, item.image.height_px), (40, 40));
        assert_eq!(item.image.channels, open(1).channels());
        assert!(
            item.image
                .pixels
                .iter()
                .all(|value| (0.0..=1.0).contains(value))
        );
    }
}

#[test]
fn whole_images_are_framed_and_unused_places_are_background() {
    let folder = tempfile::tempdir().unwrap();
    glyphs(folder.path(), 6);
    let table = folder.path().join("counts.csv");
    let rows: String = (0..6)
        .map(|index| format!("{index:03}.png,ring,{index}\n"))
        .collect();
    fs::write(&table, format!("file,class,count\n{rows}")).unwrap();
    let images = ImageFolder {
        counts: Some(table.clone()),
        classes: vec!["ring".to_owned(), BACKGROUND.to_owned()],
        instances: 5,
        window_px: [90, 100],
        ..settings(folder.path())
    };
    let set = FolderDataset::open(&images, 1, Split::Valid).unwrap();
    for (index, name) in set.file_names().iter().enumerate() {
        let item = set.item(index as u64).unwrap();
        let number: usize = name[..3].parse().unwrap();
        assert_eq!(item.known.class_counts, Some(vec![number, 5 - number]));
        assert_eq!((item.image.width_px, item.image.height_px), (90, 100));
        assert!(
            item.image.pixels[..90 * 10]
                .iter()
                .all(|&value| value == 0.0)
        );
    }
    fs::write(
        &table,
        "file,class,count\n000.png,cross,1\n001.png,cross,1\n002.png,cross,1\n003.png,cross,1\n",
    )
    .unwrap();
    let error = FolderDataset::open(&images, 1, Split::Valid).unwrap_err();
    assert!(error.to_string().contains("not the table"), "{error}");
    assert_eq!(Counts::read(&table).unwrap().classes, ["cross"]);
}

#[test]
fn damaged_images_are_named_and_too_many_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    glyphs(folder.path(), 4);
    for number in 0..4 {
        fs::write(
            folder.path().join(format!("bad{number}.png")),
            b"\x89PNG\r\n",
        )
        .unwrap();
    }
    let files = FolderFiles::open(folder.path()).unwrap();
    assert_eq!((files.len(), files.damaged.len()), (4, 4));
    assert!(files.damaged[0].to_string().contains("bad0.png"));
    fs::write(folder.path().join("bad4.jpg"), b"nothing").unwrap();
    let error = FolderFiles::open(folder.path()).unwrap_err();
    assert!(
        matches!(error, Error::Input(_)) && error.to_string().contains("5 of 9"),
        "{error}"
    );
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(
        FolderFiles::open(empty.path()),
        Err(Error::Request(_))
    ));
    assert!(FolderFiles::open(&empty.path().join("missing")).is_err());
}

#[test]
fn another_folder_is_not_taken_for_the_one_of_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    glyphs(folder.path(), 5);
    let images = settings(folder.path());
    glyphs(folder.path(), 6);
    let error = FolderDataset::open(&images, 1, Split::Train).unwrap_err();
    assert!(error.to_string().contains("began with"), "{error}");
}

#[test]
fn a_survey_tells_size_number_and_whether_objects_are_dark() {
    for (background, object, expected) in
        [(0.1, 0.9, Foreground::Bright), (0.8, 0.3, Foreground::Dark)]
    {
        let folder = tempfile::tempdir().unwrap();
        let mut image = Image::filled(200, 200, 1, background);
        for number in 0..12 {
            let (left, top) = (10 + 48 * (number % 4), 10 + 60 * (number / 4));
            for y in top..top + 16 {
                for x in left..left + 16 {
                    let place = image.offset(x, y, 0);
                    image.pixels[place] = object;
                }
            }
        }
        for number in 0..3 {
            write_png(&folder.path().join(format!("{number}.png")), &image).unwrap();
        }
        let found = survey(&FolderFiles::open(folder.path()).unwrap()).unwrap();
        assert_eq!((found.foreground, found.instances), (expected, 12));
        assert!(
            (16.0..26.0).contains(&found.object_px.unwrap()),
            "{found:?}"
        );
    }
}
