// Which part of a tensor a worker holds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "base/result.h"

namespace smdebug::config {

// The part is a block of the whole tensor; or, if it is flat, a range of the whole's elements in
// row-major order.
struct Placement {
  std::vector<int64_t> shape;   // of the whole
  std::vector<int64_t> offset;  // where the part begins: an index a dimension; one if it is flat
  std::vector<int64_t> part;    // the part's shape
  bool is_flat = false;
  std::vector<int64_t> mesh;   // how many workers each dimension of their mesh has; may be empty
  std::vector<int64_t> split;  // for each: the dimension of the tensor that it splits, or -1

  bool operator==(const Placement &) const = default;

  // Fails with INVALID_ARGUMENT if the part is not inside the whole, or a size is invalid.
  Status Check() const;
  // These require Check().
  int64_t ElementCount() const;
  int64_t WholeCount() const;
  bool IsSamePart(const Placement &other) const;
  bool Overlaps(const Placement &other) const;

  void WriteJson(JsonWriter &json) const;
  // Unknown keys are ignored.
  static Result<Placement> FromJson(const JsonValue &json);
};

using PlacementPtr = std::shared_ptr<const Placement>;
using Placements = std::map<std::string, PlacementPtr, std::less<>>;  // by tensor

void WritePlacements(const Placements &placements, JsonWriter &json);
Result<Placements> ReadPlacements(const JsonValue &json);

// The placements of a hook.  Safe from any thread.
class PlacementSet {
 public:
  // Replaces an earlier placement.
  void Set(std::string_view tensor, Placement placement);
  Placements List() const;
  // Grows with each change.
  uint64_t Version() const;

 private:
  mutable Mutex mutex_;
  Placements placements_ SMD_GUARDED_BY(mutex_);
  uint64_t version_ SMD_GUARDED_BY(mutex_) = 0;
};

}  // namespace smdebug::config
