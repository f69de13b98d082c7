//! When to save, and what to save of a tensor.

use crate::error::{check, created, text};
use crate::handle::Owned;
use crate::{Mode, Result};
use smdebug_sys as sys;

/// Which steps of a mode are saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Every so many steps, from `first` on.
    pub every: i64,
    /// The first step.
    pub first: i64,
    /// The step before which to stop.
    pub end: Option<i64>,
    /// These steps too.
    pub also: Vec<i64>,
}

impl Steps {
    /// Every so many steps, from step 0 on, without end.
    pub fn every(every: i64) -> Self {
        Steps { every, ..Steps::default() }
    }
}

impl Default for Steps {
    /// Every 500th step, as the library's default.
    fn default() -> Self {
        Steps { every: 500, first: 0, end: None, also: Vec::new() }
    }
}

const MODES: [Mode; 4] = [Mode::Train, Mode::Eval, Mode::Predict, Mode::Global];

/// Which steps are saved, mode by mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaveConfig([Option<Steps>; MODES.len()]);

impl SaveConfig {
    /// Every so many steps of every mode.
    pub fn every(every: i64) -> Self {
        SaveConfig(MODES.map(|_| Some(Steps::every(every))))
    }

    /// These steps of one mode.  Modes that are not named use the library's default.
    pub fn mode(mut self, mode: Mode, steps: Steps) -> Self {
        self.0[place(mode)] = Some(steps);
        self
    }

    /// Which steps of a mode are saved; none if the mode is not named.
    pub fn steps(&self, mode: Mode) -> Option<&Steps> {
        self.0[place(mode)].as_ref()
    }

    /// Copies a config of the library: the modes that have settings of their own.
    pub(crate) fn from_raw(config: &Owned<sys::smd_save_config>) -> Result<Self> {
        let raw = config.as_ptr();
        let mut copy = SaveConfig::default();
        for (mode, copied) in MODES.iter().zip(&mut copy.0) {
            let mode = *mode as i32;
            // SAFETY: the config is valid during the call.
            if unsafe { sys::smd_save_config_is_set(raw, mode) } == 0 {
                continue;
            }
            let (mut every, mut first, mut end) = (0, 0, 0);
            // SAFETY: the arguments are valid during the call.
            let also = created(|out| unsafe {
                sys::smd_save_config_get(raw, mode, &mut every, &mut first, &mut end, out)
            })?;
            let (end, also) = ((end >= 0).then_some(end), also.as_slice().to_vec());
            *copied = Some(Steps { every, first, end, also });
        }
        Ok(copy)
    }

    pub(crate) fn to_raw(&self) -> Result<Owned<sys::smd_save_config>> {
        // SAFETY: the argument is valid during the call.
        let config = created(|out| unsafe { sys::smd_save_config_new(out) })?;
        for (mode, steps) in MODES.iter().zip(&self.0) {
            let Some(Steps { every, first, end, also }) = steps else { continue };
            let (raw, mode) = (config.as_ptr(), *mode as i32);
            // To the library, a negative end means none.
            let end = end.map_or(-1, |end| end.max(0));
            // SAFETY: the handle and the array are valid during the call.
            check(unsafe { sys::smd_save_config_set(raw, mode, *every, *first, end, also.as_ptr(), also.len()) })?;
        }
        Ok(config)
    }
}

/// The place of a mode in a save config.
fn place(mode: Mode) -> usize {
    MODES.iter().position(|&each| each == mode).expect("MODES has every mode")
}

/// What is saved of a tensor: reductions, its elements, its shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReductionConfig {
    reductions: Vec<String>,
    raw: bool,
    shape: bool,
}

impl ReductionConfig {
    /// Saves these reductions, such as "mean" and "abs_max", and nothing else.
    pub fn new<S: Into<String>>(reductions: impl IntoIterator<Item = S>) -> Self {
        ReductionConfig { reductions: reductions.into_iter().map(Into::into).collect(), ..Default::default() }
    }

    /// Sets whether the elements are saved too.
    pub fn raw(self, raw: bool) -> Self {
        ReductionConfig { raw, ..self }
    }

    /// Sets whether the shape is saved too.
    pub fn shape(self, shape: bool) -> Self {
        ReductionConfig { shape, ..self }
    }

    /// The names of the reductions that are saved.
    pub fn reductions(&self) -> &[String] {
        &self.reductions
    }

    /// Returns true if the elements are saved too.
    pub fn saves_raw(&self) -> bool {
        self.raw
    }

    /// Returns true if the shape is saved too.
    pub fn saves_shape(&self) -> bool {
        self.shape
    }

    /// Copies a config of the library.
    pub(crate) fn from_raw(config: &Owned<sys::smd_reduction_config>) -> Result<Self> {
        let raw = config.as_ptr();
        // SAFETY: the config is valid during the calls.
        unsafe {
            Ok(ReductionConfig {
                reductions: created(|out| sys::smd_reduction_config_reductions(raw, out))?.to_vec(),
                raw: sys::smd_reduction_config_raw(raw) != 0,
                shape: sys::smd_reduction_config_shape(raw) != 0,
            })
        }
    }

    pub(crate) fn to_raw(&self) -> Result<Owned<sys::smd_reduction_config>> {
        let names = text("list of reductions", self.reductions.join(",").as_bytes())?;
        // SAFETY: the handles and texts are valid during the calls.
        unsafe {
            let config = created(|out| sys::smd_reduction_config_new(out))?;
            if !self.reductions.is_empty() {
                check(sys::smd_reduction_config_add(config.as_ptr(), names.as_ptr()))?;
            }
            check(sys::smd_reduction_config_set_raw(config.as_ptr(), self.raw.into()))?;
            check(sys::smd_reduction_config_set_shape(config.as_ptr(), self.shape.into()))?;
            Ok(config)
        }
    }
}
