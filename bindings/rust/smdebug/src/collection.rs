//! Collections of tensors.

use crate::error::{check, created, optional, text};
use crate::handle::{copied, Owned};
use crate::{ReductionConfig, Result, SaveConfig};
use smdebug_sys as sys;

/// A named group of tensors, and how they are saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    name: String,
    regexes: Vec<String>,
    tensors: Vec<String>,
    save_config: Option<SaveConfig>,
    reduction_config: Option<ReductionConfig>,
    save_histogram: bool,
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
            save_histogram: true,
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

    /// Sets whether TensorBoard histograms are written for its tensors; they are by default.
    pub fn save_histogram(self, save_histogram: bool) -> Self {
        Collection { save_histogram, ..self }
    }

    /// The collection's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The regular expressions that include tensors, in the order they were included.
    pub fn regexes(&self) -> &[String] {
        &self.regexes
    }

    /// The names of its tensors: those included by name, and, of a collection of a trial or a hook,
    /// those that are known to be in it.
    pub fn tensors(&self) -> &[String] {
        &self.tensors
    }

    /// The collection's own save config, if it has one.  In a trial it names every mode: those
    /// without settings of their own have those of the hook.
    pub fn own_save_config(&self) -> Option<&SaveConfig> {
        self.save_config.as_ref()
    }

    /// The collection's own reduction config, if it has one.
    pub fn own_reduction_config(&self) -> Option<&ReductionConfig> {
        self.reduction_config.as_ref()
    }

    /// Returns true if TensorBoard histograms are written for its tensors.
    pub fn saves_histogram(&self) -> bool {
        self.save_histogram
    }

    /// Copies a collection of the library.
    pub(crate) fn from_raw(collection: &Owned<sys::smd_collection>) -> Result<Self> {
        let raw = collection.as_ptr();
        // SAFETY: the collection is valid during the calls.
        unsafe {
            let save_config = optional(|out| sys::smd_collection_save_config(raw, out))?;
            let reduction_config = optional(|out| sys::smd_collection_reduction_config(raw, out))?;
            Ok(Collection {
                name: copied(sys::smd_collection_name(raw)),
                regexes: created(|out| sys::smd_collection_regexes(raw, out))?.to_vec(),
                tensors: created(|out| sys::smd_collection_tensors(raw, out))?.to_vec(),
                save_config: save_config.as_ref().map(SaveConfig::from_raw).transpose()?,
                reduction_config: reduction_config.as_ref().map(ReductionConfig::from_raw).transpose()?,
                save_histogram: sys::smd_collection_save_histogram(raw) != 0,
            })
        }
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
            check(sys::smd_collection_set_save_histogram(collection.as_ptr(), self.save_histogram.into()))?;
            Ok(collection)
        }
    }
}
