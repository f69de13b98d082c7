//! Recording.

use crate::error::{check, created, text};
use crate::finding::findings_of;
use crate::handle::Owned;
use crate::{Action, Collection, Element, Error, ErrorCode, Finding, HookOptions, Mode, Result, RuleSet, View};
use smdebug_sys as sys;
use std::ffi::{c_char, c_void, CString};
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::ptr::null;
use std::time::Duration;

/// Records the tensors of a running job as a trial.
///
/// Call [`Hook::close`] at the end: a hook that is only dropped writes the steps that ended, but no
/// end marker, and its trial looks like that of a job that was killed.
pub struct Hook(Owned<sys::smd_hook>);

impl Hook {
    /// Options for a hook that records into a folder, or `s3://bucket/prefix`.
    pub fn options(out_dir: impl AsRef<Path>) -> HookOptions {
        HookOptions::new(out_dir.as_ref())
    }

    pub(crate) fn from_owned(owned: Owned<sys::smd_hook>) -> Self {
        Hook(owned)
    }

    /// The handle, for functions of [`sys`](crate::sys).  It stays this hook's.
    pub fn as_raw(&self) -> *mut sys::smd_hook {
        self.0.as_ptr()
    }

    /// Begins the next step of a mode.
    ///
    /// The step is recorded when it is ended, and discarded if it is dropped before, for example
    /// because `?` returned early.
    ///
    /// # Errors
    /// Fails with [`ErrorCode::WrongState`] if a step is open.
    pub fn step(&self, mode: Mode) -> Result<Step<'_>> {
        let mut global = 0;
        // SAFETY: the hook is valid.
        unsafe {
            check(sys::smd_hook_set_mode(self.as_raw(), mode as i32))?;
            check(sys::smd_hook_begin_step(self.as_raw(), &mut global))?;
        }
        Ok(Step { hook: self, global, is_open: true })
    }

    /// Saves one number as the tensor `scalar/<name>`, with the next step that saves anything.
    pub fn save_scalar(&self, name: &str, number: f64) -> Result<()> {
        let name = text("name of a scalar", name.as_bytes())?;
        // SAFETY: the arguments are valid during the call.
        let save = |view: *const _| unsafe { sys::smd_hook_save_scalar(self.as_raw(), name.as_ptr(), view, 0.0) };
        check(View::new(&[number], &[1]).with_raw(save)?)
    }

    /// Records a text about the job, such as a hyper-parameter.
    ///
    /// `run.failure` says why the job failed: its trial is then listed as failed.
    pub fn set_metadata(&self, key: &str, value: &str) -> Result<()> {
        let key = text("key of metadata", key.as_bytes())?;
        let value = text("value of metadata", value.as_bytes())?;
        // SAFETY: the arguments are valid during the call.
        unsafe { check(sys::smd_hook_set_metadata(self.as_raw(), key.as_ptr(), value.as_ptr())) }
    }

    /// Copies a tensor and saves it into collections, with the next step that saves anything.
    pub fn save_custom<'a>(&self, name: &str, tensor: impl Into<View<'a>>, collections: &[&str]) -> Result<()> {
        let name = text("name of a tensor", name.as_bytes())?;
        let list = strings(collections)?;
        // SAFETY: the arguments are valid during the call.
        let save = |view: *const _| unsafe {
            sys::smd_hook_save_custom(self.as_raw(), name.as_ptr(), view, list.as_ptr())
        };
        check(tensor.into().with_raw(save)?)
    }

    /// The names of all collections, in the order they were made.
    pub fn collections(&self) -> Result<Vec<String>> {
        // SAFETY: the arguments are valid during the call.
        Ok(created(|out| unsafe { sys::smd_hook_collections(self.as_raw(), out) })?.to_vec())
    }

    /// A copy of the collection of that name, with the names of its tensors so far.
    ///
    /// # Errors
    /// Fails with [`ErrorCode::NotFound`] if there is none.
    pub fn collection(&self, name: &str) -> Result<Collection> {
        let name = text("name of a collection", name.as_bytes())?;
        // SAFETY: the arguments are valid during the call.
        let raw = created(|out| unsafe { sys::smd_hook_collection(self.as_raw(), name.as_ptr(), out) })?;
        Collection::from_raw(&raw)
    }

    /// Adds a collection, or replaces that of the same name, from the next step on.
    pub fn add_collection(&self, collection: &Collection) -> Result<()> {
        // SAFETY: the arguments are valid during the call; the hook keeps the collection.
        check(unsafe { sys::smd_hook_add_collection(self.as_raw(), collection.to_raw()?.as_ptr()) })
    }

    /// The last global step, or the last step of a mode.
    pub fn last_step(&self, mode: Mode) -> Option<i64> {
        // SAFETY: the hook is valid.
        let step = unsafe { sys::smd_hook_last_step(self.as_raw(), mode as i32) };
        (step >= 0).then_some(step)
    }

    /// Returns true if this process writes.
    pub fn is_recording(&self) -> bool {
        // SAFETY: the hook is valid.
        unsafe { sys::smd_hook_is_recording(self.as_raw()) != 0 }
    }

    /// A count since the hook was made: "steps_written", "steps_dropped", "steps_failed",
    /// "tensors_written", "bytes_written", "bytes_queued" or "selections" (as long as it is the
    /// same, steps want the same tensors).
    pub fn count(&self, name: &str) -> Option<i64> {
        let name = CString::new(name).ok()?;
        // SAFETY: the arguments are valid during the call.
        let count = unsafe { sys::smd_hook_count(self.as_raw(), name.as_ptr()) };
        (count >= 0).then_some(count)
    }

    /// Attaches a rule set: from the next step on, it evaluates each step as it ends.
    ///
    /// # Errors
    /// Fails if the set has functions, which read a trial, or belongs to a trial or another hook.
    pub fn attach(&self, rules: &RuleSet) -> Result<()> {
        // SAFETY: both handles are valid; the hook keeps the rules.
        check(unsafe { sys::smd_hook_attach(self.as_raw(), rules.as_raw()) })
    }

    /// The most severe action that the findings of the last evaluated step recommend.
    pub fn action(&self) -> Action {
        // SAFETY: the hook is valid.
        Action::from_raw(unsafe { sys::smd_hook_action(self.as_raw()) })
    }

    /// The findings of attached rules since the last call.
    pub fn take_findings(&self) -> Result<Vec<Finding>> {
        // SAFETY: the arguments are valid during the call.
        created(|out| unsafe { sys::smd_hook_take_findings(self.as_raw(), out) }).map(|list| findings_of(&list))
    }

    /// Waits until every ended step is written; at most that long.
    pub fn flush(&self, timeout: Option<Duration>) -> Result<()> {
        // SAFETY: the hook is valid.
        check(unsafe { sys::smd_hook_flush(self.as_raw(), milliseconds(timeout)) })
    }

    /// Ends the trial: writes all queued steps, and the end marker.  A second call does nothing.
    ///
    /// # Errors
    /// Returns the first error of the background writer that no call reported.
    pub fn close(&self) -> Result<()> {
        // SAFETY: the hook is valid.
        check(unsafe { sys::smd_hook_close(self.as_raw()) })
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").field("last_step", &self.last_step(Mode::Global)).finish_non_exhaustive()
    }
}

/// An open step.  Dropping it discards it; [`Step::end`] records it.
#[must_use = "a step that is dropped is discarded"]
pub struct Step<'hook> {
    hook: &'hook Hook,
    global: i64,
    is_open: bool,
}

impl Step<'_> {
    /// The step's number among all steps of the job.
    pub fn global_step(&self) -> i64 {
        self.global
    }

    /// Returns true if the step saves this tensor, or attached rules evaluate it.
    pub fn wants(&self, name: &str) -> bool {
        let Ok(name) = CString::new(name) else { return false };
        // SAFETY: the arguments are valid during the call.
        unsafe { sys::smd_hook_wants(self.hook.as_raw(), name.as_ptr()) != 0 }
    }

    /// Returns true if the step saves anything at all, or attached rules evaluate it.
    pub fn saves_step(&self) -> bool {
        // SAFETY: the hook is valid.
        unsafe { sys::smd_hook_saves_step(self.hook.as_raw()) != 0 }
    }

    /// Saves these collections too, whatever their save configs select, for example at the end of an
    /// epoch.  Collections that the hook does not include stay unsaved.
    pub fn add_to_step<S: AsRef<str>>(&self, collections: &[S]) -> Result<()> {
        let names = strings(collections)?;
        // SAFETY: the arguments are valid during the call.
        check(unsafe { sys::smd_hook_add_to_step(self.hook.as_raw(), names.as_ptr()) })
    }

    /// Saves a tensor, if a collection selects it.  An unselected tensor costs one hash look-up.
    ///
    /// # Errors
    /// Fails if the shape does not fit the elements.  Errors of the background writer come from
    /// [`Hook::flush`] and [`Hook::close`], unless the option "report_errors" is "soon".
    pub fn save<'a>(&self, name: &str, tensor: impl Into<View<'a>>) -> Result<()> {
        let name = text("name of a tensor", name.as_bytes())?;
        // SAFETY: the arguments are valid during the call.
        let save = |view: *const _| unsafe { sys::smd_hook_save(self.hook.as_raw(), name.as_ptr(), view) };
        check(tensor.into().with_raw(save)?)
    }

    /// Saves a tensor without a copy: the library keeps `data`, for example a `Vec` or an
    /// `Arc<[f32]>`, until it is written, and then drops it on any thread.
    pub fn save_owned<T: Element, D>(&self, name: &str, data: D, shape: &[usize]) -> Result<()>
    where
        D: AsRef<[T]> + Send + 'static,
    {
        let name = text("name of a tensor", name.as_bytes())?;
        let owner = Box::into_raw(Box::new(data));
        // SAFETY: the box is freed by release::<D>() alone, which the library calls once, also if it
        // fails; before that nobody changes it, and its contents do not move.
        let saved = View::new(unsafe { (*owner).as_ref() }, shape).with_raw(|view| unsafe {
            sys::smd_hook_save_owned(self.hook.as_raw(), name.as_ptr(), view, Some(release::<D>), owner.cast())
        });
        check(saved.inspect_err(|_| {
            // SAFETY: the library was not called.
            drop(unsafe { Box::from_raw(owner) });
        })?)
    }

    /// Saves a tensor of texts.
    pub fn save_texts<S: AsRef<str>>(&self, name: &str, texts: &[S], shape: &[usize]) -> Result<()> {
        let name = text("name of a tensor", name.as_bytes())?;
        let texts: Vec<CString> =
            texts.iter().map(|each| text("text", each.as_ref().as_bytes())).collect::<Result<_>>()?;
        if shape.iter().try_fold(1_usize, |product, &size| product.checked_mul(size)) != Some(texts.len()) {
            let message = format!("a tensor of the shape {shape:?} does not fit {} texts", texts.len());
            return Err(Error::new(ErrorCode::InvalidArgument, message));
        }
        let pointers: Vec<*const c_char> = texts.iter().map(|each| each.as_ptr()).collect();
        let view = sys::smd_tensor_view {
            struct_size: std::mem::size_of::<sys::smd_tensor_view>(),
            data: pointers.as_ptr().cast(),
            shape: shape.as_ptr().cast(),
            strides: null(),
            ndim: i32::try_from(shape.len()).unwrap_or(i32::MAX),
            dtype: sys::SMD_STRING,
        };
        // SAFETY: the arguments are valid during the call.
        check(unsafe { sys::smd_hook_save(self.hook.as_raw(), name.as_ptr(), &view) })
    }

    /// Ends the step.  Soon after, readers see all of its tensors at once.
    pub fn end(mut self) -> Result<()> {
        self.is_open = false;
        // SAFETY: the hook is valid.
        check(unsafe { sys::smd_hook_end_step(self.hook.as_raw()) })
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // It fails only if the step is no longer open.
            // SAFETY: the hook is valid.
            let _ = check(unsafe { sys::smd_hook_discard_step(self.hook.as_raw()) });
        }
    }
}

impl fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("global_step", &self.global).finish_non_exhaustive()
    }
}

/// Drops what save_owned() gave to the library.  A panic must not unwind into C.
unsafe extern "C" fn release<D>(owner: *mut c_void) {
    // SAFETY: the library calls this once with the box.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(owner.cast::<D>()) })));
}

/// A timeout as the library takes it; none is without limit.
pub(crate) fn milliseconds(timeout: Option<Duration>) -> i32 {
    timeout.map_or(-1, |timeout| i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX))
}

/// Makes a list of names.
pub(crate) fn strings<S: AsRef<str>>(names: &[S]) -> Result<Owned<sys::smd_strings>> {
    // SAFETY: the arguments are valid during the calls.
    unsafe {
        let list = created(|out| sys::smd_strings_new(out))?;
        for name in names {
            let name = text("name", name.as_ref().as_bytes())?;
            check(sys::smd_strings_add(list.as_ptr(), name.as_ptr()))?;
        }
        Ok(list)
    }
}
