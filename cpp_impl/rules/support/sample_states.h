// Keeps a rule's state for each tensor of each worker that it observes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rules/support/sample.h"
#include "rules/support/tensor_states.h"

namespace smdebug::rules {

// Unlike TensorStates, it keeps no name of a tensor that has a number: a large model has thousands
// of tensors, and most rules observe each of them.  For one thread.
template <class State>
class SampleStates {
 public:
  // Returns the state of the sample's tensor, and creates it on first use.  Valid until the next
  // call.
  State &Of(const Sample &sample) {
    const size_t number = sample.Number();
    if (number == 0) return named_.Of(sample.Worker(), sample.Tensor());
    if (number >= numbered_.size()) numbered_.resize(number + 1);
    std::unique_ptr<State> &state = numbered_[number];
    if (state == nullptr) state = std::make_unique<State>();
    return *state;
  }
  void Clear() {
    numbered_.clear();
    named_.Clear();
  }

 private:
  std::vector<std::unique_ptr<State>> numbered_;  // NULL: not yet observed
  TensorStates<State> named_;
};

}  // namespace smdebug::rules
