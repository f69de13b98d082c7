//! Reading.

use crate::error::{check, created, require_library, text};
use crate::handle::Owned;
use crate::hook::milliseconds;
use crate::log::Log;
use crate::still::Holders;
use crate::tensor::bounds;
use crate::{At, Collection, Follow, LogLevel, Mode, NameFilter, Result, StepState, Still, Tensor};
use smdebug_sys as sys;
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::fmt;
use std::ops::RangeBounds;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;
use std::sync::Mutex;
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

    /// Opens a trial: a folder, or `s3://bucket/prefix`.
    ///
    /// Waits for the collections files of all workers, which a job writes with its first saved step,
    /// for as long as the option "wait_seconds" says: by default ten minutes.
    ///
    /// # Errors
    /// Fails with [`ErrorCode::MissingCollections`](crate::ErrorCode::MissingCollections) if they did
    /// not come in that time, for example because the path has a typing error.
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
            created(|out| sys::smd_trial_open(path.as_ptr(), raw, out)).map(Trial::from_owned)
        }
    }
}

/// The recording of a job, finished or still running.  Each call first reads what is new, unless a
/// [`Still`] is held.
pub struct Trial {
    raw: Owned<sys::smd_trial>,
    holders: Mutex<Holders>,
}

impl Trial {
    /// Opens a trial with the default options: a folder, or `s3://bucket/prefix`.
    ///
    /// **Waits up to ten minutes for a job to record something there**, so that a trial can be
    /// opened before its job begins.  To limit the wait, set the option "wait_seconds", or the
    /// environment variable `SMDEBUG_TRIAL_WAIT_SECONDS`.  This opens only what is there already:
    ///
    /// ```
    /// use smdebug::{ErrorCode, Trial};
    ///
    /// let missing = Trial::options().set("wait_seconds", "0").open("typo").unwrap_err();
    /// assert_eq!(missing.code(), ErrorCode::MissingCollections);
    /// ```
    ///
    /// # Errors
    /// Fails with [`ErrorCode::MissingCollections`](crate::ErrorCode::MissingCollections) if nothing
    /// was recorded there in that time.
    pub fn open(path: impl AsRef<Path>) -> Result<Trial> {
        Trial::options().open(path)
    }

    /// Options for opening a trial.
    pub fn options() -> TrialOptions {
        TrialOptions::default()
    }

    pub(crate) fn from_owned(owned: Owned<sys::smd_trial>) -> Self {
        Trial { raw: owned, holders: Mutex::default() }
    }

    pub(crate) fn holders(&self) -> &Mutex<Holders> {
        &self.holders
    }

    /// The handle, for functions of [`sys`](crate::sys).  It stays this trial's.
    pub fn as_raw(&self) -> *mut sys::smd_trial {
        self.raw.as_ptr()
    }

    /// Reads what was recorded since the last call, also while a [`Still`] is held.
    pub fn refresh(&self) -> Result<()> {
        // SAFETY: the trial is valid.
        check(unsafe { sys::smd_trial_refresh(self.as_raw()) })
    }

    /// Holds the trial still: until the guard is dropped, all queries, on any thread, see the same
    /// state.  Only [`refresh`](Self::refresh), [`wait_for_step`](Self::wait_for_step) and iterators
    /// that follow the trial read what is new.
    ///
    /// Queries then are also faster: none looks for new files, which is a request to a bucket.
    pub fn still(&self) -> Still<'_> {
        Still::new(self)
    }

    /// The names of the tensors saved so far, sorted.
    pub fn tensor_names(&self) -> Result<Vec<String>> {
        self.tensor_names_with(&NameFilter::new())
    }

    /// The names of the tensors that one of the regular expressions matches, sorted.
    pub fn tensor_names_matching<S: AsRef<str>>(&self, regexes: &[S]) -> Result<Vec<String>> {
        self.tensor_names_with(&NameFilter::new().matching(regexes))
    }

    /// The names of the tensors saved so far that meet the conditions, such as a step or a
    /// collection, sorted.
    ///
    /// # Errors
    /// Fails with `NotFound` if there is no such collection, `InvalidConfig` if a regular expression
    /// is not valid, and `InvalidArgument` if both are given.
    pub fn tensor_names_with(&self, filter: &NameFilter<'_>) -> Result<Vec<String>> {
        filter.names(self)
    }

    /// The names of the tensors saved at a step, in the order of recording: those of the first
    /// worker, then those of others only.
    pub fn recorded_names<'a>(&self, at: impl Into<At<'a>>) -> Result<Vec<String>> {
        let (step, mode) = at.into().of_all_workers()?;
        // SAFETY: the arguments are valid during the call.
        let list = created(|out| unsafe { sys::smd_trial_recorded_names(self.as_raw(), step, mode, out) })?;
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
        self.steps_seen(mode, false)
    }

    /// The steps of a mode that all workers wrote, or also those that some have not written yet.
    pub(crate) fn steps_seen(&self, mode: Mode, incomplete_too: bool) -> Result<Vec<i64>> {
        let (mode, incomplete_too) = (mode as i32, incomplete_too.into());
        // SAFETY: the arguments are valid during the call.
        let list = created(|out| unsafe { sys::smd_trial_steps(self.as_raw(), mode, incomplete_too, out) })?;
        Ok(list.as_slice().to_vec())
    }

    /// The last global step that all workers wrote, of what was read so far.
    pub fn last_complete_step(&self) -> Option<i64> {
        // SAFETY: the trial is valid.
        let step = unsafe { sys::smd_trial_last_complete_step(self.as_raw()) };
        (step >= 0).then_some(step)
    }

    /// The number that a global step has in its mode, and the mode; none if it was not seen.
    pub fn mode_step(&self, global_step: i64) -> Result<Option<(i64, Mode)>> {
        let (mut step, mut mode) = (-1, 0);
        // SAFETY: the arguments are valid during the call.
        check(unsafe { sys::smd_trial_mode_step(self.as_raw(), global_step, &mut step, &mut mode) })?;
        Ok((mode != sys::SMD_MODE_ANY).then(|| (step, Mode::from_raw(mode))))
    }

    /// The global step of a step of a mode; none if it was not seen.
    pub fn global_step(&self, mode_step: i64, mode: Mode) -> Result<Option<i64>> {
        let mut step = -1;
        // SAFETY: the arguments are valid during the call.
        check(unsafe { sys::smd_trial_global_step(self.as_raw(), mode_step, mode as i32, &mut step) })?;
        Ok((step >= 0).then_some(step))
    }

    /// The steps of a mode within a range as the job records them, those recorded before first.
    ///
    /// Each call of `next` waits for a step that all workers wrote.  The iterator ends when the job
    /// has ended, or with the range.  If a wait fails, the error comes last: [`Trial::cancel`] on
    /// another thread ends a wait with `Cancelled`, for example if the job was killed and will never
    /// end.
    ///
    /// ```no_run
    /// # fn main() -> smdebug::Result<()> {
    /// use smdebug::{Mode, Trial};
    ///
    /// let trial = Trial::open("run")?;
    /// let loss = trial.tensor("loss")?;
    /// for step in trial.follow(.., Mode::Train) {
    ///     let step = step?;
    ///     println!("{step} {}", loss.value((step, Mode::Train))?.to_f64()?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn follow(&self, steps: impl RangeBounds<i64>, mode: Mode) -> Follow<'_> {
        let (first, end) = bounds(&steps, i64::MAX);
        Follow::new(self, mode, first, end)
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

    /// The collection of that name, with the names of its tensors so far.
    ///
    /// # Errors
    /// Fails with [`ErrorCode::NotFound`](crate::ErrorCode::NotFound) if there is none.
    pub fn collection(&self, name: &str) -> Result<Collection> {
        Collection::from_raw(&self.raw_collection(name)?)
    }

    pub(crate) fn raw_collection(&self, name: &str) -> Result<Owned<sys::smd_collection>> {
        let name = text("name of a collection", name.as_bytes())?;
        // SAFETY: the arguments are valid during the call.
        created(|out| unsafe { sys::smd_trial_collection(self.as_raw(), name.as_ptr(), out) })
    }

    /// What the job recorded about itself, by key: see [`Hook::set_metadata`](crate::Hook::set_metadata).
    ///
    /// The value of a key is that of the first worker that has it.
    pub fn metadata(&self) -> Result<BTreeMap<String, String>> {
        self.metadata_of(null())
    }

    /// What one worker recorded about itself, by key.
    pub fn worker_metadata(&self, worker: &str) -> Result<BTreeMap<String, String>> {
        self.metadata_of(text("name of a worker", worker.as_bytes())?.as_ptr())
    }

    fn metadata_of(&self, worker: *const c_char) -> Result<BTreeMap<String, String>> {
        // SAFETY: the arguments are valid during the call.
        let texts = created(|out| unsafe { sys::smd_trial_metadata(self.as_raw(), worker, out) })?.to_vec();
        Ok(texts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
    }

    /// Whether a step is available, will never be, or may still come.
    pub fn step_state<'a>(&self, at: impl Into<At<'a>>) -> Result<StepState> {
        let ((step, mode), mut state) = (at.into().of_all_workers()?, 0);
        // SAFETY: the arguments are valid during the call.
        check(unsafe { sys::smd_trial_step_state(self.as_raw(), step, mode, &mut state) })?;
        Ok(StepState::from_raw(state))
    }

    /// Waits until a step is available; at most that long.
    ///
    /// # Errors
    /// Fails with `StepUnavailable` or `NoMoreData` if it will never be, `Timeout`, or `Cancelled`.
    pub fn wait_for_step<'a>(&self, at: impl Into<At<'a>>, timeout: Option<Duration>) -> Result<()> {
        let ((step, mode), timeout) = (at.into().of_all_workers()?, milliseconds(timeout));
        // SAFETY: the arguments are valid during the call.
        check(unsafe { sys::smd_trial_wait_for_step(self.as_raw(), step, mode, timeout) })
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
