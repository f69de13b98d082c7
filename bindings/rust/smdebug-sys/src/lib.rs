//! The C interface of [libsmdebug](https://github.com/libsmdebug/libsmdebug), one to one.
//!
//! Each function has the name it has in C, and its contract is the comment in the C header: how it
//! fails, from which threads it may be called, and who owns what.  The crate `smdebug` is a safe
//! interface on top.
//!
//! The library is found by pkg-config, or in the folder that the environment variable `SMDEBUG_DIR`
//! names (the prefix it was installed to).  `SMDEBUG_STATIC=1` links the static library.
#![allow(non_camel_case_types)]
#![allow(clippy::missing_safety_doc)]
#![no_std]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("libsmdebug needs a 64-bit target");

#[rustfmt::skip]
mod raw;
pub use raw::*;

/// The ABI level that this crate was generated for; see [`smd_require_abi`].
pub const SMD_ABI_LEVEL: u32 = (SMD_VERSION_MAJOR as u32) << 16 | SMD_VERSION_MINOR as u32;
