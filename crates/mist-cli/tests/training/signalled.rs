//! Signals end a training that saves first, unless they come twice.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::{TINY, checkpoint, code, send, train, wait_for_lines};

#[test]
fn signals_save_and_tell_the_shell() {
    for (signal, expected) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let mut child = train(&run, &["steps=100000"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for_lines(&run, 2);
        send(signal, &child);
        assert_eq!(code(child.wait().unwrap()), Some(expected));
        assert!(checkpoint(&run).exists());
    }
}

#[test]
fn a_second_signal_ends_a_training_in_the_middle_of_a_step() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut child = train(&run, &["batch=400", "model.detector.channels=32"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !run.join("log.jsonl").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        sleep(Duration::from_millis(5));
    }
    let status = loop {
        // Signals that come too quickly count as one.
        send("INT", &child);
        sleep(Duration::from_millis(50));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(code(status), Some(130));
    assert!(!checkpoint(&run).exists(), "it finished the step");
}

/// As `nohup` starts it.
#[test]
fn a_training_that_ignores_the_end_of_its_terminal_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut command = Command::new("bash");
    let script = "trap '' HUP; exec \"$0\" train glyphs-demo -q \"$@\"";
    command.args(["-c", script, env!("CARGO_BIN_EXE_mist"), "--out"]);
    command.arg(&run);
    for setting in TINY.iter().chain(&["steps=100000"]) {
        command.args(["--set", setting]);
    }
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_lines(&run, 2);
    send("HUP", &child);
    let lines = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    wait_for_lines(&run, lines.lines().count() + 3);
    send("TERM", &child);
    assert_eq!(code(child.wait().unwrap()), Some(143));
}
