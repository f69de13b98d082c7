//! Elements that are types of other crates.  The tests of a checkout have all features.
#![cfg(all(feature = "half", feature = "num-complex"))]

mod common;

use common::{open, saving_all, Folder};
use half::{bf16, f16};
use num_complex::Complex;
use smdebug::{DType, Element, Mode};
use std::fmt::Debug;

fn comes_back<T: Element + PartialEq + Debug>(folder: &Folder, dtype: DType, elements: &[T]) {
    let path = folder.join(dtype.to_string());
    let hook = saving_all(&path).open().unwrap();
    let step = hook.step(Mode::Train).unwrap();
    step.save("copied", elements).unwrap();
    step.save_owned("owned", elements.to_vec(), &[elements.len()]).unwrap();
    step.end().unwrap();
    hook.close().unwrap();
    let trial = open(&path);
    for name in ["copied", "owned"] {
        let value = trial.tensor(name).unwrap().value(0).unwrap();
        assert_eq!((value.dtype(), value.as_slice::<T>().unwrap()), (dtype, elements));
    }
}

#[test]
fn types_of_other_crates_come_back() {
    let folder = Folder::new("features");
    comes_back(&folder, DType::Float16, &[f16::from_f32(1.5), f16::NEG_INFINITY]);
    comes_back(&folder, DType::BFloat16, &[bf16::from_f32(-2.0), bf16::MAX]);
    comes_back(&folder, DType::Complex64, &[Complex { re: 1.0_f32, im: -2.0 }]);
    comes_back(&folder, DType::Complex128, &[Complex { re: 1.0_f64, im: -2.0 }]);
}
