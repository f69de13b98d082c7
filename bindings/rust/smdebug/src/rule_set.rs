//! Rules that evaluate one job together.

use crate::error::{check, created, require_library, text};
use crate::finding::{causes_of, findings_of, results_of};
use crate::handle::Owned;
use crate::rule_function::{with_panics, Function};
use crate::tensor::bounds;
use crate::{Action, Cause, Error, Finding, FollowFindings, Result, RuleResult, RuleStep, SaveConfig, Trial};
use smdebug_sys as sys;
use std::ffi::CStr;
use std::fmt::{self, Write};
use std::ops::{ControlFlow, RangeBounds};
use std::panic::resume_unwind;
use std::ptr::null_mut;

/// The defaults of the parameters of built-in rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Ours, which rarely report anything on a healthy run.
    #[default]
    Calibrated,
    /// Those that the training service documents.
    Aws,
    /// The rules for large trainings, which the set then holds.
    Llm,
}

impl Profile {
    fn name(self) -> &'static CStr {
        match self {
            Profile::Calibrated => c"calibrated",
            Profile::Aws => c"aws",
            Profile::Llm => c"llm",
        }
    }
}

/// Rules that evaluate one job together: a stored trial, or a running job by a hook.
pub struct RuleSet(Owned<sys::smd_rule_set>);

impl RuleSet {
    /// An empty set with the calibrated defaults.
    pub fn new() -> Result<RuleSet> {
        RuleSet::with_profile(Profile::Calibrated)
    }

    /// A set with the defaults of a profile.
    pub fn with_profile(profile: Profile) -> Result<RuleSet> {
        require_library()?;
        // SAFETY: the text is valid during the call.
        created(|out| unsafe { sys::smd_rule_set_new(profile.name().as_ptr(), out) }).map(RuleSet)
    }

    /// The handle, for functions of [`sys`](crate::sys).  It stays this set's.
    pub fn as_raw(&self) -> *mut sys::smd_rule_set {
        self.0.as_ptr()
    }

    /// Adds a built-in rule with parameters, such as `[("threshold", "1e-20")]`.
    ///
    /// # Errors
    /// Fails if there is no such rule or parameter; the message names the nearest.
    pub fn add(&self, rule: &str, parameters: &[(&str, &str)], action: Action) -> Result<()> {
        let rule = text("name of a rule", rule.as_bytes())?;
        let parameters = text("list of parameters", json_object(parameters).as_bytes())?;
        // SAFETY: the arguments are valid during the call.
        check(unsafe { sys::smd_rule_set_add(self.as_raw(), rule.as_ptr(), parameters.as_ptr(), action as i32) })
    }

    /// Adds every built-in rule that needs no parameter and that the set does not hold.
    ///
    /// These are the rules that `smdebug rules` evaluates without `--rule`.  A rule that was added
    /// before keeps its parameters, and the more severe of both actions.
    pub fn add_all(&self, action: Action) -> Result<()> {
        // SAFETY: the arguments are valid during the call.
        check(unsafe { sys::smd_rule_set_add_all(self.as_raw(), action as i32) })
    }

    /// Adds a rule that is a function of a step.
    ///
    /// It takes part like a built-in rule.  `Break` ends the rule.  Errors that a value is
    /// unavailable skip the step for this rule: return them by `?`.  Any other error ends the
    /// evaluation, which returns it; so does a panic, which continues in the caller of it.
    pub fn add_function<F>(&self, name: &str, action: Action, function: F) -> Result<()>
    where
        F: FnMut(&RuleStep<'_>) -> Result<ControlFlow<()>> + Send + 'static,
    {
        let name = text("name of a rule", name.as_bytes())?;
        let function = Box::into_raw(Box::new(Function(function)));
        let operations = &Function::<F>::OPERATIONS;
        // SAFETY: the arguments are valid during the call; the library frees the function, also if
        // this fails.
        check(unsafe {
            sys::smd_rule_set_add_function(
                self.as_raw(),
                name.as_ptr(),
                operations,
                function.cast(),
                action as i32,
            )
        })
    }

    /// Evaluates only the steps that the config selects, as if the job had saved no others.
    pub fn set_save_config(&self, config: &SaveConfig) -> Result<()> {
        // SAFETY: the arguments are valid during the call.
        check(unsafe { sys::smd_rule_set_set_save_config(self.as_raw(), config.to_raw()?.as_ptr()) })
    }

    /// Evaluates the steps of a trial that the set has not evaluated yet.
    pub fn evaluate(&self, trial: &Trial) -> std::result::Result<Vec<Finding>, EvaluationError> {
        self.evaluate_with(trial, .., Evaluation::default())
    }

    /// Evaluates a range of global steps.  An empty range, such as `0..-1`, has no findings.
    ///
    /// To take findings of a running job as they are made, see [`RuleSet::follow`].
    ///
    /// # Errors
    /// Fails with `WrongState` if the set has evaluated another trial, a hook has it, or another
    /// thread evaluates it; with `RuleConditionMet` if `how` asks for it; with the error of a
    /// function; and if the trial cannot be read.
    ///
    /// # Panics
    /// Continues the panic of a function, in the thread that evaluates.
    pub fn evaluate_with(
        &self,
        trial: &Trial,
        steps: impl RangeBounds<i64>,
        how: Evaluation,
    ) -> std::result::Result<Vec<Finding>, EvaluationError> {
        let (first, end) = bounds(&steps, -1);
        let mut raw = null_mut();
        // SAFETY: the arguments are valid during the call.
        let (result, panic) = with_panics(|| unsafe {
            check(sys::smd_rule_set_evaluate(self.as_raw(), trial.as_raw(), first, end, how.flags(), &mut raw))
        });
        if let Some(panic) = panic {
            // SAFETY: NULL is allowed.
            unsafe { sys::smd_findings_free(raw) };
            resume_unwind(panic);
        }
        let findings = match std::ptr::NonNull::new(raw) {
            // SAFETY: the library transfers ownership of the list, also if it fails.
            Some(raw) => findings_of(&unsafe { Owned::from_raw(raw.as_ptr()) }),
            None => Vec::new(),
        };
        match result {
            Ok(()) => Ok(findings),
            Err(error) => Err(EvaluationError { findings, error }),
        }
    }

    /// Evaluates a range of global steps of a job that may still record: yields each finding as it
    /// is made, waits for steps, and ends when the job has ended, or with the range.
    ///
    /// An error comes last, after the findings before it; [`Trial::cancel`] on another thread ends
    /// a wait with `Cancelled`.  `how.follow` makes no difference.  Findings of a step that the
    /// caller does not take are lost with the iterator.
    ///
    /// The rule `StalledTraining` is evaluated with the next step, not while the iterator waits for
    /// it.  To learn of a stall while it lasts, use [`RuleSet::evaluate_with`] with `follow` and
    /// `stop_at_finding`.
    ///
    /// ```no_run
    /// # fn main() -> smdebug::Result<()> {
    /// use smdebug::{Action, Evaluation, RuleSet, Trial};
    ///
    /// let rules = RuleSet::new()?;
    /// rules.add_all(Action::Warn)?;
    /// for finding in rules.follow(&Trial::open("run")?, .., Evaluation::default()) {
    ///     println!("{}", finding?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// `next` continues the panic of a function.
    pub fn follow<'a>(
        &'a self,
        trial: &'a Trial,
        steps: impl RangeBounds<i64>,
        how: Evaluation,
    ) -> FollowFindings<'a> {
        FollowFindings::new(self, trial, bounds(&steps, i64::MAX), how)
    }

    /// The summary of each rule so far.
    pub fn results(&self) -> Result<Vec<RuleResult>> {
        // SAFETY: the arguments are valid during the call.
        created(|out| unsafe { sys::smd_rule_set_results(self.as_raw(), out) }).map(|list| results_of(&list))
    }

    /// The likely causes of what the set has found so far: at most three, the likeliest first.
    pub fn diagnose(&self) -> Result<Vec<Cause>> {
        // SAFETY: the arguments are valid during the call.
        created(|out| unsafe { sys::smd_rule_set_diagnose(self.as_raw(), out) }).map(|list| causes_of(&list))
    }

    /// Forgets the trial, its steps and all results; keeps the rules.
    pub fn reset(&self) -> Result<()> {
        // SAFETY: the set is valid.
        check(unsafe { sys::smd_rule_set_reset(self.as_raw()) })
    }
}

impl fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleSet").finish_non_exhaustive()
    }
}

/// How a rule set evaluates a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evaluation {
    /// Waits for each step until the job ends.  The findings come when the evaluation ends; to take
    /// them as they are made, see [`RuleSet::follow`].
    pub follow: bool,
    /// Fails with `RuleConditionMet` at a finding.
    pub stop_at_finding: bool,
    /// Also evaluates steps that a worker may still write to.
    pub incomplete: bool,
}

impl Evaluation {
    fn flags(self) -> u32 {
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        flag(self.follow, sys::SMD_EVALUATE_FOLLOW)
            | flag(self.stop_at_finding, sys::SMD_EVALUATE_STOP_AT_FINDING)
            | flag(self.incomplete, sys::SMD_EVALUATE_INCOMPLETE)
    }
}

/// Why an evaluation stopped, and what it had found before.
#[derive(Debug)]
pub struct EvaluationError {
    /// The findings before the error.
    pub findings: Vec<Finding>,
    /// The error.
    pub error: Error,
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for EvaluationError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl From<EvaluationError> for Error {
    fn from(failed: EvaluationError) -> Error {
        failed.error
    }
}

/// The JSON object of these texts.
fn json_object(members: &[(&str, &str)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{}", json_text(name), json_text(value))).collect();
    format!("{{{}}}", members.join(","))
}

fn json_text(text: &str) -> String {
    let mut json = String::from('"');
    for each in text.chars() {
        match each {
            '"' | '\\' => json.extend(['\\', each]),
            control if control < ' ' => {
                // Writing into a string does not fail.
                let _ = write!(json, "\\u{:04x}", control as u32);
            }
            other => json.push(other),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::json_object;

    #[test]
    fn parameters_are_json() {
        assert_eq!(json_object(&[]), "{}");
        assert_eq!(json_object(&[("a\"b", "c\\\n層"), ("d", "")]), r#"{"a\"b":"c\\\u000a層","d":""}"#);
    }
}
