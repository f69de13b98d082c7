#include "record/kept_statistics.h"

#include <utility>

namespace smdebug::record {

Result<KeptStatistics> KeptStatistics::Of(const tensor::GivenStatistics &given) {
  KeptStatistics kept;
  kept.given_ = given;
  kept.shape_.assign(given.form.shape.begin(), given.form.shape.end());
  kept.given_.form.shape = {};
  kept.given_.sample.reset();
  if (given.sample) {
    SMD_ASSIGN_OR_RETURN(kept.sample_, KeptTensor::Of(*given.sample));
  }
  return kept;
}

tensor::GivenStatistics KeptStatistics::AsGiven() const {
  tensor::GivenStatistics given = given_;
  given.form.shape = shape_;
  if (sample_) given.sample = sample_->AsView();
  return given;
}

}  // namespace smdebug::record
