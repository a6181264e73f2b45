//! Two trainings never write into one run.

use std::process::Stdio;

use super::{TINY, checkpoint, code, done, message, mist, resume, train, wait_for_lines};

#[test]
fn a_run_is_trained_by_one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut first = train(&run, &["steps=100000"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_lines(&run, 4);
    let second = resume(&run).output().unwrap();
    let again = train(&run, &[]).output().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    for refused in [&second, &again] {
        assert_eq!(code(refused.status), Some(2), "{}", message(refused));
    }
    let told = message(&second);
    assert!(told.contains("another process"), "{told}");
    assert!(told.contains(run.to_str().unwrap()), "{told}");
    assert!(checkpoint(&run).exists());
    // What was killed holds no lock.
    done(resume(&run).args(["--budget", "0s"]));
}

#[test]
fn starts_at_once_get_runs_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let start = || {
        let mut command = mist();
        command.args(["train", "glyphs-demo", "-q"]);
        for setting in TINY.iter().chain(&["steps=1"]) {
            command.args(["--set", setting]);
        }
        command.current_dir(directory.path()).stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    let children = [start(), start()];
    let mut runs = children.map(|child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    });
    runs.sort();
    assert_eq!(runs, ["runs/glyphs-demo/1\n", "runs/glyphs-demo/2\n"]);
}
