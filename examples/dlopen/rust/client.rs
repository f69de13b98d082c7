//! Records a trial and reads it back, through the library loaded at run time.
//!
//! usage: client LIBRARY OUT_DIR
mod smd;

use smd::{SmdResult, Smd, View};
use std::ffi::CString;
use std::ptr::{null, null_mut};

const ANY_MODE: i32 = 0;
const GLOBAL_MODE: i32 = 4;
const FLOAT64: i32 = 3;
const ABI_LEVEL: u32 = 1 << 16;

unsafe fn record(smd: &Smd, out_dir: &str) -> SmdResult<()> {
    let (name, path, loss) = (CString::new("out_dir")?, CString::new(out_dir)?, CString::new("loss")?);
    let every = smd.own(smd.save_config_free, |out| (smd.save_config_new)(out))?;
    smd.check((smd.save_config_set)(every.0, ANY_MODE, 1, 0, -1, null(), 0))?;
    let options = smd.own(smd.hook_options_free, |out| (smd.hook_options_new)(out))?;
    smd.check((smd.hook_options_set)(options.0, name.as_ptr(), path.as_ptr()))?;
    smd.check((smd.hook_options_set_save_config)(options.0, every.0))?;
    let hook = smd.own(smd.hook_free, |out| (smd.hook_new)(options.0, out))?;
    for step in 0..4 {
        let number = 1.0 / f64::from(1 + step);
        let view = View(std::mem::size_of::<View>(), &number, null(), null(), 0, FLOAT64);
        smd.check((smd.hook_begin_step)(hook.0, null_mut()))?;
        smd.check((smd.hook_save)(hook.0, loss.as_ptr(), &view))?;
        smd.check((smd.hook_end_step)(hook.0))?;
    }
    smd.check((smd.hook_close)(hook.0))
}

unsafe fn read_back(smd: &Smd, path: &str) -> SmdResult<()> {
    let (path, loss) = (CString::new(path)?, CString::new("loss")?);
    let trial = smd.own(smd.trial_free, |out| (smd.trial_open)(path.as_ptr(), null_mut(), out))?;
    let tensor = smd.own(smd.tensor_free, |out| (smd.trial_tensor)(trial.0, loss.as_ptr(), out))?;
    for step in 0..4 {
        let mut number = 0.0;
        let value = smd.own(smd.value_free, |out| {
            (smd.tensor_value)(tensor.0, step, GLOBAL_MODE, null(), out)
        })?;
        smd.check((smd.value_to_double)(value.0, &mut number))?;
        println!("loss at step {step}: {number}");
    }
    Ok(())
}

fn run() -> SmdResult<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let (library, out_dir) = match arguments.as_slice() {
        [_, library, out_dir] => (library, out_dir),
        _ => return Err("usage: client LIBRARY OUT_DIR".into()),
    };
    unsafe {
        let smd = Smd::load(library)?;
        smd.check((smd.require_abi)(ABI_LEVEL))?;
        record(&smd, out_dir)?;
        read_back(&smd, out_dir)
    }
}

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
