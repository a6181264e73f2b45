//! The tables of the README and of the documents are those that the result files give.
//!
//! `UPDATE_README=1 cargo test --release -p mist-cli --test readme_table` writes them anew.

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

/// A file's text between two marks of a name is what is expected, or becomes it.
fn compare(file: &str, name: &str, expected: &str) {
    let path = root().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let begin = format!("<!-- {name}: begin -->\n");
    let end = format!("<!-- {name}: end -->");
    let from = text.find(&begin).expect("the file has no such table") + begin.len();
    let to = text.find(&end).unwrap();
    if std::env::var_os("UPDATE_README").is_some() {
        let updated = format!("{}{expected}{}", &text[..from], &text[to..]);
        std::fs::write(&path, updated).unwrap();
        return;
    }
    assert_eq!(&text[from..to], expected, "run with UPDATE_README=1");
}

fn recorded(work: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_mist"))
        .args(["reproduce", work, "--recorded"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// One test, since both tables are written into one file.
#[test]
fn the_readme_shows_the_recorded_figures() {
    let result = std::fs::read_to_string(root().join(RESULT)).unwrap();
    let speeds = table(&serde_json::from_str(&result).unwrap());
    compare("README.md", "speed", &speeds);
    compare("README.md", "results", &recorded("tables"));
}

#[test]
fn the_ablations_are_those_recorded() {
    compare("docs/ablations.md", "ablations", &recorded("ablations"));
}

#[test]
fn the_controls_are_those_recorded() {
    compare("docs/from-nothing.md", "controls", &recorded("controls"));
}

/// A line for every recorded experiment that has a recipe of its own, with links to what there is.
fn index() -> String {
    let names = std::fs::read_dir(root().join("results")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    let mut rows =
        String::from("| recipe | result | detections | convergence |\n|---|---|---|---|\n");
    for name in names {
        let (experiment, _) = name.split_once(".seed").unwrap_or((&name, ""));
        let recipe = format!("configs/{experiment}.toml");
        if !root().join(&recipe).is_file() {
            continue;
        }
        let link = |text: &str, path: String| match root().join(&path).is_file() {
            true => format!("[{text}](../{path})"),
            false => "-".to_owned(),
        };
        rows += &format!(
            "| {} | {} | {} | {} |\n",
            link(experiment, recipe),
            link("json", format!("results/{name}.json")),
            link("sheet", format!("docs/images/{experiment}.png")),
            link("curves", format!("docs/images/convergence-{name}.svg")),
        );
    }
    rows
}

#[test]
fn every_recorded_experiment_is_listed() {
    compare("docs/results.md", "index", &index());
}
