//! Rules evaluate trials and hooks.

mod common;

use common::{recorded, saving_all, Folder};
use smdebug::{
    Action, Error, ErrorCode, Evaluation, Level, Mode, NewFinding, Profile, Result, RuleSet, RuleStatus, RuleStep,
    SaveConfig,
};
use std::ops::{Bound, ControlFlow};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const GRADIENT: &str = "gradient/layer1.weight";

fn vanishing() -> Vec<f64> {
    (0..60).map(|step| 0.5_f64.powi(step)).collect()
}

#[test]
fn a_built_in_rule_finds() {
    let folder = Folder::new("builtin");
    let trial = recorded(folder.join("run"), GRADIENT, &vanishing());
    let rules = RuleSet::new().unwrap();
    rules.add("VanishingGradient", &[("threshold", "1e-10"), ("patience", "1")], Action::Stop).unwrap();
    let found = rules.evaluate(&trial).unwrap();
    let first = &found[0];
    assert_eq!((&*first.rule, &*first.tensor, first.step), ("VanishingGradient", GRADIENT, 34));
    assert_eq!((first.action, first.level, first.mode), (Action::Stop, Level::Finding, Mode::Train));
    assert!(first.value < first.limit && first.limit == 1e-10);
    assert!(first.to_string().starts_with("VanishingGradient at step 34: "), "{first}");
    assert!(rules.evaluate(&trial).unwrap().is_empty(), "each step is evaluated once");
    let results = rules.results().unwrap();
    assert_eq!((results.len(), results[0].status), (1, RuleStatus::HasFindings));
    assert_eq!((results[0].finding_count, results[0].first.as_ref()), (found.len() as i64, Some(first)));
    rules.reset().unwrap();
    let stopping = Evaluation { stop_at_finding: true, follow: true, ..Evaluation::default() };
    let failed = rules.evaluate_with(&trial, 40.., stopping).unwrap_err();
    assert_eq!((failed.error.code(), failed.findings[0].step), (ErrorCode::RuleConditionMet, 40));
    assert_eq!(Error::from(failed).detail("step").as_deref(), Some("40"));
}

#[test]
fn all_rules_are_added() {
    for (profile, count) in [(Profile::Calibrated, 29), (Profile::Aws, 26), (Profile::Llm, 23)] {
        let rules = RuleSet::with_profile(profile).unwrap();
        rules.add_all(Action::Stop).unwrap();
        assert_eq!(rules.results().unwrap().len(), count, "{profile:?}");
    }
}

#[test]
fn what_is_wrong_with_a_rule_is_an_error() {
    let rules = RuleSet::with_profile(Profile::Aws).unwrap();
    let error = rules.add("VanishingGradiant", &[], Action::Warn).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("VanishingGradient"), "{error}");
    let error = rules.add("VanishingGradient", &[("treshold", "1")], Action::Warn).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidConfig);
}

#[test]
fn an_attached_set_stops_a_training() {
    let folder = Folder::new("attached");
    let hook = saving_all(folder.join("run")).open().unwrap();
    let rules = RuleSet::new().unwrap();
    rules.add("VanishingGradient", &[], Action::Stop).unwrap();
    hook.attach(&rules).unwrap();
    let mut gradient = 1.0;
    while hook.action() != Action::Stop {
        let step = hook.step(Mode::Train).unwrap();
        step.save(GRADIENT, &gradient).unwrap();
        step.end().unwrap();
        gradient /= 16.0;
    }
    let found = hook.take_findings().unwrap();
    assert_eq!((found[0].step, &*found[0].tensor), (13, GRADIENT));
    hook.close().unwrap();
}

#[test]
fn a_diagnosis_names_the_cause() {
    let folder = Folder::new("diagnosis");
    let mut values = vec![1.0; 40];
    values.resize(60, f64::NAN);
    let trial = recorded(folder.join("run"), "log_output_0", &values);
    let rules = RuleSet::new().unwrap();
    rules
        .add("NotFinite", &[], Action::Warn)
        .or_else(|_| rules.add("ExplodingTensor", &[], Action::Warn))
        .unwrap();
    rules.evaluate(&trial).unwrap();
    let causes = rules.diagnose().unwrap();
    assert!(!causes.is_empty());
    assert_eq!(causes[0].evidence[0].first.tensor, "log_output_0");
    assert!(causes[0].confidence > 0.0 && !causes[0].advice.is_empty());
}

fn rises() -> impl FnMut(&RuleStep<'_>) -> Result<ControlFlow<()>> + Send {
    let mut last = f64::INFINITY;
    move |step| {
        let loss = step.trial().tensor("loss")?.reduction(step.step(), "mean")?.to_f64()?;
        if loss > last {
            let message = "the loss rises";
            step.report(&NewFinding {
                tensor: "loss",
                message,
                value: loss,
                limit: last,
                ..NewFinding::default()
            })?;
        }
        last = loss;
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn a_function_is_a_rule() {
    let folder = Folder::new("function");
    let trial = recorded(folder.join("run"), "loss", &[4.0, 3.0, 2.0, 5.0, 6.0]);
    let rules = RuleSet::new().unwrap();
    rules.add_function("Rises", Action::Warn, rises()).unwrap();
    rules
        .add_function("Once", Action::Continue, |step| {
            step.report_message("here")?;
            Ok(ControlFlow::Break(()))
        })
        .unwrap();
    rules
        .add_function("Skips", Action::Stop, |step| step.trial().tensor("none")?.value(0).map(|_| unreachable!()))
        .unwrap();
    let found = rules.evaluate(&trial).unwrap();
    let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        ["Once at step 0: here", "Rises at step 3: the loss rises", "Rises at step 4: the loss rises"]
    );
    assert_eq!((found[1].value, found[1].limit, found[1].action), (5.0, 2.0, Action::Warn));
    let hook = saving_all(folder.join("other")).open().unwrap();
    assert!(hook.attach(&rules).is_err());
}

#[test]
fn a_function_that_fails_ends_the_evaluation() {
    let folder = Folder::new("failing");
    let trial = recorded(folder.join("run"), "loss", &[1.0, 2.0, 3.0]);
    let rules = RuleSet::new().unwrap();
    rules
        .add_function("Fails", Action::Stop, |step| {
            step.report_message("seen")?;
            if step.step() == 1 {
                return Err(Error::new(ErrorCode::CorruptData, "it is broken"));
            }
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    let failed = rules.evaluate(&trial).unwrap_err();
    assert_eq!((failed.error.code(), failed.to_string()), (ErrorCode::CorruptData, "it is broken".into()));
    assert!(!failed.findings.is_empty(), "what was found before is not lost");
}

#[test]
fn a_panic_continues_in_the_caller() {
    let folder = Folder::new("panic");
    let trial = recorded(folder.join("run"), "loss", &[1.0, 2.0]);
    let rules = RuleSet::new().unwrap();
    rules.add_function("Panics", Action::Stop, |_| panic!("of the rule")).unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| rules.evaluate(&trial))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"of the rule"));
    assert_eq!(trial.tensor("loss").unwrap().read::<f64>(1).unwrap(), [2.0], "the trial was only borrowed");
}

#[test]
fn a_panic_stays_with_the_thread_that_evaluates() {
    let folder = Folder::new("threads");
    let trial = recorded(folder.join("run"), "loss", &[1.0]);
    for _ in 0..50 {
        let rules = RuleSet::new().unwrap();
        let (has_begun, begins) = mpsc::channel();
        rules
            .add_function("Panics", Action::Warn, move |_| {
                has_begun.send(()).unwrap();
                thread::sleep(Duration::from_millis(1));
                panic!("of the rule")
            })
            .unwrap();
        thread::scope(|scope| {
            let evaluates = scope.spawn(|| catch_unwind(AssertUnwindSafe(|| rules.evaluate(&trial))));
            begins.recv().unwrap();
            // The set refuses this thread until the other one returns: one call overlaps the panic.
            while !evaluates.is_finished() {
                let refused = || rules.evaluate_with(&trial, 5..6, Evaluation::default());
                let other = catch_unwind(AssertUnwindSafe(refused)).expect("the panic is of the other thread");
                assert!(other.map_or_else(|failed| failed.error.code() == ErrorCode::WrongState, |_| true));
            }
            let panic = evaluates.join().unwrap().expect_err("the thread that evaluates panics");
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"of the rule"));
        });
    }
}

#[test]
fn a_panic_of_a_nested_evaluation_passes_through_both() {
    let folder = Folder::new("nested");
    let trial = recorded(folder.join("run"), "loss", &[1.0, 2.0]);
    let inner = RuleSet::new().unwrap();
    inner.add_function("Inner", Action::Warn, |_| panic!("of the inner rule")).unwrap();
    let outer = RuleSet::new().unwrap();
    outer
        .add_function("Outer", Action::Warn, move |step| {
            inner.evaluate(step.trial())?;
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| outer.evaluate(&trial))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"of the inner rule"));
}

#[test]
fn an_empty_range_evaluates_nothing() {
    let folder = Folder::new("ranges");
    let trial = recorded(folder.join("run"), "loss", &[1.0; 5]);
    let rules = RuleSet::new().unwrap();
    let every = |step: &RuleStep<'_>| step.report_message("seen").map(|()| ControlFlow::Continue(()));
    rules.add_function("Every", Action::Continue, every).unwrap();
    let count = |steps: (Bound<i64>, Bound<i64>)| {
        rules.reset().unwrap();
        rules.evaluate_with(&trial, steps, Evaluation::default()).unwrap().len()
    };
    let range = |first, end| (Bound::Included(first), Bound::Excluded(end));
    for (first, end) in [(0, -1), (0, 0), (2, 1), (-5, -2), (0, i64::MIN), (3, -1)] {
        assert_eq!(count(range(first, end)), 0, "{first}..{end}");
    }
    assert_eq!(count((Bound::Unbounded, Bound::Included(-2))), 0);
    assert_eq!((count(range(-5, 2)), count(range(1, 3)), count((Bound::Unbounded, Bound::Unbounded))), (2, 2, 5));
}

#[test]
fn a_save_config_selects_steps() {
    let folder = Folder::new("selected");
    let trial = recorded(folder.join("run"), "loss", &[1.0; 10]);
    let rules = RuleSet::new().unwrap();
    let every = |step: &RuleStep<'_>| step.report_message("seen").map(|()| ControlFlow::Continue(()));
    rules.add_function("Every", Action::Continue, every).unwrap();
    rules.set_save_config(&SaveConfig::every(4)).unwrap();
    let found = rules.evaluate(&trial).unwrap();
    assert_eq!(found.iter().map(|each| each.step).collect::<Vec<_>>(), [0, 4, 8]);
}
