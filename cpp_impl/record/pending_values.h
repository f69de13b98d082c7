// Scalars and custom tensors that wait for a step which saves anything.
#pragma once

#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/collection.h"
#include "record/kept_tensor.h"
#include "record/step_plan.h"

namespace smdebug::record {

// Thread safety: one thread at a time.
struct PendingValues {
  struct Scalar {
    std::string name;
    KeptTensor tensor;
    double timestamp;
  };
  struct Custom {
    KeptTensor tensor;
    std::vector<config::CollectionPtr> collections;
    std::optional<SavedParts> parts{};  // those selected when the step ended, if it waits
  };

  std::vector<Scalar> scalars;
  std::map<std::string, Custom, std::less<>> customs;

  bool IsEmpty() const { return scalars.empty() && customs.empty(); }
  void Clear() {
    scalars.clear();
    customs.clear();
  }
  // Adds values that are older than these.
  void AddOlder(PendingValues older) {
    for (auto &[name, custom] : older.customs) custom.parts.reset();
    customs.merge(older.customs);
    scalars.insert(scalars.begin(), std::make_move_iterator(older.scalars.begin()),
                   std::make_move_iterator(older.scalars.end()));
  }
};

}  // namespace smdebug::record
