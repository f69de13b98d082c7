// The reductions of a tensor to one number: names and what they are computed from.
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

// A reduction, of the elements or of their absolute values.
struct Reduction {
  ReductionKind kind = ReductionKind::kMin;
  bool absolute = false;

  bool operator==(const Reduction &) const = default;
  bool IsNorm() const { return kind == ReductionKind::kL1 || kind == ReductionKind::kL2; }
  // 0 to 19: a table's index.
  size_t Index() const { return static_cast<size_t>(kind) * 2 + (absolute ? 1 : 0); }
  static Reduction FromIndex(size_t index) {
    return {static_cast<ReductionKind>(index / 2), index % 2 != 0};
  }
};

inline constexpr size_t kReductions = kReductionKinds * 2;

// "min", ..., "l1", "l2": as in tensor names on disk and in queries.
std::string_view ReductionKindName(ReductionKind kind);
std::optional<ReductionKind> ReductionKindFromName(std::string_view name);

// "abs_mean", "l1": as in the names of saved reductions.
std::string ReductionName(Reduction reduction);
// Of such a name, or nothing; "l1_norm" and "l2_norm" are taken too.
std::optional<Reduction> ReductionFromName(std::string_view name);

// "smdebug/reductions/abs_mean/<tensor>", with every ":<digits>" removed unless they are
// kept, as the original names a saved reduction of most frameworks, and of TensorFlow.
std::string ReductionTensorName(Reduction reduction, std::string_view tensor,
                                bool keeps_output_numbers = false);

// What such a name stands for, or nothing if `name` is no reduction's.
struct SavedReduction {
  Reduction reduction;
  std::string_view tensor;  // a part of `name`
};
std::optional<SavedReduction> ParseReductionTensorName(std::string_view name);

}  // namespace smdebug::tensor
