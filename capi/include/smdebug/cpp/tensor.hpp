// One tensor of a trial.
#ifndef SMDEBUG_CPP_TENSOR_HPP
#define SMDEBUG_CPP_TENSOR_HPP

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/placement.hpp"
#include "smdebug/cpp/types.hpp"
#include "smdebug/cpp/value.hpp"
#include "smdebug/cpp/values.hpp"
#include "smdebug/trial.h"

namespace smdebug {

// Any thread.  If `worker` is not given, it is the first that has the step.
class Tensor {
 public:
  using Owner = detail::Handle<smd_tensor, smd_tensor_free>;

  // Takes ownership of `tensor`.
  explicit Tensor(smd_tensor *tensor) noexcept : handle_(tensor) {}

  // smd_tensor_name().
  std::string Name() const {
    const char *name = smd_tensor_name(Get());
    return name == nullptr ? "" : name;
  }

  // smd_tensor_original_name().
  std::string OriginalName() const { return detail::MakeString(smd_tensor_original_name, Get()); }

  // The steps at which it was saved.  smd_tensor_steps().
  std::vector<int64_t> Steps(Mode mode = Mode::kGlobal, bool incomplete_too = false) const {
    return detail::MakeVector<detail::Integers>(
        smd_tensor_steps, Get(), static_cast<smd_mode>(mode), int32_t{incomplete_too});
  }

  // The last `count` of them (0: all) that are not after `step`.  smd_tensor_prev_steps().
  std::vector<int64_t> PrevSteps(int64_t step, Mode mode = Mode::kGlobal, int64_t count = 0) const {
    return detail::MakeVector<detail::Integers>(smd_tensor_prev_steps, Get(), step,
                                                static_cast<smd_mode>(mode), count);
  }

  // smd_tensor_workers().
  std::vector<std::string> Workers(int64_t step, Mode mode = Mode::kGlobal) const {
    return detail::MakeVector<detail::Strings>(smd_tensor_workers, Get(), step,
                                               static_cast<smd_mode>(mode));
  }

  // Throws StepUnavailable, StepNotYet, ValueUnavailable, and others.  smd_tensor_value().
  smdebug::Value Value(int64_t step, Mode mode = Mode::kGlobal,
                       const CString &worker = nullptr) const {
    return detail::MakeObject<smdebug::Value>(smd_tensor_value, Get(), step,
                                              static_cast<smd_mode>(mode), worker.Get());
  }

  // The values at all steps from `first` to before `end`, in one call.  A step that cannot be read
  // throws when its value is taken.  smd_tensor_values().
  smdebug::Values Values(int64_t first = 0, int64_t end = std::numeric_limits<int64_t>::max(),
                         Mode mode = Mode::kGlobal, const CString &worker = nullptr) const {
    return detail::MakeObject<smdebug::Values>(smd_tensor_values, Get(), first, end,
                                               static_cast<smd_mode>(mode), worker.Get());
  }

  // smd_tensor_shape().
  std::vector<int64_t> Shape(int64_t step, Mode mode = Mode::kGlobal,
                             const CString &worker = nullptr) const {
    return detail::MakeVector<detail::Integers>(smd_tensor_shape, Get(), step,
                                                static_cast<smd_mode>(mode), worker.Get());
  }

  // Returns the saved reduction, or computes it from the value; of the absolute values if
  // `absolute` is true.  smd_tensor_reduction().
  smdebug::Value Reduction(int64_t step, const CString &reduction, bool absolute = false,
                           Mode mode = Mode::kGlobal, const CString &worker = nullptr) const {
    return detail::MakeObject<smdebug::Value>(smd_tensor_reduction, Get(), step,
                                              static_cast<smd_mode>(mode), worker.Get(),
                                              reduction.Get(), int32_t{absolute});
  }

  // The reduction at all these steps, in one call.  smd_tensor_reduction_values().
  smdebug::Values ReductionValues(const CString &reduction, bool absolute = false,
                                  int64_t first = 0,
                                  int64_t end = std::numeric_limits<int64_t>::max(),
                                  Mode mode = Mode::kGlobal,
                                  const CString &worker = nullptr) const {
    return detail::MakeObject<smdebug::Values>(smd_tensor_reduction_values, Get(), first, end,
                                               static_cast<smd_mode>(mode), worker.Get(),
                                               reduction.Get(), int32_t{absolute});
  }

  // The names of the saved reductions, such as "abs_l1".  smd_tensor_reductions().
  std::vector<std::string> Reductions(int64_t step, Mode mode = Mode::kGlobal,
                                      const CString &worker = nullptr) const {
    return detail::MakeVector<detail::Strings>(smd_tensor_reductions, Get(), step,
                                               static_cast<smd_mode>(mode), worker.Get());
  }

  // Which part of the tensor a worker holds; nothing if it recorded no placement.
  // smd_tensor_placement().
  std::optional<smdebug::Placement> Placement(const CString &worker) const {
    const smd_placement *borrowed = smd_tensor_placement(Get(), worker.Get());
    if (borrowed == nullptr) return std::nullopt;
    return smdebug::Placement::FromC(*borrowed);
  }

  // The shape, the elements and a reduction of the whole, of which each worker may have saved a
  // part.  smd_tensor_full_shape(), smd_tensor_full_value(), smd_tensor_full_reduction().
  std::vector<int64_t> FullShape(int64_t step, Mode mode = Mode::kGlobal) const {
    return detail::MakeVector<detail::Integers>(smd_tensor_full_shape, Get(), step,
                                                static_cast<smd_mode>(mode));
  }
  smdebug::Value FullValue(int64_t step, Mode mode = Mode::kGlobal) const {
    return detail::MakeObject<smdebug::Value>(smd_tensor_full_value, Get(), step,
                                              static_cast<smd_mode>(mode));
  }
  smdebug::Value FullReduction(int64_t step, const CString &reduction, bool absolute = false,
                               Mode mode = Mode::kGlobal) const {
    return detail::MakeObject<smdebug::Value>(smd_tensor_full_reduction, Get(), step,
                                              static_cast<smd_mode>(mode), reduction.Get(),
                                              int32_t{absolute});
  }

  smd_tensor *Get() const noexcept { return handle_.get(); }

 private:
  Owner handle_;
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_TENSOR_HPP
