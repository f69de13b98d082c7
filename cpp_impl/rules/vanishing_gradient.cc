#include "rules/vanishing_gradient.h"

#include <cstdio>

#include "base/strings.h"

namespace smdebug::rules {
namespace {

std::string Shortest(double number) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof text, "%.3g", number));
  return text;
}

}  // namespace

const std::string &VanishingGradient::Name() const {
  static const std::string kName = "VanishingGradient";
  return kName;
}

Result<Verdict> VanishingGradient::Judge(Source &source, int64_t step) {
  constexpr tensor::Reduction kMeanOfAbsolute{tensor::ReductionKind::kMean, true};
  SMD_ASSIGN_OR_RETURN(const std::vector<std::string> tensors,
                       source.TensorNames("gradients", step));
  std::string culprit;
  double smallest = threshold_;
  for (const std::string &tensor : tensors) {
    const auto mean = source.Reduce(tensor, step, kMeanOfAbsolute);
    // One of which only the shape was saved says nothing about the others.
    if (IsMissingData(mean.GetStatus())) continue;
    if (!mean.IsOk()) return mean.GetStatus();
    if (*mean < smallest) {
      smallest = *mean;
      culprit = tensor;
    }
  }
  if (culprit.empty()) return Verdict{};
  return Verdict{true, false,
                 StrCat("the gradient '", culprit, "' has a mean absolute value of ",
                        Shortest(smallest), ", below the limit of ", Shortest(threshold_))};
}

}  // namespace smdebug::rules
