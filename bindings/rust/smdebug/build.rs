//! Passes the version of the compiler to the crate, which records it as "run.rust".

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=RUSTC");
    println!("cargo:rustc-env=SMDEBUG_RUSTC={}", version().unwrap_or_else(|| "unknown".into()));
}

/// Returns the version of the compiler, such as "1.77.0".
fn version() -> Option<String> {
    let output = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let printed = String::from_utf8(output.stdout).ok()?;
    printed.split_whitespace().nth(1).map(str::to_owned)
}
