//! The enumerations of the C interface.

use crate::handle::static_text;
use smdebug_sys as sys;
use std::fmt;

/// Defines an enumeration with the numbers of the C interface.
macro_rules! enumeration {
    ($(#[$about:meta])* $name:ident, $fallback:ident, { $($(#[$doc:meta])* $variant:ident = $raw:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum $name { $($(#[$doc])* $variant = sys::$raw,)* }

        impl $name {
            /// A number that a newer library returns, and that this crate does not know, is the
            /// fallback.
            #[allow(dead_code)]
            pub(crate) fn from_raw(raw: i32) -> Self {
                match raw {
                    $(sys::$raw => Self::$variant,)*
                    _ => Self::$fallback,
                }
            }
        }
    };
}

/// Prints an enumeration by the name that the library gives it.
macro_rules! named {
    ($name:ident, $function:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // SAFETY: the text is static.
                f.write_str(unsafe { static_text(sys::$function(*self as i32)) })
            }
        }
    };
}

enumeration! {
    /// The purpose of a step.
    Mode, Global, {
        /// Training.
        Train = SMD_MODE_TRAIN,
        /// Evaluation.
        Eval = SMD_MODE_EVAL,
        /// Prediction.
        Predict = SMD_MODE_PREDICT,
        /// All steps of a job, counted in one sequence.
        Global = SMD_MODE_GLOBAL,
    }
}
named!(Mode, smd_mode_name);

enumeration! {
    /// The type of a tensor's elements.
    DType, Invalid, {
        /// A type that this version does not know.
        Invalid = SMD_DTYPE_INVALID,
        /// 16-bit floating point.
        Float16 = SMD_FLOAT16,
        /// 32-bit floating point.
        Float32 = SMD_FLOAT32,
        /// 64-bit floating point.
        Float64 = SMD_FLOAT64,
        /// 16-bit floating point with the exponent of float32.
        BFloat16 = SMD_BFLOAT16,
        /// 8-bit floating point, 5 bits of exponent.
        Float8E5M2 = SMD_FLOAT8_E5M2,
        /// 8-bit floating point, 4 bits of exponent, without infinities.
        Float8E4M3FN = SMD_FLOAT8_E4M3FN,
        /// Signed, 8 bits.
        Int8 = SMD_INT8,
        /// Signed, 16 bits.
        Int16 = SMD_INT16,
        /// Signed, 32 bits.
        Int32 = SMD_INT32,
        /// Signed, 64 bits.
        Int64 = SMD_INT64,
        /// Unsigned, 8 bits.
        UInt8 = SMD_UINT8,
        /// Unsigned, 16 bits.
        UInt16 = SMD_UINT16,
        /// Unsigned, 32 bits.
        UInt32 = SMD_UINT32,
        /// Unsigned, 64 bits.
        UInt64 = SMD_UINT64,
        /// One byte, 0 or 1.
        Bool = SMD_BOOL,
        /// Two float32.
        Complex64 = SMD_COMPLEX64,
        /// Two float64.
        Complex128 = SMD_COMPLEX128,
        /// Text.
        String = SMD_STRING,
    }
}
named!(DType, smd_dtype_name);

impl DType {
    /// The bytes of one element; 0 for text.
    pub fn size(self) -> usize {
        // SAFETY: takes any number.
        unsafe { sys::smd_dtype_size(self as i32) }
    }
}

enumeration! {
    /// Whether a step can be read.
    StepState, Unavailable, {
        /// The step was not saved and never will be.
        Unavailable = SMD_STEP_IS_UNAVAILABLE,
        /// The step can be read.
        Available = SMD_STEP_IS_AVAILABLE,
        /// The step may still come.
        NotYet = SMD_STEP_IS_NOT_YET,
    }
}

enumeration! {
    /// What a finding recommends.
    Action, Continue, {
        /// Continue the training.
        Continue = SMD_ACTION_CONTINUE,
        /// Warn someone.
        Warn = SMD_ACTION_WARN,
        /// Stop the training.
        Stop = SMD_ACTION_STOP,
    }
}
named!(Action, smd_action_name);

enumeration! {
    /// How sure a finding is.
    Level, Finding, {
        /// Sure.
        Finding = SMD_LEVEL_FINDING,
        /// It may be wrong; its action is [`Action::Continue`].
        WorthALook = SMD_LEVEL_WORTH_A_LOOK,
    }
}
named!(Level, smd_level_name);

enumeration! {
    /// A rule's result over all steps that it has evaluated.
    RuleStatus, Passed, {
        /// Evaluated, without a finding.
        Passed = SMD_RULE_PASSED,
        /// Found something at one step or more.
        HasFindings = SMD_RULE_HAS_FINDINGS,
        /// No matching tensors.
        NoTensors = SMD_RULE_NO_TENSORS,
        /// Matching tensors, but the rule needs more of them.
        NotEnoughData = SMD_RULE_NOT_ENOUGH_DATA,
        /// Nothing but findings worth a look.
        WorthALook = SMD_RULE_WORTH_A_LOOK,
    }
}
named!(RuleStatus, smd_rule_status_name);

enumeration! {
    /// The level of a log line.
    LogLevel, Debug, {
        /// Something failed.
        Error = SMD_LOG_ERROR,
        /// Something needs attention.
        Warning = SMD_LOG_WARNING,
        /// What happens.
        Info = SMD_LOG_INFO,
        /// Details.
        Debug = SMD_LOG_DEBUG,
    }
}
