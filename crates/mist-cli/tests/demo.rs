//! `mist demo coins`: one photograph, from nothing to an overlay.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../mist-data/tests/skipped/mod.rs"]
mod skipped;

use std::fs;
use std::path::Path;
use std::process::Command;

use mist_data::{DecodeLimits, PackagedImages, read_image};
use serde_json::Value;

const COINS: usize = 24;

#[test]
fn the_photograph_is_learned_and_shown_with_its_coins() {
    // The command would fetch it; a test asks for no network.
    let Some(folder) = PackagedImages::Coins.locate(None) else {
        let why = "coins was not found; run `mist data fetch coins`";
        skipped::skip("the_photograph_is_learned_and_shown_with_its_coins", why);
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut demo = Command::new(env!("CARGO_BIN_EXE_mist"));
    demo.args(["demo", "coins", "--out"]).arg(&run);
    for setting in ["steps=2", "batch=2"] {
        demo.args(["--set", setting]);
    }
    let output = demo.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let limits = DecodeLimits::default();
    let overlay = read_image(Path::new(printed.trim_end()), limits).unwrap();
    let photograph = read_image(&folder.join("coins.png"), limits).unwrap();
    assert!(overlay.width_px >= photograph.width_px && overlay.channels == 3);
    let found = fs::read(run.join("detections.json")).unwrap();
    let found: Value = serde_json::from_slice(&found).unwrap();
    let boxes = found[0]["detections"].as_array().unwrap();
    assert!(!boxes.is_empty() && boxes.len() <= COINS, "{found}");
}
