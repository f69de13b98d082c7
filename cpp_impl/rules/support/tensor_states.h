// Keeps a rule's state for each tensor of each worker, by their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace smdebug::rules {

// For one thread.
template <class State>
class TensorStates {
 public:
  // Returns the state of a tensor, and creates it on first use.  Valid until the next call.
  //
  // `number` is that of a sample whose tensor and worker determine these names, or 0.  It is used
  // in place of the names: in a training that fills the caches, looking up a name costs more than
  // judging a tensor.
  State &Of(std::string_view worker, std::string_view tensor, uint32_t number = 0) {
    if (number < numbered_.size() && numbered_[number] != nullptr) return *numbered_[number];
    State &state = Find(worker, tensor);
    if (number != 0) {
      if (number >= numbered_.size()) numbered_.resize(size_t{number} + 1);
      numbered_[number] = &state;
    }
    return state;
  }
  // Calls `see(worker, state)` for each.
  template <class See>
  void ForEach(See see) const {
    for (const auto &[worker, tensors] : workers_) {
      for (const auto &[tensor, state] : tensors) see(worker, state);
    }
  }
  void Clear() {
    numbered_.clear();
    workers_.clear();
  }

 private:
  static constexpr size_t kMostTensors = 100'000;

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  // Its elements stay where they are.
  template <class Value>
  using Named = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

  State &Find(std::string_view worker, std::string_view tensor) {
    auto known_worker = workers_.find(worker);
    if (known_worker == workers_.end()) {
      known_worker = workers_.emplace(std::string(worker), Named<State>()).first;
    }
    Named<State> &tensors = known_worker->second;
    if (const auto known = tensors.find(tensor); known != tensors.end()) return known->second;
    // Limits the memory of a job that invents a new name at every step.
    if (tensors.size() >= kMostTensors) {
      numbered_.clear();
      tensors.clear();
    }
    return tensors.emplace(std::string(tensor), State()).first->second;
  }

  Named<Named<State>> workers_;
  std::vector<State *> numbered_;  // NULL: not yet found by that number
};

}  // namespace smdebug::rules
