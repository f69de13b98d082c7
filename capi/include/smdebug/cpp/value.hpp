// The elements of one tensor at one step.
#ifndef SMDEBUG_CPP_VALUE_HPP
#define SMDEBUG_CPP_VALUE_HPP

#include <new>
#include <string>
#include <vector>

#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/types.hpp"
#include "smdebug/tensor.h"

namespace smdebug {

// Read-only elements that a Value owns.  Converts to std::span<const T> in C++20.
template <class T>
class Elements {
 public:
  using value_type = T;

  Elements(const T *data, size_t size) noexcept : data_(data), size_(size) {}

  const T *data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const T *begin() const noexcept { return data_; }
  const T *end() const noexcept { return data_ + size_; }
  const T &operator[](size_t index) const noexcept { return data_[index]; }

 private:
  const T *data_;
  size_t size_;
};

// Immutable.  Any thread.
class Value {
 public:
  using Owner = detail::Handle<smd_value, smd_value_free>;

  // Takes ownership of `value`.
  explicit Value(smd_value *value) noexcept : handle_(value) {}

  // smd_value_dtype(), smd_value_nbytes().
  smdebug::DType DType() const noexcept {
    return static_cast<smdebug::DType>(smd_value_dtype(Get()));
  }
  size_t Bytes() const noexcept { return smd_value_nbytes(Get()); }

  // The size of each dimension.  smd_value_shape().
  std::vector<int64_t> Shape() const {
    const int64_t *shape = smd_value_shape(Get());
    return std::vector<int64_t>(shape, shape + smd_value_ndim(Get()));
  }

  // The elements of any type, compact and row-major; NULL for strings.  Valid while this value
  // or one that shares them exists.  smd_value_data().
  const void *Data() const &noexcept { return smd_value_data(Get()); }
  const void *Data() const && = delete;

  // The elements without a copy, valid as Data() is.  UNSUPPORTED if they are not of type T.
  template <class T>
  Elements<T> As() const & {
    static_assert(kIsElement<T>, "tensors hold no elements of this type");
    if (DType() != ElementType<T>::value) {
      throw Error(SMD_UNSUPPORTED, std::string("the value holds ") + DTypeName(DType()) + ", not " +
                                       DTypeName(ElementType<T>::value));
    }
    return Elements<T>(static_cast<const T *>(smd_value_data(Get())), Bytes() / sizeof(T));
  }
  template <class T>
  Elements<T> As() const && = delete;  // the elements would be gone

  // Returns a copy of the elements.
  template <class T>
  std::vector<T> ToVector() const {
    const Elements<T> elements = As<T>();
    return std::vector<T>(elements.begin(), elements.end());
  }

  // The elements of a string tensor.  smd_value_strings().
  std::vector<std::string> Strings() const {
    return detail::MakeVector<detail::Strings>(smd_value_strings, Get());
  }

  // Computes a reduction over all elements, such as "mean"; of their absolute values if
  // `absolute` is true.
  // smd_value_reduce().
  Value Reduce(const CString &reduction, bool absolute = false) const {
    return detail::MakeObject<Value>(smd_value_reduce, Get(), reduction.Get(), int32_t{absolute});
  }

  // The only element.  smd_value_to_double().
  double ToDouble() const {
    double number = 0;
    detail::Check(smd_value_to_double(Get(), &number));
    return number;
  }

  // Returns another owner of the same elements.  smd_value_retain().
  Value Share() const {
    Value value(smd_value_retain(Get()));
    if (Get() != nullptr && value.Get() == nullptr) throw std::bad_alloc();
    return value;
  }

  // Makes a read-only DLPack tensor of the elements; the receiver calls its deleter.
  // smd_value_to_dlpack().
  DLManagedTensorVersioned *ToDlpack() const {
    DLManagedTensorVersioned *dlpack = nullptr;
    detail::Check(smd_value_to_dlpack(Get(), &dlpack));
    return dlpack;
  }

  const smd_value *Get() const noexcept { return handle_.get(); }

 private:
  Owner handle_;
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_VALUE_HPP
