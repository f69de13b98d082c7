// Inputs of the caller that several functions take.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/deferral.h"
#include "base/result.h"
#include "smdebug.h"
#include "tensor/dlpack.h"
#include "tensor/given_statistics.h"
#include "tensor/reduction.h"

namespace smdebug::capi {

// A DLPack tensor whose deleter is called while the thread holds no lock.
struct HeldDlpack final : OutsideCall {
  explicit HeldDlpack(tensor::DlpackTensor held) : tensor(std::move(held)) {}
  const tensor::DlpackTensor tensor;
};

// Takes ownership, also if it throws.
inline std::shared_ptr<const HeldDlpack> HoldDlpack(DLManagedTensorVersioned *dlpack) {
  tensor::DlpackTensor taken(dlpack);
  return {new HeldDlpack(std::move(taken)),
          [](HeldDlpack *held) { RunOutside(std::unique_ptr<OutsideCall>(held)); }};
}

// Checks the statistics.  The result borrows them.
Result<tensor::GivenStatistics> GivenFromC(const smd_statistics *statistics);

// Returns the bit SMD_HAS_... of the figure that is the reduction, or from which it follows.
uint32_t FigureBit(tensor::Reduction reduction);

}  // namespace smdebug::capi
