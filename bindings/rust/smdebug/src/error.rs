//! Errors of the library.

use crate::handle::{static_text, Free, Owned};
use smdebug_sys as sys;
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::{null_mut, NonNull};

/// What a call of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed: a code, and one line that says what failed, where, and what to do.
pub struct Error(Owned<sys::smd_error>);

impl Error {
    /// Makes an error, for a rule function to return.  NULs in the message become U+FFFD.
    pub fn new(code: ErrorCode, message: impl AsRef<str>) -> Error {
        let text = CString::new(message.as_ref().replace('\0', "\u{fffd}")).unwrap_or_default();
        // SAFETY: the text is copied; the result is never NULL.
        unsafe { Error(Owned::from_raw(sys::smd_error_new(code.raw(), text.as_ptr()))) }
    }

    /// The kind of error.
    pub fn code(&self) -> ErrorCode {
        // SAFETY: the handle is valid.
        ErrorCode::from_raw(unsafe { sys::smd_error_code(self.0.as_ptr()) })
    }

    /// One line: what failed, where, and what to do.
    pub fn message(&self) -> Cow<'_, str> {
        // SAFETY: the text is valid as long as the error.
        unsafe { CStr::from_ptr(sys::smd_error_message(self.0.as_ptr())) }.to_string_lossy()
    }

    /// A named detail, such as "path", "step", "tensor" or "http_status".
    pub fn detail(&self, key: &str) -> Option<Cow<'_, str>> {
        let key = CString::new(key).ok()?;
        // SAFETY: the text is valid as long as the error.
        unsafe {
            let text = sys::smd_error_detail(self.0.as_ptr(), key.as_ptr());
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy())
        }
    }

    /// Returns true if the same call may succeed later without a change by the caller.
    pub fn is_retryable(&self) -> bool {
        // SAFETY: the handle is valid.
        unsafe { sys::smd_error_is_retryable(self.0.as_ptr()) != 0 }
    }

    /// Passes the error to the library, which frees it.
    pub(crate) fn into_raw(self) -> *mut sys::smd_error {
        ManuallyDrop::new(self.0).as_ptr()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_struct("Error");
        tuple.field("code", &self.code()).field("message", &self.message()).finish()
    }
}

impl std::error::Error for Error {}

/// Returns the error that a function of the library returned, if it is one.
pub(crate) fn check(error: *mut sys::smd_error) -> Result<()> {
    match NonNull::new(error) {
        None => Ok(()),
        // SAFETY: the library transfers ownership of the error.
        Some(error) => Err(Error(unsafe { Owned::from_raw(error.as_ptr()) })),
    }
}

/// Returns the handle that `make` stores through its argument, or NULL if it stores none.
pub(crate) fn optional<T: Free>(
    make: impl FnOnce(*mut *mut T) -> *mut sys::smd_error,
) -> Result<Option<Owned<T>>> {
    let mut raw = null_mut();
    let result = check(make(&mut raw));
    // SAFETY: the library transfers ownership of what it stores.
    let owned = NonNull::new(raw).map(|raw| unsafe { Owned::from_raw(raw.as_ptr()) });
    result.map(|()| owned)
}

/// Returns the handle that `make` stores through its argument.
pub(crate) fn created<T: Free>(make: impl FnOnce(*mut *mut T) -> *mut sys::smd_error) -> Result<Owned<T>> {
    optional(make).map(|owned| owned.expect("a function of libsmdebug that succeeds returns a handle"))
}

/// Checks that the loaded library is new enough for this crate.
pub(crate) fn require_library() -> Result<()> {
    // SAFETY: takes any number.
    check(unsafe { sys::smd_require_abi(sys::SMD_ABI_LEVEL) })
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $raw:ident,)*) => {
        /// The kind of an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* $variant,)*
            /// A code of a newer library.
            Other(i32),
        }

        impl ErrorCode {
            fn from_raw(raw: i32) -> Self {
                match raw {
                    $(sys::$raw => Self::$variant,)*
                    other => Self::Other(other),
                }
            }

            fn raw(self) -> i32 {
                match self {
                    $(Self::$variant => sys::$raw,)*
                    Self::Other(raw) => raw,
                }
            }
        }
    };
}

codes! {
    /// An argument is not valid.
    InvalidArgument = SMD_INVALID_ARGUMENT,
    /// A setting is not valid.
    InvalidConfig = SMD_INVALID_CONFIG,
    /// The handle is in a state that forbids the call.
    WrongState = SMD_WRONG_STATE,
    /// The loaded library is too old for this crate.
    AbiMismatch = SMD_ABI_MISMATCH,
    /// Not supported.
    Unsupported = SMD_UNSUPPORTED,
    /// The handle belongs to the process that this one was forked from.
    AfterFork = SMD_AFTER_FORK,
    /// A finished trial is already there.
    TrialExists = SMD_TRIAL_EXISTS,
    /// The step was not saved and never will be.
    StepUnavailable = SMD_STEP_UNAVAILABLE,
    /// The step may still come.
    StepNotYet = SMD_STEP_NOT_YET,
    /// The job ended before this step.
    NoMoreData = SMD_NO_MORE_DATA,
    /// No tensor with this name was saved so far.
    TensorUnavailable = SMD_TENSOR_UNAVAILABLE,
    /// No value was saved at this step.
    ValueUnavailable = SMD_VALUE_UNAVAILABLE,
    /// No worker with this name saved the tensor there.
    WorkerUnknown = SMD_WORKER_UNKNOWN,
    /// Nothing was recorded there.
    MissingCollections = SMD_MISSING_COLLECTIONS,
    /// A file is damaged.
    CorruptData = SMD_CORRUPT_DATA,
    /// Neither shape nor value was saved at this step.
    ShapeUnavailable = SMD_SHAPE_UNAVAILABLE,
    /// Reading or writing failed.
    Io = SMD_IO,
    /// Something does not exist.
    NotFound = SMD_NOT_FOUND,
    /// Access is denied.
    Permission = SMD_PERMISSION,
    /// The network failed.
    Network = SMD_NETWORK,
    /// Credentials are missing.
    Credentials = SMD_CREDENTIALS,
    /// It took too long.
    Timeout = SMD_TIMEOUT,
    /// Another thread cancelled it.
    Cancelled = SMD_CANCELLED,
    /// Memory ran out.
    OutOfMemory = SMD_OUT_OF_MEMORY,
    /// The queue's policy dropped a step.
    StepDropped = SMD_STEP_DROPPED,
    /// The disk is full.
    NoSpace = SMD_NO_SPACE,
    /// A certificate or the handshake was refused.
    Tls = SMD_TLS,
    /// The key is unknown or the secret is wrong.
    CredentialsRefused = SMD_CREDENTIALS_REFUSED,
    /// The session token is no longer valid.
    CredentialsExpired = SMD_CREDENTIALS_EXPIRED,
    /// The clock of this machine is off by minutes.
    ClockSkewed = SMD_CLOCK_SKEWED,
    /// The bucket is in another region.
    WrongRegion = SMD_WRONG_REGION,
    /// The bucket does not exist.
    BucketNotFound = SMD_BUCKET_NOT_FOUND,
    /// The service limits the rate of requests.
    Throttled = SMD_THROTTLED,
    /// A callback failed.
    CallbackFailed = SMD_CALLBACK_FAILED,
    /// The library has a bug.
    Internal = SMD_INTERNAL,
    /// A rule has a finding, and the caller asked for an error then.
    RuleConditionMet = SMD_RULE_CONDITION_MET,
}

impl fmt::Display for ErrorCode {
    /// Prints the name that all languages use, such as `STEP_UNAVAILABLE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the text is static.
        f.write_str(unsafe { static_text(sys::smd_code_name(self.raw())) })
    }
}

/// Returns a C string of a name or path; fails if it contains a NUL.
pub(crate) fn text(what: &str, bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(|_| {
        let shown = String::from_utf8_lossy(bytes).replace('\0', "\\0");
        Error::new(ErrorCode::InvalidArgument, format!("the {what} \"{shown}\" contains a NUL byte; remove it"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_library_is_known() {
        let known = |raw: &i32| unsafe { static_text(sys::smd_code_name(*raw)) } != "UNKNOWN";
        let codes: Vec<i32> = (1..1000).filter(known).collect();
        assert!(codes.len() > 30);
        for raw in codes {
            let code = ErrorCode::from_raw(raw);
            assert!(!matches!(code, ErrorCode::Other(_)), "{code}");
            assert_eq!(code.raw(), raw);
        }
    }

    #[test]
    fn an_error_has_code_and_message() {
        let error = Error::new(ErrorCode::CorruptData, "it\0broke");
        assert_eq!((error.code(), &*error.message()), (ErrorCode::CorruptData, "it\u{fffd}broke"));
        assert_eq!(format!("{error:?}"), "Error { code: CorruptData, message: \"it\u{fffd}broke\" }");
        assert_eq!(error.code().to_string(), "CORRUPT_DATA");
        assert_eq!(error.detail("path"), None);
        assert!(!error.is_retryable());
    }
}
