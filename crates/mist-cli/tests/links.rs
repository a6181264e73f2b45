//! What documents link to exists.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            documents(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

/// Targets of Markdown links and of pictures in HTML.
fn links(text: &str) -> Vec<&str> {
    let after = |start: &'static str, end: char| {
        let rest = text.split(start).skip(1);
        rest.filter_map(move |rest| rest.split(end).next())
    };
    after("](", ')').chain(after("src=\"", '"')).collect()
}

#[test]
fn links_of_documents_lead_somewhere() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<PathBuf> = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ]
    .map(|name| root.join(name))
    .to_vec();
    documents(&root.join("docs"), &mut files);
    documents(&root.join("models"), &mut files);
    assert!(files.len() > 15, "only {} documents", files.len());
    let mut checked = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for link in links(&text) {
            let path = link.split('#').next().unwrap();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            let target = file.parent().unwrap().join(path);
            assert!(target.exists(), "{} links to {link}", file.display());
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} links");
}
