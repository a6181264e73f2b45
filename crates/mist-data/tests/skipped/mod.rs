//! Tests that cannot run, told to whoever counts them.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;

/// Says that a test is skipped, and why; fails it instead if `MIST_REQUIRE_DATA` is 1.
///
/// The harness keeps what a passing test prints to itself, so that the line also goes to the end of
/// the file that `$MIST_SKIPPED` names.
pub fn skip(test: &str, why: &str) {
    let required = env::var_os("MIST_REQUIRE_DATA").is_some_and(|value| value == "1");
    assert!(!required, "{why}");
    println!("skipped: {why}");
    if let Some(path) = env::var_os("MIST_SKIPPED").filter(|value| !value.is_empty()) {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        let line = format!("{test}: {}\n", why.replace('\n', " "));
        // One write, as tests of other programs append at the same time.
        file.write_all(line.as_bytes()).unwrap();
    }
}
