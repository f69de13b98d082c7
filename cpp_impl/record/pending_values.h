// Scalars and custom tensors that wait for a step which saves anything.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/collection.h"
#include "record/kept_tensor.h"

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
  };

  std::vector<Scalar> scalars;
  std::map<std::string, Custom, std::less<>> customs;

  bool IsEmpty() const { return scalars.empty() && customs.empty(); }
  void Clear() {
    scalars.clear();
    customs.clear();
  }
};

}  // namespace smdebug::record
