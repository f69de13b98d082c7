//! Rules that are functions of the caller.

use crate::error::{check, text};
use crate::handle::Owned;
use crate::{Action, Error, ErrorCode, Level, Result, Trial};
use smdebug_sys as sys;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::mem::{size_of, ManuallyDrop};
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// What a function finds; texts that are not given are "", numbers NaN.
#[derive(Clone, Copy, Debug)]
pub struct NewFinding<'a> {
    /// Which of the function's checks.
    pub check: &'a str,
    /// The culprit.
    pub tensor: &'a str,
    /// The worker that recorded it.
    pub worker: &'a str,
    /// Tensor, value and limit in one sentence.
    pub message: &'a str,
    /// What it recommends; the action of the rule in its set counts if it is more severe.
    pub action: Action,
    /// How sure it is.
    pub level: Level,
    /// What was measured.
    pub value: f64,
    /// The limit that the value passed.
    pub limit: f64,
}

impl Default for NewFinding<'_> {
    fn default() -> Self {
        NewFinding {
            check: "",
            tensor: "",
            worker: "",
            message: "",
            action: Action::Continue,
            level: Level::Finding,
            value: f64::NAN,
            limit: f64::NAN,
        }
    }
}

/// A step that a function evaluates.
pub struct RuleStep<'a> {
    // The trial is the library's: it must not be freed here.
    trial: &'a Trial,
    step: i64,
    findings: *mut sys::smd_findings,
}

impl RuleStep<'_> {
    /// The trial.
    pub fn trial(&self) -> &Trial {
        self.trial
    }

    /// The global step.
    pub fn step(&self) -> i64 {
        self.step
    }

    /// Reports a finding.
    pub fn report(&self, finding: &NewFinding<'_>) -> Result<()> {
        let check_name = text("name of a check", finding.check.as_bytes())?;
        let tensor = text("name of a tensor", finding.tensor.as_bytes())?;
        let worker = text("name of a worker", finding.worker.as_bytes())?;
        let message = text("message", finding.message.as_bytes())?;
        let raw = sys::smd_finding {
            struct_size: size_of::<sys::smd_finding>(),
            rule: std::ptr::null(),
            check: check_name.as_ptr(),
            tensor: tensor.as_ptr(),
            worker: worker.as_ptr(),
            message: message.as_ptr(),
            step: -1,
            mode_step: -1,
            mode: sys::SMD_MODE_GLOBAL,
            action: finding.action as i32,
            value: finding.value,
            limit: finding.limit,
            level: finding.level as i32,
        };
        // SAFETY: the list is valid during the call of the function, which this does not outlive.
        check(unsafe { sys::smd_findings_add(self.findings, &raw) })
    }

    /// Reports a finding that has only a message.
    pub fn report_message(&self, message: &str) -> Result<()> {
        self.report(&NewFinding { message, ..NewFinding::default() })
    }
}

/// A panic of a function, which continues when the evaluation returns.
type Panic = Box<dyn Any + Send>;

thread_local! {
    /// The evaluations that run on this thread, the innermost last, each with the first panic of the
    /// functions that it calls.  The library calls them on the thread that evaluates.
    static EVALUATIONS: RefCell<Vec<Option<Panic>>> = const { RefCell::new(Vec::new()) };
}

/// Runs an evaluation.  Returns its result, and the first panic of the functions that it called.
pub(crate) fn with_panics<R>(evaluate: impl FnOnce() -> R) -> (R, Option<Panic>) {
    EVALUATIONS.with_borrow_mut(|evaluations| evaluations.push(None));
    let result = evaluate();
    (result, EVALUATIONS.with_borrow_mut(Vec::pop).flatten())
}

/// Keeps a panic for with_panics(), unless an earlier one is kept.
fn keep(panic: Panic) {
    let unused = EVALUATIONS.with_borrow_mut(|evaluations| match evaluations.last_mut() {
        Some(innermost @ None) => innermost.replace(panic),
        _ => Some(panic),
    });
    drop(unused); // after the borrow: it may evaluate
}

/// A function of the caller's, as the library keeps it.
pub(crate) struct Function<F>(pub(crate) F);

impl<F> Function<F>
where
    F: FnMut(&RuleStep<'_>) -> Result<ControlFlow<()>> + Send + 'static,
{
    pub(crate) const OPERATIONS: sys::smd_rule_ops = sys::smd_rule_ops {
        struct_size: size_of::<sys::smd_rule_ops>(),
        invoke: Some(Self::invoke),
        destroy: Some(Self::destroy),
    };

    unsafe extern "C" fn invoke(
        function: *mut c_void,
        trial: *mut sys::smd_trial,
        step: i64,
        findings: *mut sys::smd_findings,
        error: *mut *mut sys::smd_error,
    ) -> i32 {
        // SAFETY: the library passes what was added, on one thread at a time; the trial is only
        // borrowed, so it is not dropped.
        let (function, trial) = unsafe {
            (&mut *function.cast::<Self>(), ManuallyDrop::new(Trial::from_owned(Owned::from_raw(trial))))
        };
        let rule_step = RuleStep { trial: &trial, step, findings };
        let result = catch_unwind(AssertUnwindSafe(|| (function.0)(&rule_step)));
        let failed = match result {
            Ok(Ok(ControlFlow::Continue(()))) => return sys::SMD_RULE_CONTINUE,
            Ok(Ok(ControlFlow::Break(()))) => return sys::SMD_RULE_FINISHED,
            Ok(Err(failed)) => failed,
            Err(panic) => {
                keep(panic);
                Error::new(ErrorCode::CallbackFailed, "the function of a rule panicked")
            }
        };
        // SAFETY: the library gives a place for the error, which it frees.
        unsafe { *error = failed.into_raw() };
        -1
    }

    unsafe extern "C" fn destroy(function: *mut c_void) {
        // SAFETY: the library calls this once with what was added.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(function.cast::<Self>()) })));
    }
}
