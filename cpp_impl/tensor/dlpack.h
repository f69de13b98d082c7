// Tensors in the DLPack form: the only place that knows its structs.
#pragma once

#include <memory>

#include "base/result.h"
#include "tensor/value.h"
#include "tensor/view.h"

struct DLManagedTensorVersioned;

namespace smdebug::tensor {

// A read-only DLPack tensor that keeps `value`'s elements alive until its deleter
// runs.  Fails: UNSUPPORTED (text).
Result<DLManagedTensorVersioned *> ToDlpack(const Value &value);

// A DLPack tensor taken over: its deleter runs when this is destroyed, on whatever
// thread.
class DlpackTensor {
 public:
  explicit DlpackTensor(DLManagedTensorVersioned *tensor);

  // The lent elements; valid while this lives.
  // Fails: INVALID_ARGUMENT (NULL, malformed), UNSUPPORTED (another major version,
  // device or type).
  Result<View> AsView() const;

 private:
  std::shared_ptr<DLManagedTensorVersioned> tensor_;
};

}  // namespace smdebug::tensor
