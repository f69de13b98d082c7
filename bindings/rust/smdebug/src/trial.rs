//! Reading.

use crate::error::{check, created, require_library, text};
use crate::handle::Owned;
use crate::hook::{milliseconds, strings};
use crate::log::Log;
use crate::{At, LogLevel, Mode, Result, StepState, Tensor};
use smdebug_sys as sys;
use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;
use std::time::Duration;

/// Options for opening a trial, which [`Trial::options`] makes.
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until open() opens a trial with them"]
pub struct TrialOptions {
    settings: Vec<(String, String)>,
    log: Option<Log>,
}

impl TrialOptions {
    /// Sets an option by its name, such as "wait_seconds" or "s3_region"; the C guide lists them.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Sends log lines of this level, and more severe ones, to a function, which any thread may call.
    pub fn log(self, level: LogLevel, sink: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        TrialOptions { log: Some(Log::new(level, sink)), ..self }
    }

    /// Opens a trial: a folder, or `s3://bucket/prefix`.  Waits for its first files, by default for
    /// up to ten minutes.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Trial> {
        require_library()?;
        let path = text("path", path.as_ref().as_os_str().as_bytes())?;
        // SAFETY: the handles and texts are valid during the calls.
        unsafe {
            let options = created(|out| sys::smd_trial_options_new(out))?;
            let raw = options.as_ptr();
            if let Some(log) = &self.log {
                log.give(|level, f, data, destroy| sys::smd_trial_options_set_log(raw, level, f, data, destroy))?;
            }
            for (name, value) in &self.settings {
                let name = text("name of an option", name.as_bytes())?;
                let value = text("value of an option", value.as_bytes())?;
                check(sys::smd_trial_options_set(raw, name.as_ptr(), value.as_ptr()))?;
            }
            created(|out| sys::smd_trial_open(path.as_ptr(), raw, out)).map(Trial)
        }
    }
}

/// The recording of a job, finished or still running.  Each call first reads what is new.
pub struct Trial(Owned<sys::smd_trial>);

impl Trial {
    /// Opens a trial with the default options.
    ///
    /// # Errors
    /// Fails with [`ErrorCode::MissingCollections`](crate::ErrorCode::MissingCollections) if nothing
    /// was recorded there.
    pub fn open(path: impl AsRef<Path>) -> Result<Trial> {
        Trial::options().open(path)
    }

    /// Options for opening a trial.
    pub fn options() -> TrialOptions {
        TrialOptions::default()
    }

    pub(crate) fn from_owned(owned: Owned<sys::smd_trial>) -> Self {
        Trial(owned)
    }

    /// The handle, for functions of [`sys`](crate::sys).  It stays this trial's.
    pub fn as_raw(&self) -> *mut sys::smd_trial {
        self.0.as_ptr()
    }

    /// The names of the tensors saved so far, sorted.
    pub fn tensor_names(&self) -> Result<Vec<String>> {
        self.names(null())
    }

    /// The names of the tensors that one of the regular expressions matches, sorted.
    pub fn tensor_names_matching<S: AsRef<str>>(&self, regexes: &[S]) -> Result<Vec<String>> {
        self.names(strings(regexes)?.as_ptr())
    }

    fn names(&self, regexes: *const sys::smd_strings) -> Result<Vec<String>> {
        let (mode, raw) = (sys::SMD_MODE_GLOBAL, self.as_raw());
        // SAFETY: the arguments are valid during the call.
        let list = created(|out| unsafe { sys::smd_trial_tensor_names(raw, -1, mode, regexes, null(), out) })?;
        Ok(list.to_vec())
    }

    /// The tensor of that name.
    ///
    /// # Errors
    /// Fails with [`ErrorCode::TensorUnavailable`](crate::ErrorCode::TensorUnavailable) if none was
    /// saved so far.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        let name = text("name of a tensor", name.as_bytes())?;
        // SAFETY: the arguments are valid during the call.
        created(|out| unsafe { sys::smd_trial_tensor(self.as_raw(), name.as_ptr(), out) }).map(Tensor::from_owned)
    }

    /// The steps of a mode that all workers wrote, ascending.
    pub fn steps(&self, mode: Mode) -> Result<Vec<i64>> {
        // SAFETY: the arguments are valid during the call.
        let list = created(|out| unsafe { sys::smd_trial_steps(self.as_raw(), mode as i32, 0, out) })?;
        Ok(list.as_slice().to_vec())
    }

    /// The modes of the steps seen so far.
    pub fn modes(&self) -> Result<Vec<Mode>> {
        // SAFETY: the arguments are valid during the call.
        let list = created(|out| unsafe { sys::smd_trial_modes(self.as_raw(), out) })?;
        Ok(list.as_slice().iter().map(|&mode| Mode::from_raw(mode as i32)).collect())
    }

    /// The workers that recorded, sorted.
    pub fn workers(&self) -> Result<Vec<String>> {
        // SAFETY: the arguments are valid during the call.
        Ok(created(|out| unsafe { sys::smd_trial_workers(self.as_raw(), out) })?.to_vec())
    }

    /// The names of all collections.
    pub fn collections(&self) -> Result<Vec<String>> {
        // SAFETY: the arguments are valid during the call.
        Ok(created(|out| unsafe { sys::smd_trial_collections(self.as_raw(), out) })?.to_vec())
    }

    /// What the job recorded about itself, by key: see [`Hook::set_metadata`](crate::Hook::set_metadata).
    pub fn metadata(&self) -> Result<BTreeMap<String, String>> {
        // SAFETY: the arguments are valid during the call.
        let texts = created(|out| unsafe { sys::smd_trial_metadata(self.as_raw(), null(), out) })?.to_vec();
        Ok(texts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
    }

    /// Whether a step is available, will never be, or may still come.
    pub fn step_state<'a>(&self, at: impl Into<At<'a>>) -> Result<StepState> {
        let (at, mut state) = (at.into(), 0);
        // SAFETY: the arguments are valid during the call.
        check(unsafe { sys::smd_trial_step_state(self.as_raw(), at.step, at.mode as i32, &mut state) })?;
        Ok(StepState::from_raw(state))
    }

    /// Waits until a step is available; at most that long.
    ///
    /// # Errors
    /// Fails with `StepUnavailable` or `NoMoreData` if it will never be, `Timeout`, or `Cancelled`.
    pub fn wait_for_step<'a>(&self, at: impl Into<At<'a>>, timeout: Option<Duration>) -> Result<()> {
        let (at, timeout) = (at.into(), milliseconds(timeout));
        // SAFETY: the arguments are valid during the call.
        check(unsafe { sys::smd_trial_wait_for_step(self.as_raw(), at.step, at.mode as i32, timeout) })
    }

    /// Returns true if the job has ended and everything it recorded has been read.
    pub fn has_ended(&self) -> bool {
        // SAFETY: the trial is valid.
        unsafe { sys::smd_trial_has_ended(self.as_raw()) != 0 }
    }

    /// Ends every wait on this trial, on any thread, with `Cancelled`; and every later call that
    /// reads.
    pub fn cancel(&self) {
        // SAFETY: the trial is valid.
        unsafe { sys::smd_trial_cancel(self.as_raw()) }
    }
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the text is valid as long as the trial.
        let path = unsafe { crate::handle::copied(sys::smd_trial_path(self.as_raw())) };
        f.debug_struct("Trial").field("path", &path).finish_non_exhaustive()
    }
}
