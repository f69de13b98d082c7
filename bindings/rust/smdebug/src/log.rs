//! Functions that take log lines.

use crate::error::check;
use crate::handle::copied;
use crate::{LogLevel, Result};
use smdebug_sys as sys;
use std::ffi::{c_char, c_void};
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

type Sink = dyn Fn(LogLevel, &str) + Send + Sync;

/// A function that takes log lines, from a level on.
#[derive(Clone)]
pub(crate) struct Log {
    level: LogLevel,
    sink: Arc<Sink>,
}

impl Log {
    pub(crate) fn new(level: LogLevel, sink: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        Log { level, sink: Arc::new(sink) }
    }

    /// Passes the function to the library by `set_log`, which takes level, function, user data and
    /// the function that frees them.
    pub(crate) fn give(
        &self,
        set_log: impl FnOnce(i32, sys::smd_log_fn, *mut c_void, sys::smd_release_fn) -> *mut sys::smd_error,
    ) -> Result<()> {
        let user_data: *mut Arc<Sink> = Box::into_raw(Box::new(Arc::clone(&self.sink)));
        // The library calls `destroy` also if this fails.
        check(set_log(self.level as i32, Some(write), user_data.cast(), Some(destroy)))
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("level", &self.level).finish_non_exhaustive()
    }
}

/// A panic must not unwind into C, and a log line is no reason to end a training.
unsafe extern "C" fn write(user_data: *mut c_void, level: i32, message: *const c_char) {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the library passes what give() gave it, and a text.
        let (sink, message) = unsafe { (&*user_data.cast::<Arc<Sink>>(), copied(message)) };
        sink(LogLevel::from_raw(level), &message);
    }));
}

unsafe extern "C" fn destroy(user_data: *mut c_void) {
    // SAFETY: the library calls this once with what give() gave it.
    let _ = catch_unwind(|| drop(unsafe { Box::from_raw(user_data.cast::<Arc<Sink>>()) }));
}
