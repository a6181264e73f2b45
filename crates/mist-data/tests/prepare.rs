//! Photographs of VOC, COCO and tables, prepared.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use mist_data::{Catalog, PrepareRequest, Prepared, Split, VOC_COCO, prepare};

/// A gray JPEG of 120 x 80 px.
fn jpeg(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let picture = image::RgbImage::from_pixel(120, 80, image::Rgb([90, 120, 150]));
    picture.save(path).unwrap();
}

/// A class, and left, top, right and bottom of a box.
type Named = (&'static str, [i32; 4]);

fn xml(objects: &[Named]) -> String {
    let object = |(name, [x0, y0, x1, y1]): &Named| {
        format!(
            "<object><name>{name}</name><bndbox><xmin>{x0}</xmin><ymin>{y0}</ymin><xmax>{x1}</xmax>\
             <ymax>{y1}</ymax></bndbox></object>"
        )
    };
    let objects: String = objects.iter().map(object).collect();
    format!("<annotation>{objects}</annotation>")
}

fn voc(root: &Path) {
    let annotations = root.join("Annotations");
    fs::create_dir_all(&annotations).unwrap();
    let good = [("dog", [10, 10, 40, 40])];
    let files: [(&str, &[Named]); 7] = [
        ("good", &good),
        ("large", &[("dog", [0, 0, 70, 60])]),
        ("narrow", &[("cat", [0, 0, 50, 20])]),
        ("other", &[("giraffe", [0, 0, 20, 20])]),
        ("damaged", &good),
        ("missing", &good),
        (
            "outside",
            &[
                ("dog", [10, 10, 40, 40]),
                ("cat", [130, 0, 160, 30]),
                ("cat", [9, 9, 9, 20]),
            ],
        ),
    ];
    for (name, objects) in files {
        fs::write(annotations.join(format!("{name}.xml")), xml(objects)).unwrap();
        let picture = root.join("JPEGImages").join(format!("{name}.jpg"));
        match name {
            "missing" => {}
            "damaged" => {
                jpeg(&picture);
                let bytes = fs::read(&picture).unwrap();
                fs::write(&picture, &bytes[..bytes.len() / 2]).unwrap();
            }
            _ => jpeg(&picture),
        }
    }
    jpeg(&root.join("JPEGImages/nobody-looked.jpg"));
    jpeg(&root.join("SegmentationClass/good.jpg"));
}

fn coco(root: &Path) {
    for name in ["1", "2"] {
        jpeg(&root.join(format!("val2017/{name}.jpg")));
    }
    let text = r#"{"images": [{"id": 1, "file_name": "1.jpg"}, {"id": 2, "file_name": "2.jpg"}],
        "categories": [{"id": 5, "name": "airplane"}, {"id": 6, "name": "cup"}],
        "annotations": [{"image_id": 1, "category_id": 5, "bbox": [20, 20, 30, 30]},
            {"image_id": 1, "category_id": 5, "bbox": [0, 0, 120, 80], "iscrowd": 1},
            {"image_id": 1, "category_id": 9, "bbox": [0, 0, 10, 10]},
            {"image_id": 2, "category_id": 6, "bbox": [0, 0, 10, 10]}]}"#;
    fs::create_dir_all(root.join("annotations")).unwrap();
    fs::write(root.join("annotations/instances_val2017.json"), text).unwrap();
}

fn table(root: &Path) {
    fs::create_dir_all(root).unwrap();
    // Enough for every part to get some.
    let mut text = String::from("split,id,class,xmin,ymin,xmax,ymax\n");
    for index in 0..40 {
        jpeg(&root.join(format!("val/{index:03}.jpg")));
        text += &format!("val,{index:03},tv,30,30,60,55\n");
    }
    fs::write(root.join("annotations.csv"), text).unwrap();
}

fn prepared(sources: &[PathBuf], out: &Path, seed: u64) -> Prepared {
    let request = PrepareRequest {
        sources: sources.to_vec(),
        out: out.to_owned(),
        seed,
    };
    prepare(&request).unwrap()
}

#[test]
fn every_rule_is_counted_and_what_is_left_is_a_data_set() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let sources = ["voc", "coco", "table"].map(|name| root.join(name));
    voc(&sources[0]);
    coco(&sources[1]);
    table(&sources[2]);
    let data = root.join("data");
    let found = prepared(&sources, &data.join(VOC_COCO), 1);
    let kept: usize = found.kept.iter().sum();
    assert_eq!((found.looked_at, kept, found.objects), (49, 43, 43));
    let dropped = [
        found.without_objects,
        found.too_large,
        found.too_narrow,
        found.damaged_images,
    ];
    assert_eq!(dropped, [2, 1, 1, 1]);
    assert_eq!((found.without_annotations, found.missing_images), (1, 1));
    // One box outside, one without an area, one without a known category.
    assert_eq!(found.skipped_boxes, 3);
    assert!(
        (0.2..0.45).contains(&found.mean_cover),
        "{}",
        found.mean_cover
    );

    let catalog = Catalog::new(Some(&data));
    let mut labels: HashMap<usize, usize> = HashMap::new();
    for (split, kept) in Split::ALL.into_iter().zip(found.kept) {
        let set = catalog.open(VOC_COCO, 0, split).unwrap();
        let views = if split == Split::Train {
            2 * kept
        } else {
            kept
        };
        assert_eq!(set.views(), Some(views as u64));
        let item = set.item(0).unwrap();
        assert_eq!((item.image.width_px, item.image.height_px), (224, 224));
        let step = if split == Split::Train { 2 } else { 1 };
        for view in (0..views as u64).step_by(step) {
            let truths = set.view_item(view).unwrap().known.truths.unwrap();
            *labels.entry(truths[0].label).or_default() += 1;
        }
    }
    // Dogs, an aeroplane by COCO's name, screens by COCO's name.
    assert_eq!(labels, HashMap::from([(11, 2), (0, 1), (19, 40)]));
}

#[test]
fn the_seed_decides_alone() {
    let folder = tempfile::tempdir().unwrap();
    let source = [folder.path().join("table")];
    table(&source[0]);
    let written = |name: &str, seed| {
        let out = folder.path().join(name);
        prepared(&source, &out, seed);
        fs::read_to_string(out.join("annotations.csv")).unwrap()
    };
    assert_eq!(written("a", 1), written("b", 1));
    assert_ne!(written("c", 2), written("d", 3));
}
