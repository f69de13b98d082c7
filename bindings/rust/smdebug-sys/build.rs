//! Finds libsmdebug: in the folder that `SMDEBUG_DIR` names, or else by pkg-config.

use std::env;
use std::path::Path;
use std::process::exit;

fn main() {
    println!("cargo:rerun-if-env-changed=SMDEBUG_DIR");
    println!("cargo:rerun-if-env-changed=SMDEBUG_STATIC");
    // docs.rs has no library; documentation needs none.
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    let folder = env::var_os("SMDEBUG_DIR");
    let is_static = env::var_os("SMDEBUG_STATIC").is_some();
    match folder {
        Some(folder) if !is_static => link_folder(Path::new(&folder)),
        Some(folder) => link_by_pkg_config(Some(Path::new(&folder))),
        None => link_by_pkg_config(None),
    }
}

fn link_folder(folder: &Path) {
    let libraries = folder.join("lib");
    if !libraries.join("libsmdebug.so").exists() {
        fail(&format!(
            "SMDEBUG_DIR is {}, and its folder lib has no libsmdebug.so; set it to the prefix that libsmdebug was \
             installed to",
            folder.display()
        ));
    }
    println!("cargo:rustc-link-search=native={}", libraries.display());
    println!("cargo:rustc-link-lib=dylib=smdebug");
    println!("cargo:libdir={}", libraries.display());
}

/// A static library needs others, which its .pc file names.
fn link_by_pkg_config(folder: Option<&Path>) {
    if let Some(folder) = folder {
        env::set_var("PKG_CONFIG_PATH", folder.join("lib/pkgconfig"));
    }
    let mut config = pkg_config::Config::new();
    match config.atleast_version("1.0").probe("smdebug") {
        Ok(library) => {
            if let Some(folder) = library.link_paths.first() {
                println!("cargo:libdir={}", folder.display());
            }
        }
        Err(error) => {
            fail(&format!("libsmdebug was not found; install it, or set SMDEBUG_DIR to its prefix: {error}"))
        }
    }
}

fn fail(message: &str) -> ! {
    eprintln!("smdebug-sys: {message}");
    exit(1);
}
