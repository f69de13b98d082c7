// Gradients too small to train with.
#pragma once

#include <string>

#include "rules/rule.h"

namespace smdebug::rules {

// A finding where the mean of the absolute values of some tensor of the collection
// "gradients" is below the threshold; it names the smallest one.
class VanishingGradient final : public Rule {
 public:
  static constexpr double kDefaultThreshold = 1e-7;

  explicit VanishingGradient(double threshold = kDefaultThreshold) : threshold_(threshold) {}

  const std::string &Name() const override;
  Result<Verdict> Judge(Source &source, int64_t step) override;

 private:
  const double threshold_;
};

}  // namespace smdebug::rules
