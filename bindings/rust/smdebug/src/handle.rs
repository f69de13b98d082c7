//! Owning handles of the library, and its texts and lists.

use smdebug_sys as sys;
use std::ffi::{c_char, CStr};
use std::ptr::NonNull;

/// A type of the library that has a function to free it.
pub(crate) trait Free {
    /// # Safety
    /// `raw` belongs to the caller, who does not use it again.
    unsafe fn free(raw: *mut Self);
}

/// A handle that is freed when this is dropped.
pub(crate) struct Owned<T: Free>(NonNull<T>);

// SAFETY: the library allows every handle of this crate to be freed on any thread, and to be used
// from several at once.  Options and configs, which only one thread may set, stay on the stack.
unsafe impl<T: Free> Send for Owned<T> {}
unsafe impl<T: Free> Sync for Owned<T> {}

impl<T: Free> Owned<T> {
    /// # Safety
    /// `raw` is a handle that the caller owns.
    pub(crate) unsafe fn from_raw(raw: *mut T) -> Self {
        // SAFETY: a handle is not NULL.
        Owned(unsafe { NonNull::new_unchecked(raw) })
    }

    pub(crate) fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T: Free> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: this owns the handle.
        unsafe { T::free(self.0.as_ptr()) }
    }
}

macro_rules! freed_by {
    ($($raw:ident: $free:ident,)*) => {
        $(impl Free for sys::$raw {
            unsafe fn free(raw: *mut Self) {
                // SAFETY: as the caller says.
                unsafe { sys::$free(raw) }
            }
        })*
    };
}

freed_by! {
    smd_collection: smd_collection_free,
    smd_diagnosis: smd_diagnosis_free,
    smd_error: smd_error_free,
    smd_findings: smd_findings_free,
    smd_hook: smd_hook_free,
    smd_hook_options: smd_hook_options_free,
    smd_integers: smd_integers_free,
    smd_reduction_config: smd_reduction_config_free,
    smd_rule_results: smd_rule_results_free,
    smd_rule_set: smd_rule_set_free,
    smd_save_config: smd_save_config_free,
    smd_strings: smd_strings_free,
    smd_tensor: smd_tensor_free,
    smd_text: smd_text_free,
    smd_trial: smd_trial_free,
    smd_trial_options: smd_trial_options_free,
    smd_value: smd_value_free,
    smd_values: smd_values_free,
}

/// # Safety
/// `text` is a text of the library that never changes and is never freed.
pub(crate) unsafe fn static_text(text: *const c_char) -> &'static str {
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default()
}

/// Copies a text of the library.  It may be the name of a file that someone else wrote: bytes that
/// are no UTF-8 become U+FFFD.
///
/// # Safety
/// `text` is valid.
pub(crate) unsafe fn copied(text: *const c_char) -> String {
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl Owned<sys::smd_strings> {
    pub(crate) fn to_vec(&self) -> Vec<String> {
        // SAFETY: the list is valid, and the index within it.
        unsafe {
            let count = sys::smd_strings_count(self.as_ptr());
            (0..count).map(|at| copied(sys::smd_strings_get(self.as_ptr(), at))).collect()
        }
    }
}

impl Owned<sys::smd_integers> {
    pub(crate) fn as_slice(&self) -> &[i64] {
        // SAFETY: the list is valid as long as the result; NULL is an empty list's.
        unsafe {
            let data = sys::smd_integers_data(self.as_ptr());
            slice(data, sys::smd_integers_count(self.as_ptr()))
        }
    }
}

/// # Safety
/// `data` has `count` elements, or is NULL if `count` is 0.
pub(crate) unsafe fn slice<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(data, count) }
}
