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

/// Which steps are saved, mode by mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaveConfig(Vec<(Option<Mode>, Steps)>);

impl SaveConfig {
    /// Every so many steps of every mode.
    pub fn every(every: i64) -> Self {
        SaveConfig(vec![(None, Steps::every(every))])
    }

    /// These steps of one mode.  Modes that are not named use the library's default.
    pub fn mode(mut self, mode: Mode, steps: Steps) -> Self {
        self.0.push((Some(mode), steps));
        self
    }

    pub(crate) fn to_raw(&self) -> Result<Owned<sys::smd_save_config>> {
        // SAFETY: the handles and arrays are valid during the calls.
        unsafe {
            let config = created(|out| sys::smd_save_config_new(out))?;
            for (mode, steps) in &self.0 {
                let mode = mode.map_or(sys::SMD_MODE_ANY, |mode| mode as i32);
                let (end, also) = (steps.end.unwrap_or(-1), &steps.also);
                check(sys::smd_save_config_set(
                    config.as_ptr(),
                    mode,
                    steps.every,
                    steps.first,
                    end,
                    also.as_ptr(),
                    also.len(),
                ))?;
            }
            Ok(config)
        }
    }
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

/// A named group of tensors, and how they are saved.
#[derive(Clone, Debug)]
pub struct Collection {
    name: String,
    regexes: Vec<String>,
    tensors: Vec<String>,
    save_config: Option<SaveConfig>,
    reduction_config: Option<ReductionConfig>,
}

impl Collection {
    /// An empty collection.
    pub fn new(name: impl Into<String>) -> Self {
        Collection {
            name: name.into(),
            regexes: Vec::new(),
            tensors: Vec::new(),
            save_config: None,
            reduction_config: None,
        }
    }

    /// Includes the tensors whose names match the regular expression, as Python's `re.search`.
    pub fn include_regex(mut self, regex: impl Into<String>) -> Self {
        self.regexes.push(regex.into());
        self
    }

    /// Includes one tensor by its name.
    pub fn add_tensor(mut self, name: impl Into<String>) -> Self {
        self.tensors.push(name.into());
        self
    }

    /// Sets the collection's own save config.
    pub fn save_config(self, config: SaveConfig) -> Self {
        Collection { save_config: Some(config), ..self }
    }

    /// Sets the collection's own reduction config.
    pub fn reduction_config(self, config: ReductionConfig) -> Self {
        Collection { reduction_config: Some(config), ..self }
    }

    pub(crate) fn to_raw(&self) -> Result<Owned<sys::smd_collection>> {
        let name = text("name of a collection", self.name.as_bytes())?;
        // SAFETY: the handles and texts are valid during the calls.
        unsafe {
            let collection = created(|out| sys::smd_collection_new(name.as_ptr(), out))?;
            for regex in &self.regexes {
                let regex = text("regular expression", regex.as_bytes())?;
                check(sys::smd_collection_include_regex(collection.as_ptr(), regex.as_ptr()))?;
            }
            for tensor in &self.tensors {
                let tensor = text("name of a tensor", tensor.as_bytes())?;
                check(sys::smd_collection_add_tensor(collection.as_ptr(), tensor.as_ptr()))?;
            }
            if let Some(config) = &self.save_config {
                let config = config.to_raw()?;
                check(sys::smd_collection_set_save_config(collection.as_ptr(), config.as_ptr()))?;
            }
            if let Some(config) = &self.reduction_config {
                let config = config.to_raw()?;
                check(sys::smd_collection_set_reduction_config(collection.as_ptr(), config.as_ptr()))?;
            }
            Ok(collection)
        }
    }
}
