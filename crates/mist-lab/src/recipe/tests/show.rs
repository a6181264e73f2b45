//! The source of each setting.

use super::*;

fn line<'a>(text: &'a str, section: &str, key: &str) -> &'a str {
    let start = text.find(&format!("[{section}]")).unwrap();
    let mut lines = text[start..].lines();
    lines.find(|line| line.starts_with(key)).unwrap()
}

#[test]
fn each_setting_has_its_source_behind_it() {
    let settings = ["model.softmax.strength=4.0".to_owned()];
    let resolved = Resolved::load("mnist-k3to9", &settings).unwrap();
    let text = resolved.to_commented_toml().unwrap();
    assert!(text.starts_with("# mnist-k3to9 extends mnist-k9 extends mnist-hard-classify\n"));
    let ends = |section: &str, key: &str, end: &str| {
        let line = line(&text, section, key);
        assert!(line.ends_with(end), "{line}");
    };
    assert!(text.contains("steps = 3000"));
    ends("model.extractor", "instances = 6 ", " # mnist-k3to9");
    ends(
        "model.extractor",
        "nms_window_px = 25 ",
        " # mnist-hard-classify",
    );
    ends("model.extractor", "suppression", " # mnist-hard-classify");
    ends("model.softmax", "window_px", " # default");
    ends("model.softmax", "strength = 4.0 ", " # --set");
    ends("every", "log", " # default");
    ends(
        "optimiser.task",
        "ema_decay = 0.99 ",
        " # mnist-hard-classify",
    );
}

#[test]
fn what_is_shown_is_a_recipe() {
    for name in names() {
        let resolved = Resolved::load(name, &[]).unwrap();
        let shown = resolved.to_commented_toml().unwrap();
        let values = shown.lines().filter(|line| line.contains(" = "));
        assert!(values.clone().count() > 40);
        assert!(values.clone().all(|line| line.contains(" # ")));
        assert_eq!(Recipe::from_resolved(&shown).unwrap(), resolved.recipe);
    }
}

#[cfg(unix)]
#[test]
fn a_file_s_name_cannot_end_the_comment() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("two\nlines.toml");
    let text = "extends = \"glyphs-demo\"\nexperiment = \"own\"\n";
    std::fs::write(&path, text).unwrap();
    let resolved = Resolved::load(path.to_str().unwrap(), &[]).unwrap();
    let shown = resolved.to_commented_toml().unwrap();
    assert_eq!(Recipe::from_resolved(&shown).unwrap(), resolved.recipe);
}
