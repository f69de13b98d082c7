// A tensor at several steps, read in one call.
#ifndef SMDEBUG_CPP_VALUES_HPP
#define SMDEBUG_CPP_VALUES_HPP

#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/value.hpp"
#include "smdebug/values.h"

namespace smdebug {

// Immutable.  Any thread.
class Values {
 public:
  using Owner = detail::Handle<smd_values, smd_values_free>;

  // Takes ownership of `values`.
  explicit Values(smd_values *values) noexcept : handle_(values) {}

  // smd_values_count(), smd_values_step().
  size_t Count() const noexcept { return smd_values_count(Get()); }
  int64_t Step(size_t index) const noexcept { return smd_values_step(Get(), index); }

  // Throws if that step could not be read.  smd_values_get().
  smdebug::Value Value(size_t index) const {
    return detail::MakeObject<smdebug::Value>(smd_values_get, Get(), index);
  }

  // How many values from `index` on form one array.  smd_values_run().
  size_t Run(size_t index) const noexcept { return smd_values_run(Get(), index); }

  const smd_values *Get() const noexcept { return handle_.get(); }

 private:
  Owner handle_;
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_VALUES_HPP
