// A copy of a tensor, kept until a step can save it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/value.h"
#include "tensor/view.h"

namespace smdebug::record {

// Movable; its view stays valid when it is moved.
class KeptTensor {
 public:
  explicit KeptTensor(const tensor::View &view);

  tensor::View AsView() const;

 private:
  tensor::Value value_;
  std::vector<const char *> texts_;  // what a view of text points to
};

}  // namespace smdebug::record
