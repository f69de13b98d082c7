//! The functions of libsmdebug that the client uses, resolved at run time with std only.
use std::error::Error;
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::null_mut;

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

pub type Handle = *mut c_void; // also an error; null means success
pub type Text = *const c_char;
pub type SmdResult<T> = Result<T, Box<dyn Error>>;

/// smd_tensor_view: struct_size, data, shape, strides, ndim, dtype.
#[repr(C)]
pub struct View(pub usize, pub *const f64, pub *const i64, pub *const i64, pub i32, pub i32);

macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        pub struct Smd { $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)* }

        impl Smd {
            pub unsafe fn load(path: &str) -> SmdResult<Smd> {
                let library = found(dlopen(CString::new(path)?.as_ptr(), 2))?; // RTLD_NOW
                $(let $name = concat!("smd_", stringify!($name), "\0").as_ptr().cast();)*
                Ok(Smd { $($name: std::mem::transmute(found(dlsym(library, $name))?),)* })
            }
        }
    };
}

functions! {
    require_abi(u32) -> Handle; error_message(Handle) -> Text; error_free(Handle);
    save_config_new(*mut Handle) -> Handle; save_config_free(Handle);
    save_config_set(Handle, i32, i64, i64, i64, *const i64, usize) -> Handle;
    hook_options_new(*mut Handle) -> Handle; hook_options_free(Handle);
    hook_options_set(Handle, Text, Text) -> Handle;
    hook_options_set_save_config(Handle, Handle) -> Handle;
    hook_new(Handle, *mut Handle) -> Handle; hook_free(Handle);
    hook_begin_step(Handle, *mut i64) -> Handle; hook_save(Handle, Text, *const View) -> Handle;
    hook_end_step(Handle) -> Handle; hook_close(Handle) -> Handle;
    trial_open(Text, Handle, *mut Handle) -> Handle; trial_free(Handle);
    trial_tensor(Handle, Text, *mut Handle) -> Handle; tensor_free(Handle);
    tensor_value(Handle, i64, i32, Text, *mut Handle) -> Handle; value_free(Handle);
    value_to_double(Handle, *mut f64) -> Handle;
}

unsafe fn found(address: *mut c_void) -> SmdResult<*mut c_void> {
    if !address.is_null() { return Ok(address); }
    Err(CStr::from_ptr(dlerror()).to_string_lossy().into())
}

/// A handle, which is freed when this value is dropped.
pub struct Owned(pub Handle, unsafe extern "C" fn(Handle));

impl Drop for Owned {
    fn drop(&mut self) { unsafe { (self.1)(self.0) } }
}

impl Smd {
    pub unsafe fn check(&self, error: Handle) -> SmdResult<()> {
        if error.is_null() { return Ok(()); }
        let error = Owned(error, self.error_free);
        Err(CStr::from_ptr((self.error_message)(error.0)).to_string_lossy().into())
    }

    /// Returns the handle that `make` stores through its argument.
    pub unsafe fn own(&self, free: unsafe extern "C" fn(Handle), make: impl FnOnce(*mut Handle) -> Handle) -> SmdResult<Owned> {
        let mut handle = null_mut();
        self.check(make(&mut handle))?;
        Ok(Owned(handle, free))
    }
}
