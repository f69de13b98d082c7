// A copy of statistics that the caller computed.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "record/kept_tensor.h"
#include "tensor/given_statistics.h"

namespace smdebug::record {

class KeptStatistics {
 public:
  static Result<KeptStatistics> Of(const tensor::GivenStatistics &given);

  // Returns the statistics, which are valid as long as this object stays where it is.
  tensor::GivenStatistics AsGiven() const;

 private:
  KeptStatistics() = default;

  tensor::GivenStatistics given_;  // its views are those of AsGiven()
  std::vector<int64_t> shape_;
  std::optional<KeptTensor> sample_;
};

}  // namespace smdebug::record
