//! Trials that stand still.

use crate::Trial;
use smdebug_sys as sys;
use std::sync::{Mutex, PoisonError};

/// How many guards hold a trial still, and whether queries refreshed before the first.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    count: usize,
    did_refresh: i32,
}

/// Holds a trial still until it is dropped; [`Trial::still`] makes it.
#[must_use = "the trial stands still only as long as the guard lives"]
#[derive(Debug)]
pub struct Still<'trial>(&'trial Trial);

impl<'trial> Still<'trial> {
    pub(crate) fn new(trial: &'trial Trial) -> Self {
        change(trial, |holders| {
            if holders.count == 0 {
                holders.did_refresh = set_auto_refresh(trial, 0);
            }
            holders.count += 1;
        });
        Still(trial)
    }
}

impl Drop for Still<'_> {
    fn drop(&mut self) {
        change(self.0, |holders| {
            holders.count -= 1;
            if holders.count == 0 {
                set_auto_refresh(self.0, holders.did_refresh);
            }
        });
    }
}

fn change(trial: &Trial, change: impl FnOnce(&mut Holders)) {
    let holders: &Mutex<Holders> = trial.holders();
    change(&mut holders.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Returns the previous setting.
fn set_auto_refresh(trial: &Trial, on: i32) -> i32 {
    // SAFETY: the trial is valid.
    unsafe { sys::smd_trial_set_auto_refresh(trial.as_raw(), on) }
}
