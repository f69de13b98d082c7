//! Records the tensors of a training run while it runs, reads them back, and checks them with
//! rules: which gradient vanished, at which step, in which layer.
//!
//! ```
//! use smdebug::{Action, Hook, Mode, RuleSet, SaveConfig, Trial, View};
//!
//! fn main() -> smdebug::Result<()> {
//! #   let folder = std::env::temp_dir().join(format!("smdebug-doc-{}", std::process::id()));
//! #   let _ = std::fs::remove_dir_all(&folder);
//! #   std::fs::create_dir_all(&folder).unwrap();
//! #   std::env::set_current_dir(&folder).unwrap();
//!     let hook = Hook::options("run")
//!         .include_collections(["weights", "gradients"])
//!         .save_config(SaveConfig::every(10))
//!         .open()?;
//!     let weight = vec![0.5_f32; 64 * 32];
//!     for number in 0..100 {
//!         let step = hook.step(Mode::Train)?;
//!         step.save("layer1.weight", View::new(&weight, &[64, 32]))?;
//!         step.save("gradient/layer1.weight", &[0.5_f64.powi(number)])?;
//!         step.save("loss", &(1.0 / f64::from(1 + number)))?;
//!         step.end()?;
//!     }
//!     hook.close()?;
//!
//!     let trial = Trial::open("run")?;
//!     assert_eq!(trial.tensor_names()?, ["gradient/layer1.weight", "layer1.weight", "loss"]);
//!     let value = trial.tensor("layer1.weight")?.value((90, Mode::Train))?;
//!     assert_eq!(value.shape(), [64, 32]);
//!     assert_eq!(value.as_slice::<f32>()?, weight);
//!
//!     let rules = RuleSet::new()?;
//!     rules.add("VanishingGradient", &[("threshold", "1e-20"), ("patience", "1")], Action::Stop)?;
//!     let findings = rules.evaluate(&trial)?;
//!     assert_eq!(findings[0].tensor, "gradient/layer1.weight");
//!     Ok(())
//! }
//! ```
//!
//! # Handles and threads
//!
//! A [`Hook`], [`Trial`], [`Tensor`], [`Value`] and [`RuleSet`] may be used from several threads at
//! once, and dropped in any order: a tensor outlives its trial, a value its tensor.  In a process
//! that was forked, calls on those that the parent made fail with [`ErrorCode::AfterFork`].
//!
//! # What is not here
//!
//! Late tensors, statistics in place of tensors, placements and full values of tensors of which each
//! worker has a part, prefetching, tensors of DLPack, profiles, tables, checks of a store, and the
//! export for TensorBoard are in [`sys`], the C interface.  `as_raw` of a hook, trial, tensor, value or rule set
//! gives the handle that its functions take.
//!
//! # Features
//!
//! `half` and `num-complex`, both off by default, make the types of those crates an [`Element`].

mod builtin_rules;
mod collection;
mod config;
mod element;
mod enums;
mod error;
mod finding;
mod follow;
mod handle;
mod hook;
mod hook_options;
mod log;
mod names;
mod rule_function;
mod rule_set;
mod still;
mod tensor;
mod trial;
mod value;
mod view;

pub use builtin_rules::{builtin_rules, RuleInfo, RuleParameter};
pub use collection::Collection;
pub use config::{ReductionConfig, SaveConfig, Steps};
pub use element::{Complex, Element};
pub use enums::{Action, DType, Level, LogLevel, Mode, RuleStatus, StepState};
pub use error::{Error, ErrorCode, Result};
pub use finding::{Cause, Evidence, Finding, RuleResult};
pub use follow::{Follow, FollowFindings};
pub use hook::{Hook, Step};
pub use hook_options::HookOptions;
pub use names::NameFilter;
pub use rule_function::{NewFinding, RuleStep};
pub use rule_set::{Evaluation, EvaluationError, Profile, RuleSet};
pub use smdebug_sys as sys;
pub use still::Still;
pub use tensor::{At, Tensor};
pub use trial::{Trial, TrialOptions};
pub use value::{Value, Values, ValuesIter};
pub use view::View;

/// The version of the loaded library, such as "1.0.0".
pub fn library_version() -> &'static str {
    // SAFETY: the text is static.
    unsafe { handle::static_text(sys::smd_version_string()) }
}
