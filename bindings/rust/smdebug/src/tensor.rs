//! The tensors of a trial.

use crate::error::{created, text};
use crate::handle::{copied, Owned};
use crate::{Element, Error, ErrorCode, Mode, Result, Value, Values};
use smdebug_sys as sys;
use std::ffi::CString;
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::ptr::null;

/// Where a value is: at a step, of one worker or the first that has it.
///
/// Calls take a global step, `90`; a step of a mode, `(9, Mode::Train)`; or with a worker,
/// `(9, Mode::Train, "worker_1")`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At<'a> {
    /// The number of the step in `mode`.
    pub step: i64,
    /// The mode that counts the step.
    pub mode: Mode,
    /// The worker, or the first that has the value.
    pub worker: Option<&'a str>,
}

impl At<'_> {
    /// The step and the mode, for a call on the steps of all workers.  Fails if a worker is given.
    pub(crate) fn of_all_workers(&self) -> Result<(i64, i32)> {
        if let Some(worker) = self.worker {
            let message = format!(
                "the worker \"{worker}\" is given for step {}, but the call is for all workers; leave it out",
                self.step
            );
            return Err(Error::new(ErrorCode::InvalidArgument, message));
        }
        Ok((self.step, self.mode as i32))
    }

    fn worker(&self) -> Result<Option<CString>> {
        self.worker.map(|worker| text("name of a worker", worker.as_bytes())).transpose()
    }
}

impl From<i64> for At<'_> {
    fn from(step: i64) -> Self {
        At { step, mode: Mode::Global, worker: None }
    }
}

impl From<(i64, Mode)> for At<'_> {
    fn from((step, mode): (i64, Mode)) -> Self {
        At { step, mode, worker: None }
    }
}

impl<'a> From<(i64, Mode, &'a str)> for At<'a> {
    fn from((step, mode, worker): (i64, Mode, &'a str)) -> Self {
        At { step, mode, worker: Some(worker) }
    }
}

/// A tensor of a trial, by its name.  It stays valid when the trial is dropped.
pub struct Tensor(Owned<sys::smd_tensor>);

impl Tensor {
    pub(crate) fn from_owned(owned: Owned<sys::smd_tensor>) -> Self {
        Tensor(owned)
    }

    /// The handle, for functions of [`sys`](crate::sys).  It stays this tensor's.
    pub fn as_raw(&self) -> *mut sys::smd_tensor {
        self.0.as_ptr()
    }

    /// The tensor's name.
    pub fn name(&self) -> String {
        // SAFETY: the text is valid as long as the tensor.
        unsafe { copied(sys::smd_tensor_name(self.as_raw())) }
    }

    /// The steps of a mode at which it was saved, ascending.
    pub fn steps(&self, mode: Mode) -> Result<Vec<i64>> {
        // SAFETY: the arguments are valid during the call.
        let list = created(|out| unsafe { sys::smd_tensor_steps(self.as_raw(), mode as i32, 0, out) })?;
        Ok(list.as_slice().to_vec())
    }

    /// The last steps of a mode at which it was saved, ascending: at most `count`, none after `at`.
    pub fn prev_steps<'a>(&self, at: impl Into<At<'a>>, count: usize) -> Result<Vec<i64>> {
        let (step, mode) = at.into().of_all_workers()?;
        if count == 0 {
            return Ok(Vec::new()); // to the library, 0 means all
        }
        let (raw, count) = (self.as_raw(), i64::try_from(count).unwrap_or(i64::MAX));
        // SAFETY: the arguments are valid during the call.
        let list = created(|out| unsafe { sys::smd_tensor_prev_steps(raw, step, mode, count, out) })?;
        Ok(list.as_slice().to_vec())
    }

    /// The workers that saved it at a step, sorted.
    pub fn workers<'a>(&self, at: impl Into<At<'a>>) -> Result<Vec<String>> {
        let (step, mode) = at.into().of_all_workers()?;
        // SAFETY: the arguments are valid during the call.
        let list = created(|out| unsafe { sys::smd_tensor_workers(self.as_raw(), step, mode, out) })?;
        Ok(list.to_vec())
    }

    /// The elements at a step.
    ///
    /// # Errors
    /// Fails with `ValueUnavailable`, `StepUnavailable`, `StepNotYet` or `WorkerUnknown` if there
    /// are none, and with `CorruptData` if the file is damaged.
    pub fn value<'a>(&self, at: impl Into<At<'a>>) -> Result<Value> {
        let at = at.into();
        let worker = at.worker()?;
        let (mode, worker) = (at.mode as i32, pointer(&worker));
        // SAFETY: the arguments are valid during the call.
        created(|out| unsafe { sys::smd_tensor_value(self.as_raw(), at.step, mode, worker, out) })
            .map(Value::from_owned)
    }

    /// A copy of the elements at a step.
    pub fn read<'a, T: Element>(&self, at: impl Into<At<'a>>) -> Result<Vec<T>> {
        Ok(self.value(at)?.as_slice::<T>()?.to_vec())
    }

    /// The shape at a step: the saved shape, or else that of the value.
    pub fn shape<'a>(&self, at: impl Into<At<'a>>) -> Result<Vec<usize>> {
        let at = at.into();
        let worker = at.worker()?;
        let (mode, worker) = (at.mode as i32, pointer(&worker));
        // SAFETY: the arguments are valid during the call.
        let shape = created(|out| unsafe { sys::smd_tensor_shape(self.as_raw(), at.step, mode, worker, out) })?;
        Ok(shape.as_slice().iter().map(|&size| size as usize).collect())
    }

    /// A reduction at a step, such as "mean" or "abs_max": the saved one, or else computed from the
    /// value.
    pub fn reduction<'a>(&self, at: impl Into<At<'a>>, reduction: &str) -> Result<Value> {
        let at = at.into();
        let worker = at.worker()?;
        let (mode, worker) = (at.mode as i32, pointer(&worker));
        let (name, absolute) = reduction_parts(reduction)?;
        let (name, raw) = (name.as_ptr(), self.as_raw());
        // SAFETY: the arguments are valid during the call.
        created(|out| unsafe { sys::smd_tensor_reduction(raw, at.step, mode, worker, name, absolute, out) })
            .map(Value::from_owned)
    }

    /// The names of the reductions saved at a step.
    pub fn reductions<'a>(&self, at: impl Into<At<'a>>) -> Result<Vec<String>> {
        let at = at.into();
        let worker = at.worker()?;
        let (mode, worker) = (at.mode as i32, pointer(&worker));
        // SAFETY: the arguments are valid during the call.
        let list =
            created(|out| unsafe { sys::smd_tensor_reductions(self.as_raw(), at.step, mode, worker, out) })?;
        Ok(list.to_vec())
    }

    /// The elements at all steps of a mode within a range, read at once on several threads.
    pub fn values(&self, steps: impl RangeBounds<i64>, mode: Mode) -> Result<Values> {
        let (first, end) = bounds(&steps, i64::MAX);
        // SAFETY: the arguments are valid during the call.
        created(|out| unsafe { sys::smd_tensor_values(self.as_raw(), first, end, mode as i32, null(), out) })
            .map(Values::from_owned)
    }

    /// A reduction at all steps of a mode within a range.
    pub fn reduction_values(&self, steps: impl RangeBounds<i64>, mode: Mode, reduction: &str) -> Result<Values> {
        let (first, end) = bounds(&steps, i64::MAX);
        let (name, absolute) = reduction_parts(reduction)?;
        let (name, raw, mode) = (name.as_ptr(), self.as_raw(), mode as i32);
        // SAFETY: the arguments are valid during the call.
        created(|out| unsafe {
            sys::smd_tensor_reduction_values(raw, first, end, mode, null(), name, absolute, out)
        })
        .map(Values::from_owned)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The name and the switch that the library takes for "abs_max".
pub(crate) fn reduction_parts(reduction: &str) -> Result<(CString, i32)> {
    let plain = reduction.strip_prefix("abs_");
    let name = text("name of a reduction", plain.unwrap_or(reduction).as_bytes())?;
    Ok((name, plain.is_some().into()))
}

fn pointer(text: &Option<CString>) -> *const std::ffi::c_char {
    text.as_ref().map_or(null(), |text| text.as_ptr())
}

/// The first step of a range, and the one before which it ends; `without_end` if it has no end.
/// Neither is negative otherwise: no step is, and the library takes a negative end for none.
pub(crate) fn bounds(steps: &impl RangeBounds<i64>, without_end: i64) -> (i64, i64) {
    let first = match steps.start_bound() {
        Bound::Included(&first) => first,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match steps.end_bound() {
        Bound::Included(&i64::MAX) | Bound::Unbounded => return (first.max(0), without_end),
        Bound::Included(&last) => last + 1,
        Bound::Excluded(&end) => end,
    };
    (first.max(0), end.max(0))
}
