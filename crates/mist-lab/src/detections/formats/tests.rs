use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::*;

fn image(index: u64, file: &str) -> DetectedImage {
    let found = |x_px, y_px, label, score| Detection {
        bounds: PixelBox::from_centre(x_px, y_px, 10.0, 20.0),
        label,
        score,
    };
    DetectedImage {
        index,
        file: file.to_owned(),
        stem: format!("stem{index}"),
        width_px: 40,
        height_px: 30,
        channels: 3,
        detections: vec![
            found(6.0, 12.0, 1, 0.1),
            found(0.5, 25.0, 0, 0.05),
            found(-90.0, 25.0, 0, 0.01),
        ],
    }
}

fn empty(index: u64) -> DetectedImage {
    DetectedImage {
        detections: Vec::new(),
        ..image(index, "empty.png")
    }
}

fn names() -> Vec<String> {
    ["zero", "<one> & \"more\""].map(str::to_owned).to_vec()
}

fn written(format: DetectionFormat, images: &[DetectedImage], out: &Path) {
    let mut writer = writer(format, &names(), Some(out), Box::new(std::io::sink())).unwrap();
    for image in images {
        writer.write(image).unwrap();
    }
    assert!(!out.is_file(), "a file appears when it is whole");
    writer.finish().unwrap();
}

fn text(format: DetectionFormat, images: &[DetectedImage]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    written(format, images, &out);
    fs::read_to_string(out).unwrap()
}

fn parsed(format: DetectionFormat, images: &[DetectedImage]) -> Value {
    serde_json::from_str(&text(format, images)).unwrap()
}

#[test]
fn json_and_csv_hold_the_boxes() {
    let images = [image(0, "a,b.png"), empty(1)];
    let csv = text(DetectionFormat::Csv, &images);
    assert_eq!(
        csv.lines().nth(1),
        Some("\"a,b.png\",1.0,2.0,10.0,20.0,1,\"<one> & \"\"more\"\"\",0.1")
    );
    assert_eq!(csv.lines().count(), 4);
    let json = parsed(DetectionFormat::Json, &images);
    let found = &json[0]["detections"][0];
    assert_eq!(found["bbox"], json!([1.0, 2.0, 10.0, 20.0]));
    assert_eq!(
        (&found["name"], &found["score"]),
        (&json!(names()[1]), &json!(0.1))
    );
    assert_eq!(json[1]["detections"], json!([]));
    assert_eq!(parsed(DetectionFormat::Json, &[]), json!([]));
}

#[test]
fn coco_is_a_data_set_and_its_results_belong_to_it() {
    let images = [image(0, "é/a.png"), empty(3), image(4, "b.png")];
    let set = parsed(DetectionFormat::Coco, &images);
    let ids = |list: &Value| -> Vec<u64> {
        let list = list.as_array().unwrap().iter();
        list.map(|entry| entry["id"].as_u64().unwrap()).collect()
    };
    assert_eq!(ids(&set["images"]), [0, 3, 4]);
    assert_eq!(ids(&set["annotations"]), [1, 2, 3, 4, 5, 6]);
    assert_eq!(ids(&set["categories"]), [0, 1]);
    assert_eq!(set["images"][0]["file_name"], "é/a.png");
    let first = &set["annotations"][3];
    assert_eq!(
        (&first["image_id"], &first["category_id"]),
        (&json!(4), &json!(1))
    );
    assert_eq!(
        (&first["area"], &first["iscrowd"]),
        (&json!(200.0), &json!(0))
    );
    let results = parsed(DetectionFormat::CocoResults, &images);
    for (result, annotation) in results.as_array().unwrap().iter().zip(0..) {
        let annotation = &set["annotations"][annotation as usize];
        for key in ["image_id", "category_id", "bbox", "score"] {
            assert_eq!(result[key], annotation[key]);
        }
    }
    let nothing = parsed(DetectionFormat::Coco, &[]);
    assert_eq!(
        (&nothing["images"], &nothing["annotations"]),
        (&json!([]), &json!([]))
    );
}

#[test]
fn a_long_list_of_images_survives_its_temporary_file() {
    let file = "ü".repeat(333);
    let images: Vec<_> = (0..200).map(|index| image(index, &file)).collect();
    let set = parsed(DetectionFormat::Coco, &images);
    let listed = set["images"].as_array().unwrap();
    assert!(listed.len() == 200 && listed.iter().all(|image| image["file_name"] == file));
}

#[test]
fn label_studio_has_percents_of_what_is_visible() {
    let tasks = parsed(DetectionFormat::LabelStudio, &[image(0, "/data/a b.png")]);
    assert_eq!(
        tasks[0]["data"]["image"],
        "/data/local-files/?d=data/a%20b.png"
    );
    let regions = tasks[0]["predictions"][0]["result"].as_array().unwrap();
    assert_eq!(regions.len(), 2);
    let value = &regions[1]["value"];
    assert_eq!((&value["x"], &value["width"]), (&json!(0.0), &json!(13.75)));
    assert_eq!(value["y"], json!(50.0));
    assert_eq!(value["rectanglelabels"], json!(["zero"]));
}

#[test]
fn voc_counts_pixels_from_one_and_escapes_names() {
    let directory = tempfile::tempdir().unwrap();
    written(
        DetectionFormat::Voc,
        &[image(0, "in/a&b.png")],
        directory.path(),
    );
    let xml = fs::read_to_string(directory.path().join("stem0.xml")).unwrap();
    for part in [
        "<folder>in</folder>",
        "<filename>a&amp;b.png</filename>",
        "<name>&lt;one&gt; &amp; \"more\"</name>",
        "<xmin>2</xmin>\n      <ymin>3</ymin>\n      <xmax>11</xmax>\n      <ymax>22</ymax>",
        "<truncated>1</truncated>",
    ] {
        assert!(xml.contains(part), "{part} in {xml}");
    }
    assert_eq!(xml.matches("<object>").count(), 2);
}

#[test]
fn yolo_lines_are_read_back_to_the_boxes() {
    let directory = tempfile::tempdir().unwrap();
    let images = [image(0, "a.png"), empty(1)];
    written(DetectionFormat::Yolo, &images, directory.path());
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
    let lines: Vec<Vec<f64>> = read("stem0.txt")
        .lines()
        .map(|line| {
            line.split(' ')
                .map(|field| field.parse().unwrap())
                .collect()
        })
        .collect();
    assert_eq!(lines.len(), 2);
    let expected = [1.0, 6.0 / 40.0, 12.0 / 30.0, 0.25, 20.0 / 30.0];
    assert!(
        lines[0]
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 1e-6)
    );
    assert!(lines[1][1] - lines[1][3] / 2.0 >= 0.0, "{lines:?}");
    assert_eq!(read("stem1.txt"), "");
    assert_eq!(read("classes.txt").lines().collect::<Vec<_>>(), names());
}

#[test]
fn counts_have_zeros_too() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("counts.csv");
    let mut writer = counts_writer(&out, &["zero".into(), "one".into()]).unwrap();
    writer.write(&image(0, "a.png")).unwrap();
    writer.write(&empty(1)).unwrap();
    writer.finish().unwrap();
    assert_eq!(
        fs::read_to_string(out).unwrap(),
        "file,class,count\na.png,zero,2\na.png,one,1\nempty.png,zero,0\nempty.png,one,0\n"
    );
}
