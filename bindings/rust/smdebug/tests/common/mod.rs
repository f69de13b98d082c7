//! What the tests share.
#![allow(dead_code)]

use smdebug::{Hook, HookOptions, Mode, SaveConfig, Trial};
use std::path::{Path, PathBuf};

/// A folder that is removed when this is dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("smdebug-rust-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Options of a hook that saves every tensor at every step.
pub fn saving_all(path: impl AsRef<Path>) -> HookOptions {
    Hook::options(path).save_all().save_config(SaveConfig::every(1))
}

/// Records a trial with one tensor, whose values are given.
pub fn recorded(path: impl AsRef<Path>, tensor: &str, values: &[f64]) -> Trial {
    let hook = saving_all(&path).open().unwrap();
    for value in values {
        let step = hook.step(Mode::Train).unwrap();
        step.save(tensor, value).unwrap();
        step.end().unwrap();
    }
    hook.close().unwrap();
    open(path)
}

/// Opens a trial that has ended: nothing more comes that is worth waiting for.
pub fn open(path: impl AsRef<Path>) -> Trial {
    Trial::options().set("end_delay_seconds", "0").open(path).unwrap()
}
