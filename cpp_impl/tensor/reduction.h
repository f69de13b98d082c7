// Names of the reductions of a tensor to one number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tensor/value.h"
#include "tensor/view.h"

namespace smdebug::tensor {

enum class ReductionKind : uint8_t {
  kMin,
  kMax,
  kMedian,
  kMean,
  kStd,
  kVariance,
  kSum,
  kProd,
  kL1,
  kL2,
};

inline constexpr size_t kReductionKinds = 10;

// A reduction over the elements or over their absolute values.
struct Reduction {
  ReductionKind kind = ReductionKind::kMin;
  bool absolute = false;

  bool operator==(const Reduction &) const = default;
  bool IsNorm() const { return kind == ReductionKind::kL1 || kind == ReductionKind::kL2; }
  // Returns 0 to 19, for indexing tables.
  size_t Index() const { return static_cast<size_t>(kind) * 2 + (absolute ? 1 : 0); }
  static Reduction FromIndex(size_t index) {
    return {static_cast<ReductionKind>(index / 2), index % 2 != 0};
  }
};

inline constexpr size_t kReductions = kReductionKinds * 2;

// The names used in tensor names on disk and in queries: "min", ..., "l1", "l2".
std::string_view ReductionKindName(ReductionKind kind);
std::optional<ReductionKind> ReductionKindFromName(std::string_view name);

// Returns the name used in saved reductions: "abs_mean", "l1".
std::string ReductionName(Reduction reduction);
// Parses such a name; also accepts "l1_norm" and "l2_norm".  Returns nothing if `name` is
// not a reduction.
std::optional<Reduction> ReductionFromName(std::string_view name);

// Returns "smdebug/reductions/abs_mean/<tensor>", as the original names saved reductions.
// For TensorFlow it keeps every ":<digits>" of the name; for other frameworks it removes
// them.
std::string ReductionTensorName(Reduction reduction, std::string_view tensor,
                                bool keeps_output_numbers = false);

// The parts of such a name.
struct SavedReduction {
  Reduction reduction;
  std::string_view tensor;  // a part of `name`
};
// Returns nothing if `name` does not name a saved reduction.
std::optional<SavedReduction> ParseReductionTensorName(std::string_view name);

}  // namespace smdebug::tensor
