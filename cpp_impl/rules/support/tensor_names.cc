#include "rules/support/tensor_names.h"

namespace smdebug::rules {

std::string_view WeightOfGradient(std::string_view gradient) {
  constexpr std::string_view kOfTorch = "gradient/";
  constexpr std::string_view kOfKeras = "gradients/";
  constexpr std::string_view kEndOfKeras = "Grad";
  if (gradient.starts_with(kOfTorch)) return gradient.substr(kOfTorch.size());
  if (!gradient.starts_with(kOfKeras)) return gradient;
  gradient.remove_prefix(kOfKeras.size());
  if (gradient.ends_with(kEndOfKeras)) gradient.remove_suffix(kEndOfKeras.size());
  return gradient;
}

std::string_view WithoutOutput(std::string_view tensor) {
  const size_t end = tensor.find_last_not_of("0123456789");
  const bool has_output = end != std::string_view::npos && end + 1 < tensor.size();
  return has_output && tensor[end] == ':' ? tensor.substr(0, end) : tensor;
}

}  // namespace smdebug::rules
