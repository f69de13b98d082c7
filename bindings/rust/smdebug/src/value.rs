//! Elements that the library returns.

use crate::error::{check, created};
use crate::handle::{slice, Owned};
use crate::tensor::reduction_parts;
use crate::{DType, Element, Error, ErrorCode, Result};
use smdebug_sys as sys;
use std::fmt;
use std::iter::FusedIterator;
use std::ops::Range;

/// The elements of a tensor at one step, in row-major order.  Clones share them.
pub struct Value(Owned<sys::smd_value>);

impl Value {
    pub(crate) fn from_owned(owned: Owned<sys::smd_value>) -> Self {
        Value(owned)
    }

    /// The handle, for functions of [`sys`](crate::sys).  It stays this value's.
    pub fn as_raw(&self) -> *mut sys::smd_value {
        self.0.as_ptr()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        // SAFETY: the value is valid.
        DType::from_raw(unsafe { sys::smd_value_dtype(self.as_raw()) })
    }

    /// The size of each dimension; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        // SAFETY: the array is valid as long as the value.  Its numbers are not negative, and the
        // layout of usize is that of int64_t on the supported targets.
        unsafe { slice(sys::smd_value_shape(self.as_raw()).cast(), sys::smd_value_ndim(self.as_raw()) as usize) }
    }

    /// The elements, without a copy.
    ///
    /// # Errors
    /// Fails with `InvalidArgument` if they are of another type, and with `CorruptData` if a byte of
    /// a bool is neither 0 nor 1.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        if self.dtype() != T::DTYPE {
            let message = format!("the elements are {}, not {}; read them as that", self.dtype(), T::DTYPE);
            return Err(Error::new(ErrorCode::InvalidArgument, message));
        }
        let bytes = self.as_bytes();
        if !T::are_valid(bytes) {
            let message = format!("the elements are no {}: some have other bits", T::DTYPE);
            return Err(Error::new(ErrorCode::CorruptData, message));
        }
        // SAFETY: the library aligns the elements, of which these are the bytes, and T is one of
        // them.
        Ok(unsafe { slice(bytes.as_ptr().cast(), bytes.len() / std::mem::size_of::<T>()) })
    }

    /// The bytes of the elements, in the byte order of the machine; empty for texts.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: the bytes are valid, and do not change, as long as the value.
        unsafe { slice(sys::smd_value_data(self.as_raw()).cast(), sys::smd_value_nbytes(self.as_raw())) }
    }

    /// The elements of a tensor of texts.
    ///
    /// # Errors
    /// Fails with `Unsupported` if they are numbers, and with `CorruptData` if a text is no UTF-8.
    pub fn texts(&self) -> Result<Vec<String>> {
        // SAFETY: the arguments are valid during the calls, and a text is as long as the list says.
        unsafe {
            let list = created(|out| sys::smd_value_strings(self.as_raw(), out))?;
            let raw = list.as_ptr();
            let text = |at| slice(sys::smd_strings_get(raw, at).cast::<u8>(), sys::smd_strings_size(raw, at));
            (0..sys::smd_strings_count(raw))
                .map(|at| {
                    String::from_utf8(text(at).to_vec()).map_err(|_| {
                        Error::new(ErrorCode::CorruptData, format!("the text at index {at} is no UTF-8"))
                    })
                })
                .collect()
        }
    }

    /// The only element as a number (the real part of a complex one).
    ///
    /// # Errors
    /// Fails with `InvalidArgument` if there is not exactly one.
    pub fn to_f64(&self) -> Result<f64> {
        let mut number = 0.0;
        // SAFETY: the arguments are valid during the call.
        check(unsafe { sys::smd_value_to_double(self.as_raw(), &mut number) })?;
        Ok(number)
    }

    /// A reduction of all elements, such as "mean" or "abs_max", with the type that NumPy gives it.
    pub fn reduce(&self, reduction: &str) -> Result<Value> {
        let (name, absolute) = reduction_parts(reduction)?;
        // SAFETY: the arguments are valid during the call.
        created(|out| unsafe { sys::smd_value_reduce(self.as_raw(), name.as_ptr(), absolute, out) }).map(Value)
    }
}

impl Clone for Value {
    /// # Panics
    /// Panics if memory runs out.
    fn clone(&self) -> Self {
        // SAFETY: the value is valid.
        let raw = unsafe { sys::smd_value_retain(self.as_raw()) };
        assert!(!raw.is_null(), "memory runs out");
        // SAFETY: the library transfers ownership of the new handle.
        Value(unsafe { Owned::from_raw(raw) })
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Value").field("dtype", &self.dtype()).field("shape", &self.shape()).finish_non_exhaustive()
    }
}

/// The elements of a tensor at several steps.
pub struct Values(Owned<sys::smd_values>);

impl Values {
    pub(crate) fn from_owned(owned: Owned<sys::smd_values>) -> Self {
        Values(owned)
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        // SAFETY: the list is valid.
        unsafe { sys::smd_values_count(self.0.as_ptr()) }
    }

    /// Returns true if there are no steps.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The step at an index, and its value, or why it cannot be read; none past the end.  The value
    /// shares its elements with the list.
    pub fn get(&self, index: usize) -> Option<(i64, Result<Value>)> {
        if index >= self.len() {
            return None;
        }
        // SAFETY: the list is valid, and the index within it.
        let step = unsafe { sys::smd_values_step(self.0.as_ptr(), index) };
        let value = created(|out| unsafe { sys::smd_values_get(self.0.as_ptr(), index, out) });
        Some((step, value.map(Value)))
    }

    /// Each step, and its value, or why it cannot be read.  Values share their elements with the
    /// list.
    pub fn iter(&self) -> ValuesIter<'_> {
        ValuesIter { values: self, rest: 0..self.len() }
    }
}

impl<'a> IntoIterator for &'a Values {
    type Item = (i64, Result<Value>);
    type IntoIter = ValuesIter<'a>;

    fn into_iter(self) -> ValuesIter<'a> {
        self.iter()
    }
}

/// The steps and values of [`Values`], from [`Values::iter`].
#[derive(Clone, Debug)]
pub struct ValuesIter<'a> {
    values: &'a Values,
    rest: Range<usize>,
}

impl Iterator for ValuesIter<'_> {
    type Item = (i64, Result<Value>);

    fn next(&mut self) -> Option<Self::Item> {
        self.values.get(self.rest.next()?)
    }

    fn nth(&mut self, count: usize) -> Option<Self::Item> {
        self.values.get(self.rest.nth(count)?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl DoubleEndedIterator for ValuesIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.values.get(self.rest.next_back()?)
    }
}

impl ExactSizeIterator for ValuesIter<'_> {}

impl FusedIterator for ValuesIter<'_> {}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values").field("len", &self.len()).finish_non_exhaustive()
    }
}
