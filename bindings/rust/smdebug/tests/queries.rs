//! What a trial answers about steps, names and collections, and the library about its rules.

mod common;

use common::{open, saving_all, Folder};
use smdebug::{
    builtin_rules, Collection, ErrorCode, Hook, Mode, NameFilter, ReductionConfig, SaveConfig, Steps, Trial,
};

/// A trial of training steps 0 to 2, and an evaluation after the first of them.
fn two_modes(folder: &Folder) -> Trial {
    let hook = saving_all(folder.join("run")).open().unwrap();
    for (number, mode) in [Mode::Train, Mode::Eval, Mode::Train, Mode::Train].into_iter().enumerate() {
        let step = hook.step(mode).unwrap();
        step.save("z/loss", &1.0).unwrap();
        if number == 2 {
            step.save("layer.weight", &[1.0_f32, 2.0]).unwrap();
        }
        if mode == Mode::Eval {
            step.save("accuracy", &0.5).unwrap();
        }
        step.end().unwrap();
    }
    assert_eq!((hook.last_step(Mode::Global), hook.last_step(Mode::Train)), (Some(3), Some(2)));
    assert_eq!((hook.last_step(Mode::Eval), hook.last_step(Mode::Predict)), (Some(0), None));
    hook.close().unwrap();
    open(folder.join("run"))
}

#[test]
fn steps_of_modes_have_global_numbers() {
    let folder = Folder::new("modes");
    let trial = two_modes(&folder);
    assert_eq!(trial.mode_step(1).unwrap(), Some((0, Mode::Eval)));
    assert_eq!(trial.mode_step(3).unwrap(), Some((2, Mode::Train)));
    assert_eq!(trial.mode_step(9).unwrap(), None);
    assert_eq!(trial.global_step(2, Mode::Train).unwrap(), Some(3));
    assert_eq!(trial.global_step(1, Mode::Eval).unwrap(), None);
    assert_eq!(trial.last_complete_step(), Some(3));
    let loss = trial.tensor("z/loss").unwrap();
    assert_eq!(loss.prev_steps((5, Mode::Train), 2).unwrap(), [1, 2]);
    assert_eq!(loss.prev_steps(2, usize::MAX).unwrap(), [0, 1, 2]);
    assert!(loss.prev_steps(2, 0).unwrap().is_empty());
}

#[test]
fn names_are_selected_by_step_mode_and_collection() {
    let folder = Folder::new("names");
    let trial = two_modes(&folder);
    let names = |filter: NameFilter<'_>| trial.tensor_names_with(&filter).unwrap();
    assert_eq!(names(NameFilter::new()), ["accuracy", "layer.weight", "z/loss"]);
    assert_eq!(names(NameFilter::new().at(2)), ["layer.weight", "z/loss"]);
    assert_eq!(names(NameFilter::new().at((0, Mode::Train))), ["z/loss"]);
    assert!(names(NameFilter::new().at(-1)).is_empty() && names(NameFilter::new().at(9)).is_empty());
    assert_eq!(names(NameFilter::new().mode(Mode::Eval)), ["accuracy", "z/loss"]);
    assert_eq!(names(NameFilter::new().collection("weights")), ["layer.weight"]);
    assert!(names(NameFilter::new().at(0).collection("weights")).is_empty());
    assert_eq!(names(NameFilter::new().at(1).matching(&["^acc", "none"])), ["accuracy"]);
    assert_eq!(trial.recorded_names(2).unwrap(), ["z/loss", "layer.weight"]);
    let code = |filter: NameFilter<'_>| trial.tensor_names_with(&filter).unwrap_err().code();
    assert_eq!(code(NameFilter::new().collection("none")), ErrorCode::NotFound);
    assert_eq!(code(NameFilter::new().collection("weights").matching(&["a"])), ErrorCode::InvalidArgument);
}

#[test]
fn a_worker_is_refused_where_it_would_be_ignored() {
    let folder = Folder::new("ignored");
    let trial = two_modes(&folder);
    let error = trial.step_state((0, Mode::Train, "worker_1")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the worker \"worker_1\" is given for step 0, but the call is for all workers; leave it out"
    );
    let at = (0, Mode::Train, "worker_0");
    let loss = trial.tensor("z/loss").unwrap();
    let codes = [
        trial.wait_for_step(at, None).unwrap_err().code(),
        trial.tensor_names_with(&NameFilter::new().at(at)).unwrap_err().code(),
        trial.recorded_names(at).unwrap_err().code(),
        loss.workers(at).unwrap_err().code(),
        loss.prev_steps(at, 1).unwrap_err().code(),
    ];
    assert_eq!(codes, [ErrorCode::InvalidArgument; 5]);
}

#[test]
fn collections_come_back() {
    let folder = Folder::new("collections");
    let path = folder.join("run");
    let steps = SaveConfig::default()
        .mode(Mode::Train, Steps { also: vec![1], ..Steps::every(10) })
        .mode(Mode::Eval, Steps { end: Some(5), ..Steps::every(2) });
    let outputs = Collection::new("outputs")
        .include_regex("^output/")
        .save_config(steps.clone())
        .reduction_config(ReductionConfig::new(["mean", "abs_max"]).shape(true))
        .save_histogram(false);
    let hook = Hook::options(&path)
        .collection(outputs.clone())
        .include_collections(["outputs"])
        .save_config(SaveConfig::every(10))
        .open()
        .unwrap();
    assert_eq!(hook.collection("outputs").unwrap(), outputs);
    hook.add_collection(&Collection::new("late").add_tensor("x").save_config(SaveConfig::every(3))).unwrap();
    assert_eq!(hook.collection("late").unwrap().own_save_config(), Some(&SaveConfig::every(3)));
    assert!(hook.collections().unwrap().contains(&"late".to_owned()));
    assert_eq!(hook.collection("weights").unwrap().own_save_config(), None);
    assert_eq!(hook.collection("none").unwrap_err().code(), ErrorCode::NotFound);
    for number in 0..5 {
        let step = hook.step(Mode::Train).unwrap();
        assert_eq!(step.saves_step(), number < 2, "at step {number}");
        if number == 3 {
            step.add_to_step(&["outputs"]).unwrap();
            assert!(step.saves_step());
        }
        step.save("output/a", &[1.0_f32, 3.0]).unwrap();
        step.end().unwrap();
    }
    hook.close().unwrap();
    let trial = open(&path);
    assert_eq!(trial.steps(Mode::Train).unwrap(), [0, 1, 3]);
    let read = trial.collection("outputs").unwrap();
    assert_eq!(
        (read.name(), read.regexes(), read.tensors()),
        ("outputs", outputs.regexes(), &["output/a".into()][..])
    );
    let saved = read.own_save_config().unwrap();
    assert_eq!(
        (saved.steps(Mode::Train), saved.steps(Mode::Eval)),
        (steps.steps(Mode::Train), steps.steps(Mode::Eval))
    );
    assert_eq!((saved.steps(Mode::Predict), read.saves_histogram()), (Some(&Steps::every(10)), false));
    let reductions = read.own_reduction_config().unwrap();
    assert_eq!(reductions.reductions(), ["mean", "abs_max"]);
    assert!(reductions.saves_shape() && !reductions.saves_raw());
    assert_eq!(trial.collection("none").unwrap_err().code(), ErrorCode::NotFound);
}

#[test]
fn built_in_rules_are_listed() {
    let rules = builtin_rules().unwrap();
    let vanishing = rules.iter().find(|rule| rule.name == "VanishingGradient").unwrap();
    assert!(!vanishing.summary.is_empty() && vanishing.set.is_empty());
    let threshold = vanishing.parameters.iter().find(|each| each.name == "threshold").unwrap();
    assert_eq!((threshold.aws, threshold.meaning.is_empty()), ("1e-7", false));
    assert!(rules.iter().any(|rule| rule.set == "llm"));
}
