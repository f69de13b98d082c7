//! Types of Rust that are elements of tensors.

use crate::DType;

/// A complex number, laid out as C's and `num_complex`'s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

pub(crate) mod sealed {
    pub trait Sealed {
        /// Returns true if any bytes are elements of this type, as they are not for `bool`.
        fn are_valid(_bytes: &[u8]) -> bool {
            true
        }
    }
}

/// A type of Rust that is an element of a tensor.
///
/// Features of this crate add types of other crates: `half` adds `half::f16` and `half::bf16`, and
/// `num-complex` adds `num_complex::Complex32` and `num_complex::Complex64`.  For the other types
/// that Rust lacks, such as float8, see [`View::from_bytes`](crate::View::from_bytes) and
/// [`Value::as_bytes`](crate::Value::as_bytes).
pub trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The library's type.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($type:ty: $dtype:ident,)*) => {
        $(
            impl sealed::Sealed for $type {}
            impl Element for $type {
                const DTYPE: DType = DType::$dtype;
            }
        )*
    };
}

elements! {
    f32: Float32,
    f64: Float64,
    i8: Int8,
    i16: Int16,
    i32: Int32,
    i64: Int64,
    u8: UInt8,
    u16: UInt16,
    u32: UInt32,
    u64: UInt64,
    Complex<f32>: Complex64,
    Complex<f64>: Complex128,
}

// Both are transparent over a u16.
#[cfg(feature = "half")]
elements! {
    half::f16: Float16,
    half::bf16: BFloat16,
}

// Laid out as C's.
#[cfg(feature = "num-complex")]
elements! {
    num_complex::Complex<f32>: Complex64,
    num_complex::Complex<f64>: Complex128,
}

impl sealed::Sealed for bool {
    fn are_valid(bytes: &[u8]) -> bool {
        bytes.iter().all(|&byte| byte <= 1)
    }
}

impl Element for bool {
    const DTYPE: DType = DType::Bool;
}
