//! One training shared by ranks that are threads.

use std::thread;

use mist::ranks::ThreadCommunicator;

use super::*;
use crate::Fault;

const SETTINGS: [&str; 9] = [
    "dataset=glyphs",
    "steps=6",
    "batch=8",
    "every={ log = 2, checkpoint = 3, sample = 6, validation = 6 }",
    "method.lifted.exploration.release.plateau_steps=1",
    "model.detector={ channels = 4, blocks = 1 }",
    "model.geometry.patch_px=4",
    "model.task.classifier.encoder={ base_channels = 4, levels = 2, blocks_per_level = 1 }",
    "method.lifted.proposals.steps=0",
];

fn recipe(changes: &[&str]) -> Recipe {
    let settings = SETTINGS.iter().chain(changes);
    let settings: Vec<String> = settings.map(|setting| (*setting).to_owned()).collect();
    Recipe::load("mnist-hard-classify", &settings).unwrap()
}

/// How each rank ended that trains `run`; `recipes` are those that ranks 1, 2 and so on were told.
fn ends(
    run: &RunDirectory,
    recipes: &[Option<Recipe>],
    signal_of: impl Fn(usize) -> Option<i32> + Sync,
) -> Vec<Result<End>> {
    let group = ThreadCommunicator::group(recipes.len() + 1);
    let signal_of = &signal_of;
    thread::scope(|scope| {
        let ranks: Vec<_> = group
            .into_iter()
            .enumerate()
            .map(|(rank, communicator)| {
                scope.spawn(move || {
                    let stop = || signal_of(rank);
                    let mut options = options(&stop);
                    options.communicator = Arc::new(communicator);
                    let ended = match rank.checked_sub(1) {
                        None => train(run, &options, &mut Silent),
                        Some(other) => join(recipes[other].as_ref(), &options, &mut Silent),
                    };
                    tell_ranks(ended, &options.communicator)
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn create(recipe: &Recipe, out: &Path) -> RunDirectory {
    create_run(recipe, Some(out), &options(&|| None)).unwrap()
}

fn weights(run: &RunDirectory) -> Vec<u8> {
    fs::read(run.weights().join("last.safetensors")).unwrap()
}

#[test]
fn any_number_of_ranks_learns_the_same_and_goes_on_with_another_number() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let recipe = recipe(&[]);
    let whole = create(&recipe, &at("whole"));
    train(&whole, &options(&|| None), &mut Silent).unwrap();

    let shared = create(&recipe, &at("shared"));
    // Rank 2 alone is told to stop: all do, and save.
    let others = vec![Some(recipe.clone()); 3];
    for ended in ends(&shared, &others, |rank| (rank == 2).then_some(15)) {
        assert!(matches!(ended, Err(Error::Interrupted(15))), "{ended:?}");
    }
    for ended in ends(&shared, &[None], |_| None) {
        assert_eq!(ended.unwrap(), End::Done);
    }
    assert!(weights(&shared) == weights(&whole));

    let lines = fs::read_to_string(shared.metrics()).unwrap();
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert!(
        last["comm_bytes"].as_f64().unwrap() > 1000.0 && last["comm_ms"].as_f64().unwrap() > 0.0
    );
    assert!(
        !fs::read_to_string(whole.metrics())
            .unwrap()
            .contains("comm_")
    );
}

#[test]
fn ranks_that_were_told_other_things_do_not_start() {
    let directory = tempfile::tempdir().unwrap();
    let run = create(&recipe(&[]), &directory.path().join("run"));
    let ended = ends(&run, &[Some(recipe(&["seed=9"]))], |_| None);
    for ended in ended {
        let error = ended.unwrap_err();
        assert_eq!(error.fault(), Fault::Usage);
        assert!(
            error.to_string().contains("rank 1 cannot take part"),
            "{error}"
        );
        assert!(error.to_string().contains("seed = 9"), "{error}");
    }
    assert!(!run.checkpoints().exist());
    let odd = create(&recipe(&["batch=6"]), &directory.path().join("odd"));
    for ended in ends(&odd, &[None, None, None], |_| None) {
        assert_eq!(ended.unwrap_err().fault(), Fault::Usage);
    }
}

#[test]
fn what_stops_rank_0_stops_all_for_the_same_reason() {
    let directory = tempfile::tempdir().unwrap();
    let run = create(&recipe(&[]), &directory.path().join("run"));
    // The sample of step 6 has no place.
    fs::remove_dir(run.samples()).unwrap();
    fs::write(run.samples(), b"").unwrap();
    let ended = ends(&run, &[None], |_| None);
    let faults: Vec<Fault> = ended.into_iter().map(|e| e.unwrap_err().fault()).collect();
    assert_eq!(faults, [Fault::Input; 2]);
}

#[test]
fn a_training_that_diverges_ends_for_all() {
    let directory = tempfile::tempdir().unwrap();
    let diverging = recipe(&["optimiser.task.adam.learning_rate=1e30"]);
    let run = create(&diverging, &directory.path().join("run"));
    for ended in ends(&run, &[None], |_| None) {
        assert_eq!(ended.unwrap_err().fault(), Fault::Diverged);
    }
    assert!(
        fs::read_to_string(run.root().join("log.jsonl"))
            .unwrap()
            .contains("diverged")
    );
}
