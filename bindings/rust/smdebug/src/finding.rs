//! What rules find, as plain data.

use crate::handle::{copied, slice, Owned};
use crate::{Action, Level, Mode, RuleStatus};
use smdebug_sys as sys;
use std::fmt;

/// A finding of a rule at one step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule.
    pub rule: String,
    /// Which of the rule's checks; "" if it has only one.
    pub check: String,
    /// The culprit, or "".
    pub tensor: String,
    /// The worker that recorded it, or "".
    pub worker: String,
    /// Tensor, value and limit in one sentence.
    pub message: String,
    /// The global step.
    pub step: i64,
    /// The step's mode.
    pub mode: Mode,
    /// The step's number in its mode.
    pub mode_step: i64,
    /// What the finding recommends.
    pub action: Action,
    /// How sure it is.
    pub level: Level,
    /// What was measured, or NaN.
    pub value: f64,
    /// The limit that the value passed, or NaN.
    pub limit: f64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at step {}: {}", self.rule, self.step, self.message)
    }
}

/// The summary of one rule.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RuleResult {
    /// The rule.
    pub rule: String,
    /// Its result over all steps.
    pub status: RuleStatus,
    /// Findings that are sure.
    pub finding_count: i64,
    /// Findings worth a look.
    pub look_count: i64,
    /// The first finding, or why there is none.
    pub message: String,
    /// The first finding, else the first worth a look.
    pub first: Option<Finding>,
}

/// A likely cause of findings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cause {
    /// Such as "rate_too_high".
    pub id: String,
    /// A few words, such as "the learning rate is too high".
    pub title: String,
    /// The chance that this is the cause, from 0 to 1.
    pub confidence: f64,
    /// What to do.
    pub advice: String,
    /// The section of the documentation that says more.
    pub link: String,
    /// What speaks for it, the strongest first.
    pub evidence: Vec<Evidence>,
    /// Rules without tensors or data, which would make it surer.
    pub missing: Vec<String>,
}

/// The findings of one check of a rule, which speak for a cause.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// The one with the lowest step.
    pub first: Finding,
    /// The number of findings.
    pub finding_count: i64,
    /// The number of tensors.
    pub tensor_count: i64,
}

/// # Safety
/// `raw` points to a finding of the library.
unsafe fn finding(raw: *const sys::smd_finding) -> Finding {
    // SAFETY: no text of the library's findings is NULL.
    unsafe {
        let raw = &*raw;
        Finding {
            rule: copied(raw.rule),
            check: copied(raw.check),
            tensor: copied(raw.tensor),
            worker: copied(raw.worker),
            message: copied(raw.message),
            step: raw.step,
            mode: Mode::from_raw(raw.mode),
            mode_step: raw.mode_step,
            action: Action::from_raw(raw.action),
            level: Level::from_raw(raw.level),
            value: raw.value,
            limit: raw.limit,
        }
    }
}

pub(crate) fn findings_of(list: &Owned<sys::smd_findings>) -> Vec<Finding> {
    // SAFETY: the list is valid, and the index within it.
    unsafe {
        let count = sys::smd_findings_count(list.as_ptr());
        (0..count).map(|at| finding(sys::smd_findings_get(list.as_ptr(), at))).collect()
    }
}

pub(crate) fn results_of(list: &Owned<sys::smd_rule_results>) -> Vec<RuleResult> {
    // SAFETY: the list is valid, and the index within it.
    let result = |at| unsafe {
        let raw = &*sys::smd_rule_results_get(list.as_ptr(), at);
        RuleResult {
            rule: copied(raw.rule),
            status: RuleStatus::from_raw(raw.status),
            finding_count: raw.finding_count,
            look_count: raw.look_count,
            message: copied(raw.message),
            first: (!raw.first.is_null()).then(|| finding(raw.first)),
        }
    };
    let count = unsafe { sys::smd_rule_results_count(list.as_ptr()) };
    (0..count).map(result).collect()
}

pub(crate) fn causes_of(list: &Owned<sys::smd_diagnosis>) -> Vec<Cause> {
    // SAFETY: the list is valid, the index within it, and the arrays as long as it says.
    let cause = |at| unsafe {
        let raw = &*sys::smd_diagnosis_get(list.as_ptr(), at);
        let evidence = slice(raw.evidence, raw.evidence_count).iter().map(|each| Evidence {
            first: finding(each.first),
            finding_count: each.finding_count,
            tensor_count: each.tensor_count,
        });
        Cause {
            id: copied(raw.id),
            title: copied(raw.title),
            confidence: raw.confidence,
            advice: copied(raw.advice),
            link: copied(raw.link),
            evidence: evidence.collect(),
            missing: slice(raw.missing, raw.missing_count).iter().map(|&name| copied(name)).collect(),
        }
    };
    let count = unsafe { sys::smd_diagnosis_count(list.as_ptr()) };
    (0..count).map(cause).collect()
}
