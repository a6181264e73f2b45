//! `mist detect` among files that mean no good: each is named, nothing else is lost, memory stays bounded.

#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../mist-data/tests/skipped/mod.rs"]
mod skipped;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use mist_data::{Image, encode_png, write_png};
use serde_json::Value;
use tempfile::TempDir;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist-hard");
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mist-data/tests/fixtures");
/// Addresses that the command may take, in kilobytes.
const MEMORY_KB: u64 = 3_000_000;

struct Place(TempDir);

impl Place {
    fn with_scenes(count: usize) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let count = count.to_string();
        let generate = ["data", "generate", "glyphs", "--out", "scenes", "--count"];
        place.ended(&[&generate[..], &[&count]].concat(), 0);
        fs::rename(place.at("scenes/images"), place.at("images")).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mist"));
        command.args(arguments).current_dir(self.0.path());
        command
    }

    fn ended(&self, arguments: &[&str], code: i32) -> Output {
        let output = self.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", told(&output));
        output
    }

    fn detect(&self, arguments: &[&str], code: i32) -> Output {
        self.ended(&[&["detect", MODEL], arguments].concat(), code)
    }

    /// Runs in a shell, for limits; `MIST` is the command.
    fn shell(&self, line: &str) -> Output {
        let line = line.replace("MIST", env!("CARGO_BIN_EXE_mist"));
        let mut command = Command::new("bash");
        command.args(["-c", &line]).current_dir(self.0.path());
        command.output().unwrap()
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(directory)).unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

fn told(output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!told.contains("panicked"), "{told}");
    told
}

fn names_found(output: &Output) -> Vec<String> {
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let images = found.as_array().unwrap().iter();
    let file = images.map(|image| Path::new(image["file"].as_str().unwrap()));
    let name = file.map(|file| file.file_name().unwrap().to_str().unwrap());
    name.map(str::to_owned).collect()
}

/// A PNG file whose comment is 300 MB of zeros, packed.
fn comment_bomb() -> Vec<u8> {
    let plain = encode_png(&Image::filled(8, 8, 1, 0.5)).unwrap();
    let mut text = b"Comment\0\0".to_vec();
    let mut packed = flate2::write::ZlibEncoder::new(&mut text, flate2::Compression::best());
    for _ in 0..300 {
        std::io::Write::write_all(&mut packed, &vec![0; 1 << 20]).unwrap();
    }
    packed.finish().unwrap();
    let mut sum = flate2::Crc::new();
    sum.update(b"zTXt");
    sum.update(&text);
    let length = (text.len() as u32).to_be_bytes();
    let chunk = [&length[..], b"zTXt", &text, &sum.sum().to_be_bytes()].concat();
    // Behind the signature and the header.
    [&plain[..33], &chunk, &plain[33..]].concat()
}

/// A portable map that claims more pixels than it has.
fn liar() -> Vec<u8> {
    [&b"P5 30000 30000 255\n"[..], &[0; 1000]].concat()
}

#[test]
fn hostile_files_cost_themselves_only_within_a_limit_of_memory() {
    let place = Place::with_scenes(2);
    let at = |name: &str| place.at("images").join(name);
    let scene = fs::read(at("000000.png")).unwrap();
    fs::write(at("a-half.png"), &scene[..scene.len() / 2]).unwrap();
    fs::write(at("b-zero.jpg"), b"").unwrap();
    fs::write(at("c-text.tif"), b"not an image").unwrap();
    fs::copy(Path::new(FIXTURES).join("cmyk.jpg"), at("d-inks.png")).unwrap();
    fs::copy(
        Path::new(FIXTURES).join("animated.webp"),
        at("e-moves.webp"),
    )
    .unwrap();
    write_png(&at("f-narrow.png"), &Image::filled(1, 5000, 1, 0.3)).unwrap();
    write_png(&at("g-bomb.png"), &Image::filled(16_000, 16_000, 1, 0.0)).unwrap();
    fs::write(at("h-comment.png"), comment_bomb()).unwrap();
    fs::write(at("i-liar.pgm"), liar()).unwrap();
    symlink("/proc/self/mem", at("j-unreadable.png")).unwrap();
    symlink("nowhere.png", at("k-dangling.png")).unwrap();
    symlink("l-loop.png", at("l-loop.png")).unwrap();
    symlink(".", at("m-back")).unwrap();
    fs::create_dir(at("n-folder.png")).unwrap();
    let pipe = Command::new("mkfifo").arg(at("o-pipe.png")).status();
    assert!(pipe.unwrap().success());
    let output = place.shell(&format!(
        "ulimit -v {MEMORY_KB}; MIST detect {MODEL} images --instances 2 --overlay overlay --counts counts.csv"
    ));
    let told = told(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    let whole = [
        "000000.png",
        "000001.png",
        "d-inks.png",
        "e-moves.webp",
        "f-narrow.png",
    ];
    let found = names_found(&output);
    let harmless: Vec<&String> = found
        .iter()
        .filter(|name| *name != "h-comment.png")
        .collect();
    assert_eq!(harmless, whole, "{told}");
    let refused = [
        "a-half.png",
        "b-zero.jpg",
        "c-text.tif",
        "g-bomb.png",
        "i-liar.pgm",
        "j-unreadable.png",
        "k-dangling.png",
        "l-loop.png",
        "o-pipe.png",
    ];
    for name in refused {
        let named = told
            .lines()
            .filter(|line| line.starts_with("error: ") && line.contains(name));
        assert_eq!(named.count(), 1, "{name}: {told}");
    }
    assert_eq!(place.names("overlay").len(), found.len());
    let counts = fs::read_to_string(place.at("counts.csv")).unwrap();
    assert_eq!(counts.lines().count(), 1 + 10 * found.len());
}

#[test]
fn a_full_disk_is_told_and_leaves_nothing_half_written() {
    let place = Place::with_scenes(60);
    fs::write(place.at("found.json"), "before").unwrap();
    // Writes beyond the limit fail as on a full disk.
    let limited = |arguments: &str| {
        let detect = format!("MIST detect {MODEL} images {arguments}");
        place.shell(&format!("trap '' XFSZ; ulimit -f 4; {detect}"))
    };
    for out in [
        "found.json",
        "found.csv --format csv",
        "found.coco --format coco",
    ] {
        let output = limited(&format!("--out {out}"));
        let name = out.split(' ').next().unwrap();
        assert_eq!(output.status.code(), Some(3), "{out}");
        assert!(told(&output).contains(name), "{}", told(&output));
    }
    assert_eq!(
        fs::read_to_string(place.at("found.json")).unwrap(),
        "before"
    );
    let left = place.names(".");
    assert_eq!(left, ["found.json", "images", "scenes"]);
}

#[test]
fn a_full_file_system_is_told() {
    let place = Place::with_scenes(40);
    fs::create_dir(place.at("small")).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=64k none small || exit 77; MIST detect {MODEL} images --overlay small/overlay; \
         code=$?; ls -A small/overlay | grep -v png | sed s/^/left:/ >&2; exit $code"
    );
    let output = place.shell(&format!(
        "unshare --map-root-user --mount bash -c '{script}'"
    ));
    let told = told(&output);
    if output.status.code() == Some(77) || told.contains("unshare") {
        skipped::skip(
            "a_full_file_system_is_told",
            "this system mounts no tmpfs for a user",
        );
        return;
    }
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("No space left on device"), "{told}");
    assert!(!told.contains("left:"), "{told}");
}

#[test]
fn names_of_any_bytes_and_any_length_have_outputs_of_their_own() {
    let place = Place::with_scenes(1);
    let scene = place.at("images/000000.png");
    let long = "n".repeat(251);
    let names: [&[u8]; 4] = [b"caf\xE8", b"caf\xE9", b"a\nb", long.as_bytes()];
    for name in names {
        let file = [name, b".png"].concat();
        fs::copy(
            &scene,
            place.at("images").join(std::ffi::OsStr::from_bytes(&file)),
        )
        .unwrap();
    }
    fs::create_dir(place.at("more")).unwrap();
    fs::copy(&scene, place.at("more/000000.png")).unwrap();
    let outputs = [
        "--overlay",
        "overlay",
        "--crops",
        "crops",
        "--heatmap",
        "heat",
    ];
    for format in ["voc", "yolo"] {
        let inputs = [
            "images",
            "more",
            "--instances",
            "2",
            "--format",
            format,
            "--out",
            format,
        ];
        place.detect(&[&inputs[..], &outputs].concat(), 0);
    }
    for (directory, count) in [
        ("overlay", 6),
        ("heat", 6),
        ("crops", 12),
        ("voc", 6),
        ("yolo", 7),
    ] {
        assert_eq!(place.names(directory).len(), count, "{directory}");
    }
}

#[test]
fn outputs_replace_neither_the_model_nor_each_other() {
    let place = Place::with_scenes(1);
    fs::create_dir(place.at("model")).unwrap();
    for name in ["config.json", "weights.safetensors"] {
        fs::copy(Path::new(MODEL).join(name), place.at("model").join(name)).unwrap();
    }
    for arguments in [
        "--out model/config.json",
        "--counts model/weights.safetensors",
        "--overlay model",
        "--overlay out --out out/000000.png",
        "--format yolo --out labels --counts labels/000000.txt",
        "--out found.json --counts found.json",
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        place.ended(
            &[&["detect", "model", "images"], &arguments[..]].concat(),
            2,
        );
    }
    place.ended(
        &[
            "detect",
            "model",
            "images",
            "--out",
            "out/found.json",
            "--overlay",
            "out",
        ],
        0,
    );
}

#[test]
fn a_shard_that_was_killed_is_done_again() {
    let place = Place::with_scenes(90);
    let detect = ["detect", MODEL, "images", "--format", "voc", "--out"];
    place.ended(&[&detect[..], &["whole"]].concat(), 0);
    for delay_ms in [50, 400, 900] {
        let out = format!("out-{delay_ms}");
        for shard in ["1/2", "2/2"] {
            let arguments = [&detect[..], &[&out, "--shard", shard]].concat();
            let mut killed = place.command(&arguments);
            let mut killed = killed.stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(delay_ms));
            killed.kill().unwrap();
            killed.wait().unwrap();
            place.ended(&arguments, 0);
        }
        let parts = [1, 2].map(|part| format!("{out}.shard-{part}-of-2"));
        place.ended(&["merge", &parts[0], &parts[1], "--out", &out], 0);
        let names = place.names("whole");
        assert_eq!(names, place.names(&out));
        for name in names {
            let bytes = |directory: &str| fs::read(place.at(directory).join(&name)).unwrap();
            assert!(bytes("whole") == bytes(&out), "{name}");
        }
    }
}
