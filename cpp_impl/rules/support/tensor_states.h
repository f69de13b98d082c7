// Keeps a rule's state for each tensor of each worker.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rules/support/sample.h"

namespace smdebug::rules {

// For one thread.
template <class State>
class TensorStates {
 public:
  // Returns the state of the sample's tensor, and creates it on first use.  Valid until the next
  // call.
  State &Of(const Sample &sample) { return Of(sample.Worker(), sample.Tensor()); }
  State &Of(std::string_view worker, std::string_view tensor) {
    Tensors &tensors = Find(workers_, worker);
    if (const auto known = tensors.find(tensor); known != tensors.end()) return known->second;
    // Limits the memory of a job that invents a new name at every step.
    if (tensors.size() >= kMostTensors) tensors.clear();
    return tensors.emplace(std::string(tensor), State()).first->second;
  }
  void Clear() { workers_.clear(); }

 private:
  static constexpr size_t kMostTensors = 100'000;

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  template <class Value>
  using Named = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;
  using Tensors = Named<State>;

  static Tensors &Find(Named<Tensors> &workers, std::string_view worker) {
    if (const auto known = workers.find(worker); known != workers.end()) return known->second;
    return workers[std::string(worker)];
  }

  Named<Tensors> workers_;
};

}  // namespace smdebug::rules
