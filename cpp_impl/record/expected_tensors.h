// The tensors that a step expects to come late.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/step_plan.h"

namespace smdebug::record {

struct ExpectedTensor {
  bool is_saved = false;
  SavedParts parts{};   // if it is saved
  int64_t missing = 0;  // how often it must still come
  uint64_t round = 0;   // the step that expects it
};

// One object for many steps, one after the other.  Keeps names, and their memory, over steps.
//
// Thread safety: one thread at a time.
class ExpectedTensors {
 public:
  // Expects the tensor once more.  `parts` NULL: it is not saved.
  void Expect(std::string_view name, const SavedParts *parts);
  // Returns NULL for a tensor that the step never expected.
  ExpectedTensor *Find(std::string_view name);
  // Notes that the tensor, which must be missing, came or will not come.
  void NoteCame(ExpectedTensor &tensor) {
    --tensor.missing;
    --missing_;
  }

  int64_t Missing() const { return missing_; }
  // Returns the first missing name in alphabetical order.
  std::string FirstMissing() const;

  // Expects nothing.  Needs no memory.
  void Clear() noexcept;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  std::unordered_map<std::string, ExpectedTensor, Hash, std::equal_to<>> tensors_;
  uint64_t round_ = 1;
  int64_t missing_ = 0;
};

}  // namespace smdebug::record
