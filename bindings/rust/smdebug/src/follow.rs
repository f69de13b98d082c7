//! Iterators that follow a job while it records.

use crate::{ErrorCode, Evaluation, EvaluationError, Finding, Mode, Result, RuleSet, Trial};
use std::collections::VecDeque;
use std::iter::FusedIterator;

/// The steps of a mode as the job records them, from [`Trial::follow`].
#[derive(Debug)]
#[must_use = "an iterator does nothing until it is used"]
pub struct Follow<'trial> {
    trial: &'trial Trial,
    mode: Mode,
    /// The first step that was not yielded.
    next: i64,
    end: i64,
    /// Steps that were known at the last look, ascending.
    known: Vec<i64>,
    is_over: bool,
}

impl<'trial> Follow<'trial> {
    pub(crate) fn new(trial: &'trial Trial, mode: Mode, first: i64, end: i64) -> Self {
        Follow { trial, mode, next: first, end, known: Vec::new(), is_over: false }
    }

    /// Waits for the next step.  Returns none if the job ended before it.
    fn wait(&mut self) -> Result<Option<i64>> {
        while self.next < self.end {
            let step = self.next;
            match self.trial.wait_for_step((step, self.mode), None) {
                Ok(()) => {
                    self.next = step + 1;
                    return Ok(Some(step));
                }
                Err(error) if error.code() == ErrorCode::NoMoreData => return Ok(None),
                Err(error) if error.code() == ErrorCode::StepUnavailable => self.next = self.known_after(step)?,
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The first known step after one that was not saved, or the number after it.
    fn known_after(&mut self, step: i64) -> Result<i64> {
        let later = |known: &[i64]| known.get(known.partition_point(|&each| each <= step)).copied();
        if later(&self.known).is_none() {
            self.known = self.trial.steps_seen(self.mode, true)?;
        }
        Ok(later(&self.known).unwrap_or(step + 1))
    }
}

impl Iterator for Follow<'_> {
    type Item = Result<i64>;

    fn next(&mut self) -> Option<Result<i64>> {
        if self.is_over {
            return None;
        }
        let next = self.wait().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

impl FusedIterator for Follow<'_> {}

/// The findings of a rule set as they are made, from [`RuleSet::follow`].
#[derive(Debug)]
#[must_use = "an iterator does nothing until it is used"]
pub struct FollowFindings<'a> {
    rules: &'a RuleSet,
    trial: &'a Trial,
    how: Evaluation,
    first: i64,
    end: i64,
    steps: Follow<'a>,
    has_begun: bool,
    /// What was found, and was not yielded.
    found: VecDeque<Result<Finding>>,
    is_over: bool,
}

impl<'a> FollowFindings<'a> {
    pub(crate) fn new(rules: &'a RuleSet, trial: &'a Trial, (first, end): (i64, i64), how: Evaluation) -> Self {
        let (how, steps) = (Evaluation { follow: false, ..how }, Follow::new(trial, Mode::Global, first, end));
        let (has_begun, found, is_over) = (false, VecDeque::new(), false);
        FollowFindings { rules, trial, how, first, end, steps, has_begun, found, is_over }
    }

    /// Evaluates the next steps, after a wait for one.
    fn look(&mut self) {
        // Incomplete steps do not end a wait: they are evaluated before it, and after each.
        if self.how.incomplete && !std::mem::replace(&mut self.has_begun, true) {
            return self.evaluate(self.end);
        }
        match self.steps.next() {
            Some(Ok(_)) if self.how.incomplete => self.evaluate(self.end),
            Some(Ok(step)) => {
                // The wait has read what is new.
                let _still = self.trial.still();
                self.evaluate(step + 1);
            }
            Some(Err(error)) => self.fail(EvaluationError { findings: Vec::new(), error }),
            None => {
                self.is_over = true;
                self.evaluate(self.end); // rules learn of the end of the job
            }
        }
    }

    /// Evaluates the steps before one that were not evaluated yet.
    fn evaluate(&mut self, end: i64) {
        match self.rules.evaluate_with(self.trial, self.first..end, self.how) {
            Ok(findings) => self.found.extend(findings.into_iter().map(Ok)),
            Err(failed) => self.fail(failed),
        }
    }

    fn fail(&mut self, failed: EvaluationError) {
        self.is_over = true;
        self.found.extend(failed.findings.into_iter().map(Ok));
        self.found.push_back(Err(failed.error));
    }
}

impl Iterator for FollowFindings<'_> {
    type Item = Result<Finding>;

    fn next(&mut self) -> Option<Result<Finding>> {
        while self.found.is_empty() && !self.is_over {
            self.look();
        }
        self.found.pop_front()
    }
}

impl FusedIterator for FollowFindings<'_> {}
