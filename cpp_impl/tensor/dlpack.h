// Converts tensors to and from DLPack.  Only dlpack.cc uses the structs of DLPack.
#pragma once

#include <memory>

#include "base/result.h"
#include "tensor/value.h"
#include "tensor/view.h"

struct DLManagedTensorVersioned;

namespace smdebug::tensor {

// Returns a read-only DLPack tensor that keeps the elements of `value` alive until its
// deleter runs.  Fails: UNSUPPORTED (text).
Result<DLManagedTensorVersioned *> ToDlpack(const Value &value);

// Owns a DLPack tensor.  The deleter runs on the thread that destroys the last copy.
class DlpackTensor {
 public:
  explicit DlpackTensor(DLManagedTensorVersioned *tensor);

  // Returns a view of the borrowed elements, valid while this object lives.
  // Fails: INVALID_ARGUMENT (NULL, malformed), UNSUPPORTED (another major version,
  // device or type).
  Result<View> AsView() const;

 private:
  std::shared_ptr<DLManagedTensorVersioned> tensor_;
};

}  // namespace smdebug::tensor
