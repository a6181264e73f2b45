//! The README's tables are those that the result files give.
//!
//! `UPDATE_README=1 cargo test --release -p mist-cli --test readme_table` writes it anew.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

const RESULT: &str = "results/bench-avx512.json";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn table(result: &Value) -> String {
    let number = |value: &Value| value.as_f64().unwrap();
    let mut rows = String::from(
        "| workload | ours | PyTorch | its best setting | ratio |\n|---|---|---|---|---|\n",
    );
    for name in [
        "train_step",
        "detector_fwd",
        "detector_fwdbwd",
        "classifier_fwd",
        "classifier_fwdbwd",
        "detect",
    ] {
        let row = &result["workloads"][name];
        rows += &format!(
            "| `{name}` | {:.0} ms | {:.0} ms | {} | {:.2} |\n",
            number(&row["ours_ms"]),
            number(&row["peer_ms"]),
            row["peer_setting"].as_str().unwrap(),
            number(&row["ratio"])
        );
    }
    let memory = &result["memory"];
    rows + &format!(
        "| peak memory of `train_step` | {:.0} MB | {:.0} MB ({:.0} MB of it libraries) | | {:.2} |\n",
        number(&memory["ours_mb"]),
        number(&memory["peer_mb"]),
        number(&memory["peer_base_mb"]),
        number(&memory["peer_mb"]) / number(&memory["ours_mb"])
    )
}

/// The README's text between two marks is what is expected, or becomes it.
fn compare(begin: &str, end: &str, expected: &str) {
    let path = root().join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let from = readme.find(begin).expect("the README has no such table") + begin.len();
    let to = readme.find(end).unwrap();
    if std::env::var_os("UPDATE_README").is_some() {
        let updated = format!("{}{expected}{}", &readme[..from], &readme[to..]);
        std::fs::write(&path, updated).unwrap();
        return;
    }
    assert_eq!(&readme[from..to], expected, "run with UPDATE_README=1");
}

/// One test, since both tables are written into one file.
#[test]
fn the_readme_shows_the_recorded_figures() {
    let result = std::fs::read_to_string(root().join(RESULT)).unwrap();
    let speeds = table(&serde_json::from_str(&result).unwrap());
    compare("<!-- speed: begin -->\n", "<!-- speed: end -->", &speeds);

    let output = Command::new(env!("CARGO_BIN_EXE_mist"))
        .args(["reproduce", "tables", "--recorded"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success());
    let results = String::from_utf8(output.stdout).unwrap();
    compare(
        "<!-- results: begin -->\n",
        "<!-- results: end -->",
        &results,
    );
}
