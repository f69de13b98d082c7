#include "saved.h"

#include <algorithm>

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
    saved.shape = saved.value->Shape();
    saved.dtype = DTypeName(saved.value->DType());
  } else {
    saved.shape = IfSaved([&] { return tensor.Shape(step, mode, worker); });
  }
  saved.reductions = tensor.Reductions(step, mode, worker);
  return saved;
}

std::string StepText(int64_t step, Mode mode, int64_t mode_step) {
  std::string text = std::to_string(step);
  if (mode == Mode::kGlobal || mode == Mode::kAny) return text;
  return text + " (" + ModeName(mode) + " " + std::to_string(mode_step) + ")";
}

void FetchAhead(const Trial &trial, const std::string &tensor, const std::vector<int64_t> &steps,
                size_t next, Mode mode) {
  constexpr size_t kReadAtOnce = 32;
  if (next % kReadAtOnce != 0) return;
  const auto first = steps.begin() + static_cast<ptrdiff_t>(next);
  const size_t count = std::min(kReadAtOnce, steps.size() - next);
  Fetch(trial, tensor, {first, first + static_cast<ptrdiff_t>(count)}, mode);
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
