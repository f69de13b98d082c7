//! Options for recording.

use crate::error::{check, created, require_library, text};
use crate::log::Log;
use crate::{Collection, Error, ErrorCode, Hook, LogLevel, ReductionConfig, Result, SaveConfig};
use smdebug_sys as sys;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Options for recording, which [`Hook::options`] makes and [`HookOptions::open`] checks.
#[derive(Clone, Debug)]
#[must_use = "options do nothing until open() makes a hook of them"]
pub struct HookOptions {
    out_dir: PathBuf,
    config_file: Option<PathBuf>,
    settings: Vec<(String, String)>,
    save_config: Option<SaveConfig>,
    reduction_config: Option<ReductionConfig>,
    included: Vec<String>,
    regexes: Vec<String>,
    collections: Vec<Collection>,
    log: Option<Log>,
}

impl HookOptions {
    /// Options from a file as a training service writes it, which also selects the folder to record
    /// into.  What is set later takes precedence over the file.
    pub fn from_file(path: impl Into<PathBuf>) -> Self {
        HookOptions::new(Path::new("")).config_file(path)
    }

    pub(crate) fn new(out_dir: &Path) -> Self {
        HookOptions {
            out_dir: out_dir.to_owned(),
            config_file: None,
            settings: Vec::new(),
            save_config: None,
            reduction_config: None,
            included: Vec::new(),
            regexes: Vec::new(),
            collections: Vec::new(),
            log: None,
        }
    }

    /// Sets any option by its name, such as "queue_policy" or "s3_region"; the C guide lists them.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Saves these collections besides the losses, and besides those of earlier calls.  They replace
    /// the collections that the option "include_collections" or a [`config_file`](Self::config_file)
    /// selects.
    pub fn include_collections<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.included.extend(names.into_iter().map(|name| name.as_ref().to_owned()));
        self
    }

    /// Saves every tensor.
    pub fn save_all(self) -> Self {
        self.set("save_all", "true")
    }

    /// Saves the tensors whose names match the regular expression.
    pub fn include_regex(mut self, regex: impl Into<String>) -> Self {
        self.regexes.push(regex.into());
        self
    }

    /// Sets which steps are saved, of collections without a save config of their own.
    pub fn save_config(self, config: SaveConfig) -> Self {
        HookOptions { save_config: Some(config), ..self }
    }

    /// Sets what is saved of a tensor, in collections without a reduction config of their own.
    pub fn reduction_config(self, config: ReductionConfig) -> Self {
        HookOptions { reduction_config: Some(config), ..self }
    }

    /// Adds a collection, or replaces the built-in one of the same name.
    pub fn collection(mut self, collection: Collection) -> Self {
        self.collections.push(collection);
        self
    }

    /// Applies the configuration that a training service passes to a job, before all other options.
    pub fn config_file(self, path: impl Into<PathBuf>) -> Self {
        HookOptions { config_file: Some(path.into()), ..self }
    }

    /// Sends log lines of this level, and more severe ones, to a function, which any thread may
    /// call.  It must not wait for the hook.
    pub fn log(self, level: LogLevel, sink: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        HookOptions { log: Some(Log::new(level, sink)), ..self }
    }

    /// Opens a hook.  Nothing is written before the first tensor is saved.
    ///
    /// Records about the run, for [`Trial::metadata`](crate::Trial::metadata): "run.library",
    /// "run.host", "run.commit" (of the Git working tree around the current folder) and "run.rust"
    /// (the version of the compiler).
    ///
    /// # Errors
    /// Fails if an option is not valid, and with [`ErrorCode::TrialExists`] if the folder holds a
    /// finished trial.
    ///
    /// [`ErrorCode::TrialExists`]: crate::ErrorCode::TrialExists
    pub fn open(&self) -> Result<Hook> {
        require_library()?;
        // SAFETY: the handles and texts are valid during the calls.
        unsafe {
            let options = created(|out| sys::smd_hook_options_new(out))?;
            let raw = options.as_ptr();
            // Unless the caller decides otherwise, no disk or network ends a training by `?`.
            check(sys::smd_hook_options_set(raw, c"report_errors".as_ptr(), c"late".as_ptr()))?;
            if let Some(log) = &self.log {
                log.give(|level, f, data, destroy| sys::smd_hook_options_set_log(raw, level, f, data, destroy))?;
            }
            if let Some(path) = &self.config_file {
                let path = text("path", path.as_os_str().as_bytes())?;
                check(sys::smd_hook_options_load(raw, path.as_ptr()))?;
            }
            // Without a folder, the file selects it.
            if !self.out_dir.as_os_str().is_empty() {
                let out_dir = text("path", self.out_dir.as_os_str().as_bytes())?;
                check(sys::smd_hook_options_set(raw, c"out_dir".as_ptr(), out_dir.as_ptr()))?;
            }
            self.apply(raw)?;
            let hook = Hook::from_owned(created(|out| sys::smd_hook_new(raw, out))?);
            check(sys::smd_hook_describe_run(hook.as_raw()))?;
            hook.set_metadata("run.rust", env!("SMDEBUG_RUSTC"))?;
            Ok(hook)
        }
    }

    /// # Safety
    /// `raw` is valid.
    unsafe fn apply(&self, raw: *mut sys::smd_hook_options) -> Result<()> {
        // SAFETY: the handles and texts are valid during the calls.
        unsafe {
            for (name, value) in &self.settings {
                let name = text("name of an option", name.as_bytes())?;
                let value = text("value of an option", value.as_bytes())?;
                check(sys::smd_hook_options_set(raw, name.as_ptr(), value.as_ptr()))?;
            }
            if !self.included.is_empty() {
                let names = list_of_names(&self.included)?;
                check(sys::smd_hook_options_set(raw, c"include_collections".as_ptr(), names.as_ptr()))?;
            }
            for regex in &self.regexes {
                let regex = text("regular expression", regex.as_bytes())?;
                check(sys::smd_hook_options_include_regex(raw, regex.as_ptr()))?;
            }
            for collection in &self.collections {
                check(sys::smd_hook_options_add_collection(raw, collection.to_raw()?.as_ptr()))?;
            }
            if let Some(config) = &self.save_config {
                check(sys::smd_hook_options_set_save_config(raw, config.to_raw()?.as_ptr()))?;
            }
            if let Some(config) = &self.reduction_config {
                check(sys::smd_hook_options_set_reduction_config(raw, config.to_raw()?.as_ptr()))?;
            }
        }
        Ok(())
    }
}

/// The names as the option "include_collections" takes them, which splits at commas.
fn list_of_names(names: &[String]) -> Result<CString> {
    if let Some(name) = names.iter().find(|name| name.contains(',')) {
        let message = format!(
            "include_collections: the name \"{name}\" contains a comma; include a collection of another name, \
             or pass each name by itself"
        );
        return Err(Error::new(ErrorCode::InvalidArgument, message));
    }
    text("list of collections", names.join(",").as_bytes())
}
