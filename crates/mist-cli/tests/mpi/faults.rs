//! One rank fails: all end soon, the message names it, and the training goes on from its last checkpoint.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::launch::{
    carrier, done, launch, lines, message, mpirun, process_of, ranks, settings, signal, single,
    wait_for_end, wait_for_lines, weights, words,
};

/// How often the killing test kills; `MIST_KILLS=20` is the long form.
fn kills() -> u64 {
    let asked = std::env::var("MIST_KILLS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// Numbers that differ from one another and are the same every time.
fn scattered(index: u64) -> u64 {
    index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33
}

/// Does something to a rank after `steps` more steps and waits for the end of all.
fn struck(command: &mut Command, out: &Path, rank: usize, steps: usize, blow: &str) -> Output {
    let before = lines(out);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_lines(out, before + steps);
    if let Some(process) = process_of(rank, out) {
        signal(blow, process);
    }
    let output = child.wait_with_output().unwrap();
    wait_for_end(out);
    output
}

#[test]
fn ranks_that_are_killed_cost_nothing() {
    let Some(carrier) = carrier("ranks_that_are_killed_cost_nothing") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let [whole, run] = ["whole", "run"].map(|name| directory.path().join(name));
    done(&mut single(&whole, &settings(&[])));
    let mut struck_down = 0;
    for kill in 0..kills() {
        // Some kills strike a training that is resumed by another number of ranks.
        let size = [2, 4][kill as usize % 2];
        let rank = scattered(kill) as usize % size;
        if kill % 3 == 0 && run.exists() {
            fs::remove_dir_all(&run).unwrap();
        }
        let more = match run.exists() {
            true => vec!["--resume".to_owned()],
            false => settings(&[]),
        };
        let steps = 1 + scattered(kill + 100) as usize % 6;
        let mut command = launch(&carrier, &[ranks(size, &run, &more)]);
        let output = struck(&mut command, &run, rank, steps, "KILL");
        let told = message(&output);
        if output.status.success() {
            fs::remove_dir_all(&run).unwrap();
            continue;
        }
        assert!(told.contains(&format!("rank {rank}")), "{told}");
        struck_down += 1;
        let resumed = run.with_extension("resumed");
        let _ = fs::remove_dir_all(&resumed);
        let copied = Command::new("cp").arg("-r").args([&run, &resumed]).status();
        assert!(copied.unwrap().success());
        let more = ["--resume".to_owned()];
        match kill % 2 {
            0 => done(&mut launch(&carrier, &[ranks(2, &resumed, &more)])),
            _ => done(&mut single(&resumed, &more)),
        };
        assert!(
            weights(&resumed) == weights(&whole),
            "kill {kill} of rank {rank} after {steps} steps"
        );
    }
    assert!(struck_down * 2 > kills(), "{struck_down}");
    println!(
        "{struck_down} of {} kills struck; all resumed to the same weights",
        kills()
    );
}

#[test]
fn a_rank_that_hangs_is_named_and_ends_the_job() {
    let Some(carrier) = carrier("a_rank_that_hangs_is_named_and_ends_the_job") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let [whole, run] = ["whole", "run"].map(|name| directory.path().join(name));
    done(&mut single(&whole, &settings(&[])));
    let mut command = launch(&carrier, &[ranks(2, &run, &settings(&[]))]);
    let output = struck(&mut command, &run, 1, 5, "STOP");
    assert!(!output.status.success());
    assert!(message(&output).contains("rank 1"), "{}", message(&output));
    done(&mut single(&run, &["--resume".to_owned()]));
    assert!(weights(&run) == weights(&whole));
}

#[test]
fn a_loss_that_is_not_finite_stops_all() {
    let Some(carrier) = carrier("a_loss_that_is_not_finite_stops_all") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let diverging = settings(&["optimiser.task.adam.learning_rate=1e30"]);
    let output = launch(&carrier, &[ranks(2, &run, &diverging)])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", message(&output));
}

/// A limit on file sizes stands for a full disk.
#[test]
fn a_full_disk_of_rank_0_stops_all() {
    let Some(carrier) = carrier("a_full_disk_of_rank_0_stops_all") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    done(&mut single(&run, &settings(&["steps=3"])));
    let checkpoint = run.join("checkpoints/last.ckpt");
    let good = fs::read(&checkpoint).unwrap();
    let config = run.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("steps = 3\n", "steps = 6\n")).unwrap();
    let kilobytes = good.len() / 1024 / 2;
    let script = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"");
    let resumed = words(&run, &["--resume".to_owned()]);
    let mut command = mpirun(&carrier);
    command.args(["-n", "1", "bash", "-c", &script, env!("CARGO_BIN_EXE_mist")]);
    command
        .args(&resumed)
        .args([":", "-n", "1", env!("CARGO_BIN_EXE_mist")]);
    let output = command.args(&resumed).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", message(&output));
    assert_eq!(fs::read(&checkpoint).unwrap(), good);
}
