//! Iterators that follow a job, and trials that stand still.

mod common;

use common::{open, recorded, saving_all, Folder};
use smdebug::{
    Action, Error, ErrorCode, Evaluation, Hook, Mode, NewFinding, RuleSet, RuleStep, SaveConfig, Trial,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Records steps with a pause before each, and ends the trial.
fn record_slowly(hook: &Hook, losses: &[f64]) {
    for loss in losses {
        thread::sleep(Duration::from_millis(20));
        let step = hook.step(Mode::Train).unwrap();
        step.save("loss", loss).unwrap();
        step.end().unwrap();
    }
    hook.close().unwrap();
}

/// Opens a trial that a job records.
fn open_running(path: &Path) -> Trial {
    Trial::options().set("wait_seconds", "60").set("end_delay_seconds", "0").open(path).unwrap()
}

#[test]
fn steps_are_followed_to_the_end_of_the_job() {
    let folder = Folder::new("follow");
    let path = folder.join("run");
    let hook = saving_all(&path).open().unwrap();
    let steps = thread::scope(|scope| {
        scope.spawn(|| record_slowly(&hook, &[1.0; 10]));
        let trial = open_running(&path);
        trial.follow(.., Mode::Train).collect::<smdebug::Result<Vec<i64>>>().unwrap()
    });
    assert_eq!(steps, (0..10).collect::<Vec<_>>());
    let trial = open(&path);
    let follow = |first, end| trial.follow(first..end, Mode::Global).map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(follow(3, 5), [3, 4]);
    assert_eq!(follow(-5, 2), [0, 1]);
    assert!(follow(0, -1).is_empty() && follow(20, 30).is_empty());
    assert_eq!(trial.follow(8..=8, Mode::Train).map(Result::unwrap).collect::<Vec<_>>(), [8]);
}

#[test]
fn steps_that_were_not_saved_are_passed() {
    let folder = Folder::new("gaps");
    let path = folder.join("run");
    let hook = Hook::options(&path).save_all().save_config(SaveConfig::every(300)).open().unwrap();
    for number in 0..1000 {
        let step = hook.step(Mode::Train).unwrap();
        if step.saves_step() {
            step.save("loss", &f64::from(number)).unwrap();
        }
        step.end().unwrap();
    }
    hook.close().unwrap();
    let trial = open(&path);
    let mut follow = trial.follow(.., Mode::Train);
    assert_eq!(follow.by_ref().map(Result::unwrap).collect::<Vec<_>>(), [0, 300, 600, 900]);
    assert!(follow.next().is_none());
    assert!(trial.follow(1..300, Mode::Train).next().is_none());
}

#[test]
fn cancel_ends_what_follows() {
    let folder = Folder::new("cancelled");
    let path = folder.join("run");
    let hook = saving_all(&path).open().unwrap();
    let step = hook.step(Mode::Train).unwrap();
    step.save("loss", &1.0).unwrap();
    step.end().unwrap();
    hook.flush(Some(Duration::from_secs(20))).unwrap();
    let trial = open_running(&path);
    let rules = RuleSet::new().unwrap();
    rules.add_function("Every", Action::Warn, every).unwrap();
    thread::scope(|scope| {
        let mut steps = trial.follow(.., Mode::Train);
        let mut found = rules.follow(&trial, .., Evaluation::default());
        assert_eq!(steps.next().unwrap().unwrap(), 0);
        assert_eq!(found.next().unwrap().unwrap().step, 0);
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(50));
            trial.cancel();
        });
        assert_eq!(steps.next().unwrap().unwrap_err().code(), ErrorCode::Cancelled);
        assert_eq!(found.next().unwrap().unwrap_err().code(), ErrorCode::Cancelled);
        assert!(steps.next().is_none() && found.next().is_none());
    });
}

fn every(step: &RuleStep<'_>) -> smdebug::Result<ControlFlow<()>> {
    step.report_message("seen").map(|()| ControlFlow::Continue(()))
}

#[test]
fn findings_are_yielded_while_the_job_runs() {
    let folder = Folder::new("findings");
    for incomplete in [false, true] {
        let path = folder.join(format!("run-{incomplete}"));
        let hook = saving_all(&path).open().unwrap();
        let rules = RuleSet::new().unwrap();
        rules.add_function("Every", Action::Warn, every).unwrap();
        let how = Evaluation { incomplete, ..Evaluation::default() };
        let steps = thread::scope(|scope| {
            scope.spawn(|| record_slowly(&hook, &[1.0; 10]));
            let trial = open_running(&path);
            let mut found = rules.follow(&trial, 2.., how);
            let first = found.next().unwrap().unwrap();
            assert_eq!((first.step, &*first.rule), (2, "Every"));
            found.map(|each| each.unwrap().step).collect::<Vec<_>>()
        });
        assert_eq!(steps, (3..10).collect::<Vec<_>>(), "incomplete: {incomplete}");
    }
}

#[test]
fn what_follows_finds_what_one_evaluation_finds() {
    let folder = Folder::new("same");
    let losses: Vec<f64> = (0..120).map(|step| if step < 60 { 1.0 / f64::from(step + 1) } else { 3.0 }).collect();
    let trial = recorded(folder.join("run"), "loss", &losses);
    let sets: Vec<RuleSet> = (0..2).map(|_| RuleSet::new().unwrap()).collect();
    sets.iter().for_each(|rules| rules.add_all(Action::Warn).unwrap());
    let once: Vec<String> = sets[0].evaluate(&trial).unwrap().iter().map(ToString::to_string).collect();
    let following = sets[1].follow(&trial, .., Evaluation::default());
    let followed: Vec<String> = following.map(|each| each.unwrap().to_string()).collect();
    assert!(!once.is_empty());
    assert_eq!(once, followed);
    assert_eq!(format!("{:?}", sets[0].results().unwrap()), format!("{:?}", sets[1].results().unwrap()));
}

#[test]
fn an_error_comes_after_the_findings_before_it() {
    let folder = Folder::new("last");
    let trial = recorded(folder.join("run"), "loss", &[1.0, 2.0, 3.0]);
    let rules = RuleSet::new().unwrap();
    rules
        .add_function("Fails", Action::Stop, |step| {
            step.report(&NewFinding { message: "seen", ..NewFinding::default() })?;
            if step.step() == 1 {
                return Err(Error::new(ErrorCode::CorruptData, "it is broken"));
            }
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    let found: Vec<_> = rules.follow(&trial, .., Evaluation::default()).collect();
    assert_eq!(found.len(), 3);
    assert_eq!(found[1].as_ref().unwrap().step, 1);
    assert_eq!(found[2].as_ref().unwrap_err().code(), ErrorCode::CorruptData);
    rules.reset().unwrap();
    let stopping = Evaluation { stop_at_finding: true, ..Evaluation::default() };
    let found: Vec<_> = rules.follow(&trial, .., stopping).collect();
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].as_ref().unwrap_err().code(), ErrorCode::RuleConditionMet);
}

#[test]
fn a_trial_stands_still_while_a_guard_is_held() {
    let folder = Folder::new("still");
    let path = folder.join("run");
    let hook = saving_all(&path).open().unwrap();
    let record = || {
        let step = hook.step(Mode::Train).unwrap();
        step.save("loss", &1.0).unwrap();
        step.end().unwrap();
        hook.flush(Some(Duration::from_secs(20))).unwrap();
    };
    let steps = |trial: &Trial| trial.steps(Mode::Train).unwrap().len();
    record();
    let trial = open_running(&path);
    assert_eq!(steps(&trial), 1);
    let outer = trial.still();
    let inner = trial.still();
    record();
    drop(outer);
    assert_eq!(steps(&trial), 1, "the other guard is held");
    trial.refresh().unwrap();
    assert_eq!(steps(&trial), 2);
    record();
    trial.wait_for_step((2, Mode::Train), Some(Duration::from_secs(20))).unwrap();
    assert_eq!(steps(&trial), 3);
    record();
    assert_eq!(steps(&trial), 3);
    drop(inner);
    assert_eq!(steps(&trial), 4);
    hook.close().unwrap();
}
