//! Views of tensors in the caller's memory.

use crate::{DType, Element, Error, ErrorCode, Result};
use smdebug_sys as sys;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::null;

/// A tensor in the caller's memory, which the library only reads while it saves.
///
/// A slice is a tensor of one dimension, and a reference to a number one without any.  [`View::new`]
/// gives a slice a shape.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    data: *const c_void,
    count: usize,
    dtype: DType,
    form: Form<'a>,
    strides: Option<&'a [isize]>,
    memory: PhantomData<&'a [u8]>,
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Line,
    Shape(&'a [usize]),
}

// SAFETY: a view is a shared reference to elements, which are Sync.
unsafe impl Send for View<'_> {}
unsafe impl Sync for View<'_> {}

impl<'a> View<'a> {
    /// A view of elements in row-major order.
    pub fn new<T: Element>(data: &'a [T], shape: &'a [usize]) -> Self {
        View { form: Form::Shape(shape), ..View::from(data) }
    }

    /// A view of elements of a type that Rust lacks, such as [`DType::Float16`], in the byte order
    /// of the machine.
    ///
    /// # Errors
    /// Fails with [`ErrorCode::InvalidArgument`] if the bytes are no whole number of elements, or
    /// if there are some and they are not aligned to the elements, as those of a mapped file may be.
    pub fn from_bytes(dtype: DType, bytes: &'a [u8], shape: &'a [usize]) -> Result<Self> {
        let size = dtype.size();
        if size == 0 || bytes.len() % size != 0 {
            return Err(invalid(format!("{} bytes are no elements of the type \"{dtype}\"", bytes.len())));
        }
        let align = align_of_dtype(dtype);
        // The address of no bytes means nothing.
        if !bytes.is_empty() && bytes.as_ptr().align_offset(align) != 0 {
            return Err(invalid(format!(
                "the bytes of a {dtype} tensor are not aligned to {align} bytes; copy them into an aligned buffer, \
                 such as the bytes of a Vec<u64>"
            )));
        }
        let count = bytes.len() / size;
        Ok(View { dtype, count, form: Form::Shape(shape), ..View::from(bytes) })
    }

    /// The same elements with other steps between them, counted in elements: `[1, 3]` for the
    /// columns of a matrix of three rows.  Negative strides are not supported.
    pub fn with_strides(self, strides: &'a [isize]) -> Self {
        View { strides: Some(strides), ..self }
    }

    /// Calls `use_view` with the view as the library takes it.
    pub(crate) fn with_raw<R>(&self, use_view: impl FnOnce(*const sys::smd_tensor_view) -> R) -> Result<R> {
        let line = [self.count];
        let shape = match self.form {
            Form::Line => &line[..],
            Form::Shape(shape) => shape,
        };
        self.check(shape)?;
        // The layout of usize and isize is that of int64_t on the supported targets; a shape that
        // passed the check has no number beyond i64::MAX but next to a 0, which the library refuses.
        Ok(use_view(&sys::smd_tensor_view {
            struct_size: size_of::<sys::smd_tensor_view>(),
            data: self.data,
            shape: shape.as_ptr().cast(),
            strides: self.strides.map_or(null(), |strides| strides.as_ptr().cast()),
            ndim: shape.len() as i32,
            dtype: self.dtype as i32,
        }))
    }

    /// Fails if the shape and the strides reach beyond the elements.
    fn check(&self, shape: &[usize]) -> Result<()> {
        if shape.len() > sys::SMD_MAX_RANK as usize {
            return Err(invalid(format!("a tensor has at most {} dimensions", sys::SMD_MAX_RANK)));
        }
        let product = shape.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
        let needed = match self.strides {
            _ if shape.contains(&0) => Some(0),
            None => product,
            Some(strides) => reach(shape, strides)?,
        };
        let fits = match self.strides {
            None => needed == Some(self.count),
            Some(_) => needed.is_some_and(|needed| needed <= self.count),
        };
        if fits {
            return Ok(());
        }
        Err(invalid(format!(
            "a tensor of the shape {shape:?}{} does not fit {} elements",
            self.strides.map_or(String::new(), |strides| format!(" and the strides {strides:?}")),
            self.count
        )))
    }
}

/// Returns how many elements a shape and strides reach over; none if that is beyond all memory.
fn reach(shape: &[usize], strides: &[isize]) -> Result<Option<usize>> {
    if strides.len() != shape.len() {
        return Err(invalid(format!("{} strides are given for {} dimensions", strides.len(), shape.len())));
    }
    if strides.iter().any(|&stride| stride < 0) {
        return Err(invalid(format!("the strides {strides:?} are negative; copy the tensor into another order")));
    }
    let steps = shape.iter().zip(strides);
    Ok(steps
        .map(|(&size, &stride)| (size - 1).checked_mul(stride.unsigned_abs()))
        .try_fold(1_usize, |sum, more| sum.checked_add(more?)))
}

fn align_of_dtype(dtype: DType) -> usize {
    match dtype {
        DType::Complex64 => 4,
        DType::Complex128 => 8,
        other => other.size(),
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorCode::InvalidArgument, message)
}

impl<'a, T: Element> From<&'a [T]> for View<'a> {
    fn from(data: &'a [T]) -> Self {
        View {
            data: data.as_ptr().cast(),
            count: data.len(),
            dtype: T::DTYPE,
            form: Form::Line,
            strides: None,
            memory: PhantomData,
        }
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for View<'a> {
    fn from(data: &'a [T; N]) -> Self {
        data.as_slice().into()
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for View<'a> {
    fn from(data: &'a Vec<T>) -> Self {
        data.as_slice().into()
    }
}

impl<'a, T: Element> From<&'a T> for View<'a> {
    /// A scalar.
    fn from(number: &'a T) -> Self {
        View::new(std::slice::from_ref(number), &[])
    }
}
