//! The rules that the library has.

use crate::error::require_library;
use crate::handle::{slice, static_text};
use crate::Result;
use smdebug_sys as sys;

/// A built-in rule, for [`RuleSet::add`](crate::RuleSet::add).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleInfo {
    /// The rule's name.
    pub name: &'static str,
    /// When the rule finds something, in one sentence.
    pub summary: &'static str,
    /// The parameters it takes.
    pub parameters: Vec<RuleParameter>,
    /// The profile whose sets alone get the rule by [`RuleSet::add_all`](crate::RuleSet::add_all),
    /// such as "llm"; "" for a rule of any set.
    pub set: &'static str,
}

/// A parameter of a built-in rule.  A default of "" means that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleParameter {
    /// The parameter's name.
    pub name: &'static str,
    /// The default in [`Profile::Aws`](crate::Profile::Aws).
    pub aws: &'static str,
    /// The default in [`Profile::Calibrated`](crate::Profile::Calibrated).
    pub calibrated: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// Returns all built-in rules, with their parameters.
///
/// ```
/// # fn main() -> smdebug::Result<()> {
/// for rule in smdebug::builtin_rules()? {
///     println!("{}: {}", rule.name, rule.summary);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails with [`ErrorCode::AbiMismatch`](crate::ErrorCode::AbiMismatch) if the loaded library is too
/// old for this crate.
pub fn builtin_rules() -> Result<Vec<RuleInfo>> {
    require_library()?;
    // SAFETY: the indices are within the list, which is static and has no NULL in it.
    Ok(unsafe { (0..sys::smd_builtin_rule_count()).map(|at| info(&*sys::smd_builtin_rule(at))).collect() })
}

/// # Safety
/// The rule is the library's.
unsafe fn info(raw: &'static sys::smd_rule_info) -> RuleInfo {
    // SAFETY: texts and parameters are static, and the array is as long as the rule says.
    unsafe {
        let parameters = slice(raw.parameters, raw.parameter_count);
        RuleInfo {
            name: static_text(raw.name),
            summary: static_text(raw.summary),
            parameters: parameters.iter().map(|&each| parameter(&*each)).collect(),
            set: static_text(raw.set),
        }
    }
}

/// # Safety
/// The parameter is the library's.
unsafe fn parameter(raw: &'static sys::smd_rule_parameter) -> RuleParameter {
    // SAFETY: the texts are static.
    unsafe {
        RuleParameter {
            name: static_text(raw.name),
            aws: static_text(raw.aws),
            calibrated: static_text(raw.calibrated),
            meaning: static_text(raw.meaning),
        }
    }
}
