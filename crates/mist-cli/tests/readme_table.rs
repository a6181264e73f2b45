//! The README's table of speeds is the one that the result file gives.
//!
//! `UPDATE_README=1 cargo test --release -p mist-cli --test readme_table` writes it anew.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use serde_json::Value;

const RESULT: &str = "results/bench-avx512.json";
const BEGIN: &str = "<!-- speed: begin -->\n";
const END: &str = "<!-- speed: end -->";

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

#[test]
fn the_readme_shows_the_recorded_figures() {
    let result = std::fs::read_to_string(root().join(RESULT)).unwrap();
    let expected = table(&serde_json::from_str(&result).unwrap());
    let path = root().join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let begin = readme
        .find(BEGIN)
        .expect("the README has no table of speeds")
        + BEGIN.len();
    let end = readme.find(END).unwrap();
    if std::env::var_os("UPDATE_README").is_some() {
        let updated = format!("{}{expected}{}", &readme[..begin], &readme[end..]);
        std::fs::write(&path, updated).unwrap();
        return;
    }
    assert_eq!(&readme[begin..end], expected, "run with UPDATE_README=1");
}
