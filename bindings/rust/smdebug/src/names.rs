//! Which names of tensors a query returns.

use crate::error::created;
use crate::hook::strings;
use crate::{At, Error, ErrorCode, Mode, Result, Trial};
use smdebug_sys as sys;
use std::ptr::null;

/// Conditions that names of tensors meet, for [`Trial::tensor_names_with`].  Each narrows them.
///
/// ```no_run
/// # fn main() -> smdebug::Result<()> {
/// use smdebug::{Mode, NameFilter, Trial};
///
/// let trial = Trial::open("run")?;
/// let gradients = trial.tensor_names_with(&NameFilter::new().at((90, Mode::Train)).collection("gradients"))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a filter does nothing until a trial is asked for names with it"]
pub struct NameFilter<'a> {
    at: Option<At<'a>>,
    mode: Option<Mode>,
    regexes: Option<Vec<String>>,
    collection: Option<String>,
}

impl<'a> NameFilter<'a> {
    /// No condition.
    pub fn new() -> Self {
        NameFilter::default()
    }

    /// Selects tensors that were saved at a step.
    pub fn at(self, at: impl Into<At<'a>>) -> Self {
        NameFilter { at: Some(at.into()), ..self }
    }

    /// Selects tensors that were saved in a mode.  If a step is given too, its mode counts.
    pub fn mode(self, mode: Mode) -> Self {
        NameFilter { mode: Some(mode), ..self }
    }

    /// Selects tensors whose names one of the regular expressions matches, as Python's `re.search`.
    pub fn matching<S: AsRef<str>>(self, regexes: &[S]) -> Self {
        NameFilter { regexes: Some(regexes.iter().map(|each| each.as_ref().to_owned()).collect()), ..self }
    }

    /// Selects tensors of a collection of the trial.
    pub fn collection(self, name: impl Into<String>) -> Self {
        NameFilter { collection: Some(name.into()), ..self }
    }

    /// The names of the tensors of a trial that meet the conditions.
    pub(crate) fn names(&self, trial: &Trial) -> Result<Vec<String>> {
        let (step, mode) = match &self.at {
            Some(at) => at.of_all_workers()?,
            None => (-1, self.mode.unwrap_or(Mode::Global) as i32),
        };
        if self.at.is_some() && step < 0 {
            return Ok(Vec::new()); // to the library, a negative step is no condition
        }
        if self.regexes.is_some() && self.collection.is_some() {
            let message = "regular expressions and a collection are given; use one of them, and filter \
                           the names that it gives";
            return Err(Error::new(ErrorCode::InvalidArgument, message));
        }
        let regexes = self.regexes.as_deref().map(strings).transpose()?;
        let regexes = regexes.as_ref().map_or(null(), |list| list.as_ptr().cast_const());
        let collection = self.collection.as_deref().map(|name| trial.raw_collection(name)).transpose()?;
        let collection = collection.as_ref().map_or(null(), |owned| owned.as_ptr().cast_const());
        let raw = trial.as_raw();
        // SAFETY: the arguments are valid during the call.
        let list =
            created(|out| unsafe { sys::smd_trial_tensor_names(raw, step, mode, regexes, collection, out) })?;
        Ok(list.to_vec())
    }
}
