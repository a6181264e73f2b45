//! `mist train --images`: from a folder to a model that finds, and what it says of folders that cannot work.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use mist_data::{Image, SceneKind, SceneSet, Split, read_image, write_png};
use mist_lab::recipe::Recipe;

const TINY: &[&str] = &[
    "steps=6",
    "batch=2",
    "every.checkpoint=3",
    "every.validation=3",
    "model.detector.channels=8",
    "model.detector.blocks=2",
];

fn glyphs(folder: &Path, count: u64) {
    fs::create_dir_all(folder).unwrap();
    let scenes = SceneSet::new(SceneKind::Glyphs, 1, Split::Train, None).unwrap();
    for index in 0..count {
        let path = folder.join(format!("{index:03}.png"));
        write_png(&path, &scenes.scene(index).image).unwrap();
    }
}

fn mist(arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mist"));
    command.args(arguments).current_dir(directory);
    command.output().unwrap()
}

fn train(arguments: &[&str], directory: &Path) -> Output {
    let mut all = vec!["train"];
    all.extend(arguments);
    for setting in TINY {
        all.extend(["--set", setting]);
    }
    mist(&all, directory)
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", told(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn refused(output: &Output, code: i32, what: &str) {
    let told = told(output);
    assert_eq!(output.status.code(), Some(code), "{told}");
    assert!(told.contains(what), "{told}");
}

#[test]
fn a_folder_is_learned_from_and_resumed_to_the_bit() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    glyphs(&here.join("in"), 8);
    fs::write(here.join("in/bad.png"), b"damaged").unwrap();
    let whole = train(
        &["--images", "in", "--instances", "3..9", "--out", "whole"],
        here,
    );
    done(&whole);
    let said = told(&whole);
    assert!(
        said.contains("bad.png") && said.contains("px wide"),
        "{said}"
    );
    let stopped = [
        "--images",
        "in",
        "--instances",
        "9",
        "--out",
        "stopped",
        "--budget",
        "0s",
    ];
    done(&train(&stopped, here));
    let steps = || fs::read_to_string(here.join("stopped/metrics.jsonl")).unwrap_or_default();
    assert!(!steps().contains("\"step\":6"));
    for _ in 0..6 {
        let resume = [
            "train", "--images", "in", "--resume", "--out", "stopped", "--budget", "0s",
        ];
        done(&mist(&resume, here));
    }
    let weights = |run: &str| fs::read(here.join(run).join("weights/last.safetensors")).unwrap();
    assert_eq!(weights("stopped"), weights("whole"));
    let metrics = done(&mist(&["eval", "whole"], here));
    assert!(metrics.contains("rmse"), "{metrics}");
    let found = done(&mist(
        &["detect", "whole", "in/000.png", "--instances", "2"],
        here,
    ));
    assert!(found.matches("\"bbox\"").count() <= 2, "{found}");
    let table = "file,class,xmin,ymin,xmax,ymax\n000.png,ring,10,10,30,30\n";
    fs::write(here.join("boxes.csv"), table).unwrap();
    let judged = [
        "eval",
        "whole",
        "--boxes",
        "boxes.csv",
        "--images",
        "in/000.png",
    ];
    let judged = done(&mist(&judged, here));
    assert!(judged.contains("recall"), "{judged}");
    let unknown = [
        "eval",
        "whole",
        "--boxes",
        "boxes.csv",
        "--images",
        "in/002.png",
    ];
    refused(&mist(&unknown, here), 3, "none of these images");
    fs::remove_file(here.join("in/001.png")).unwrap();
    let changed = mist(&["train", "--resume", "--out", "whole"], here);
    refused(&changed, 3, "began with");
}

#[test]
fn counts_of_varying_totals_and_empty_images_are_learned_from() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    glyphs(&here.join("in"), 6);
    write_png(&here.join("in/empty.png"), &Image::filled(70, 60, 3, 0.1)).unwrap();
    let table = "\u{feff}file,class,count\r\n000.png,ring,2\r\n001.png,ring,1\r\n001.png,tee,3\r\n002.png,tee,4\r\n\
                 003.png,ring,1\r\nempty.png,,0\r\nelsewhere.png,star,7\r\n";
    fs::write(here.join("counts.csv"), table).unwrap();
    let run = [
        "--images",
        "in",
        "--counts",
        "counts.csv",
        "--object-px",
        "20",
        "--out",
        "run",
    ];
    let output = train(&run, here);
    done(&output);
    let said = told(&output);
    assert!(
        said.contains("1 files of the table are not in the folder: elsewhere.png"),
        "{said}"
    );
    assert!(
        said.contains("2 files have no counts and are left out: 004.png, 005.png"),
        "{said}"
    );
    let config = fs::read_to_string(here.join("run/config.toml")).unwrap();
    let images = Recipe::from_resolved(&config).unwrap().images.unwrap();
    assert_eq!(images.instances, 4);
    assert_eq!(images.classes, ["ring", "tee", "background"]);
    let metrics = done(&mist(&["eval", "run"], here));
    assert!(metrics.contains("count_mae_total"), "{metrics}");
    let found = done(&mist(&["detect", "run", "in"], here));
    assert!(!found.contains("background"), "{found}");
}

/// Blue and red discs, of which there is one of the first in every image.
#[test]
fn coloured_objects_are_learned_from_their_counts() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::create_dir_all(here.join("in")).unwrap();
    let mut table = "file,class,count\n".to_owned();
    for index in 0..6usize {
        let mut image = Image::filled(96, 80, 3, 0.9);
        let red = 1 + index % 3;
        for disc in 0..=red {
            let centre = (
                18.0 + 28.0 * (disc % 3) as f32,
                20.0 + 36.0 * (disc / 3) as f32,
            );
            for y in 0..80 {
                for x in 0..96 {
                    if (x as f32 - centre.0).hypot(y as f32 - centre.1) < 9.0 {
                        for channel in 0..3 {
                            let bright = channel == if disc == 0 { 2 } else { 0 };
                            let place = image.offset(x, y, channel);
                            image.pixels[place] = if bright { 0.8 } else { 0.2 };
                        }
                    }
                }
            }
        }
        let name = format!("{index}.png");
        write_png(&here.join("in").join(&name), &image).unwrap();
        table += &format!("{name},red,{red}\n{name},blue,1\n");
    }
    fs::write(here.join("counts.csv"), table).unwrap();
    let run = ["--images", "in", "--counts", "counts.csv", "--out", "run"];
    let output = train(&run, here);
    done(&output);
    let config = fs::read_to_string(here.join("run/config.toml")).unwrap();
    let recipe = Recipe::from_resolved(&config).unwrap();
    assert_eq!(recipe.experiment, "folder-count");
    assert_eq!(
        recipe.images.unwrap().classes,
        ["blue", "red", "background"]
    );
    // The discs are 18 px wide.
    let said = told(&output);
    let estimate = (16..=22).any(|px| said.contains(&format!("about {px} px wide")));
    assert!(estimate, "{said}");
    let metrics = done(&mist(&["eval", "run"], here));
    assert!(metrics.contains("count_mae"), "{metrics}");
    let found = done(&mist(&["detect", "run", "in"], here));
    assert!(!found.contains("background"), "{found}");
}

#[test]
fn one_large_image_is_learned_from_by_crops() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    glyphs(&here.join("tiles"), 9);
    let mut sheet = Image::filled(240, 240, 1, 0.0);
    for index in 0..9 {
        let path = here.join(format!("tiles/{index:03}.png"));
        let tile = read_image(&path, mist_data::DecodeLimits::default()).unwrap();
        for y in 0..80 {
            let to = sheet.offset(80 * (index % 3), 80 * (index / 3) + y, 0);
            sheet.pixels[to..to + 80].copy_from_slice(&tile.pixels[80 * y..80 * (y + 1)]);
        }
    }
    fs::create_dir(here.join("in")).unwrap();
    write_png(&here.join("in/sheet.png"), &sheet).unwrap();
    let run = [
        "--images",
        "in",
        "--instances",
        "81",
        "--object-px",
        "20",
        "--out",
        "run",
    ];
    let output = train(&run, here);
    done(&output);
    assert!(
        told(&output).contains("none is held out"),
        "{}",
        told(&output)
    );
    let found = done(&mist(&["detect", "run", "in", "--instances", "4"], here));
    assert_eq!(found.matches("\"bbox\"").count(), 4);
}

#[test]
fn what_cannot_work_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    glyphs(&here.join("in"), 5);
    glyphs(&here.join("few"), 3);
    fs::create_dir(here.join("empty")).unwrap();
    refused(&mist(&["train"], here), 2, "--images DIR --instances K");
    let mistakes: [(&str, i32, &str); 8] = [
        ("--images in", 2, "--instances K"),
        ("--images few --instances 3 --object-px 20", 2, "at least 4"),
        ("--images in --instances 500", 2, "no room"),
        ("--images in --instances 0", 2, "auto"),
        ("--images in --instances 9 --object-px 2", 2, "from 4"),
        ("--images empty --instances 9", 2, "no images"),
        ("--images missing --instances 9", 3, "missing"),
        ("folder-reconstruct", 2, "--images DIR"),
    ];
    for (arguments, code, message) in mistakes {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        refused(&train(&arguments, here), code, message);
    }
    let table = |text: &str| {
        fs::write(here.join("counts.csv"), text).unwrap();
        train(
            &[
                "--images",
                "in",
                "--counts",
                "counts.csv",
                "--object-px",
                "20",
            ],
            here,
        )
    };
    refused(&table("file,class\n"), 3, "no column `count`");
    refused(&table("file,class,count\n000.png,ring,-1\n"), 3, "line 2");
    refused(
        &table("file,class,count\nelse.png,ring,1\n"),
        3,
        "paths below the folder",
    );
    assert!(!here.join("runs").exists());
}
