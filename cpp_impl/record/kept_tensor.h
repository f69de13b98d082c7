// A copy of a tensor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/value.h"
#include "tensor/view.h"

namespace smdebug::record {

// Movable; its view, which is compact, stays valid when it is moved.
class KeptTensor {
 public:
  // Fails with INVALID_ARGUMENT if a text is NULL.
  static Result<KeptTensor> Of(const tensor::View &view);

  tensor::View AsView() const;

 private:
  KeptTensor() = default;
  Status KeepTexts(const tensor::View &view);

  tensor::Value value_;
  std::vector<const char *> texts_;  // what a view of text points to
};

}  // namespace smdebug::record
