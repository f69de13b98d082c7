#include "saved.h"

#include "trial_arguments.h"

namespace smdebug::cli {
namespace {

// Returns the result of `get`, or nothing if it was not saved.
template <class Get>
auto IfSaved(const Get &get) -> std::optional<decltype(get())> {
  try {
    return get();
  } catch (const Error &error) {
    const smd_code code = error.Code();
    const bool is_absent = code == SMD_VALUE_UNAVAILABLE || code == SMD_SHAPE_UNAVAILABLE;
    if (!is_absent) throw;
    return std::nullopt;
  }
}

}  // namespace

std::vector<std::string> Saved::Kinds() const {
  std::vector<std::string> kinds;
  if (value) {
    kinds.emplace_back("value");
  } else if (shape) {
    kinds.emplace_back("shape");
  }
  kinds.insert(kinds.end(), reductions.begin(), reductions.end());
  return kinds;
}

Saved SavedAt(const Tensor &tensor, int64_t step, Mode mode, const std::string &worker) {
  Saved saved;
  saved.value = IfSaved([&] { return tensor.Value(step, mode, worker); });
  if (saved.value) {
    saved.shape = saved.value->GetShape();
    saved.dtype = DTypeName(saved.value->GetDType());
  } else {
    saved.shape = IfSaved([&] { return tensor.Shape(step, mode, worker); });
  }
  saved.reductions = tensor.Reductions(step, mode, worker);
  return saved;
}

void Fetch(const Trial &trial, const std::string &tensor, const std::vector<int64_t> &steps,
           Mode mode) {
  if (IsLocal(trial.Path())) return;
  try {
    trial.Prefetch({tensor}, steps, mode);
  } catch (const Error &) {  // NOLINT(bugprone-empty-catch): reading it reports the error again
  }
}

Reduction ReductionOf(const std::string &name) {
  constexpr std::string_view kAbsolute = "abs_";
  if (!name.starts_with(kAbsolute)) return {name, false};
  return {name.substr(kAbsolute.size()), true};
}

std::optional<double> NumberAt(const Tensor &tensor, int64_t step, const std::string &reduction,
                               Mode mode, const std::string &worker) {
  const auto [name, is_absolute] = ReductionOf(reduction);
  try {
    return tensor.Reduction(step, name, is_absolute, mode, worker).ToDouble();
  } catch (const Error &error) {
    // INVALID_ARGUMENT: the value has no elements.
    const smd_code code = error.Code();
    const bool is_absent =
        code == SMD_VALUE_UNAVAILABLE || code == SMD_INVALID_ARGUMENT || code == SMD_UNSUPPORTED;
    if (!is_absent) throw;
    return std::nullopt;
  }
}

}  // namespace smdebug::cli
