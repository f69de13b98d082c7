#include "run_tolerance.h"

#include <algorithm>
#include <cmath>

namespace smdebug::cli {
namespace {

constexpr double kForward = 16;
constexpr double kBackward = 32;
constexpr double kUpdate = 2;
constexpr double kMost = 0.25;  // a relative difference that no rounding excuses
constexpr double kNoise = 10;

}  // namespace

double RoundingUnit(const std::string &dtype) {
  static const std::map<std::string, int> kBits = {{"float64", 53},      {"float32", 24},
                                                   {"float16", 11},      {"bfloat16", 8},
                                                   {"float8_e4m3fn", 4}, {"float8_e5m2", 3}};
  const auto bits = kBits.find(dtype);
  return bits == kBits.end() ? 0 : std::ldexp(1, -bits->second);
}

void RoundingTolerance::BeginStep() {
  weights_ = norms_ = activations_ = gradients_ = 0;
  depth_ = parameters_ = 0;
  of_module_.clear();
}

double RoundingTolerance::Carried(const std::string &parameter) const {
  const auto found = of_parameter_.find(parameter);
  return found == of_parameter_.end() ? 0 : found->second;
}

double RoundingTolerance::Limit(const RunTensor &tensor, double moved) const {
  const double weights = norms_ > 0 ? std::sqrt(weights_ / norms_) : 0;
  const double forward = unit_ * std::sqrt(1.0 + static_cast<double>(depth_));
  const auto layers = static_cast<double>(std::max(depth_, parameters_));
  const auto module = of_module_.find(tensor.module);
  const bool has_own =
      tensor.kind == RunKind::kActivation && module != of_module_.end() && module->second.norms > 0;
  const double own = has_own ? std::sqrt(module->second.differences / module->second.norms) : 0;
  const double explained = std::max({forward, weights, own, activations_});
  const double backward =
      std::max({unit_ * std::sqrt(1 + 2 * layers), explained, gradients_ * kForward / kBackward});
  const double gradient = std::min(kMost, kBackward * backward);
  const auto seen = elementwise_.find(tensor.parameter);
  // Without the elements of gradients: Adam turns a relative difference d of the gradient into one
  // of about sqrt(d), because the smallest gradients change sign.
  const double update =
      kUpdate * (seen == elementwise_.end() ? 2 * std::sqrt(gradient) : seen->second);
  switch (tensor.kind) {
    case RunKind::kParameter:
      return Carried(tensor.parameter) + kForward * unit_ + std::max(update, unit_) * moved;
    case RunKind::kActivation:
    case RunKind::kLoss: return std::min(kMost, kForward * explained);
    case RunKind::kGradient: return gradient;
    case RunKind::kUpdate: return std::max(gradient, update);
    case RunKind::kState:
      return std::max({kBackward * 2 * gradients_, 2 * gradient,
                       seen == elementwise_.end() ? 0 : kUpdate * seen->second});
    default: return 1e-6;
  }
}

double RoundingTolerance::Explained(const RunTensor &tensor, double moved) const {
  const auto seen = elementwise_.find(tensor.parameter);
  if (tensor.kind != RunKind::kParameter || seen == elementwise_.end()) return 0;
  return Carried(tensor.parameter) + kUpdate * seen->second * moved;
}

void RoundingTolerance::Accept(const RunTensor &tensor, const RunDistance &distance,
                               double relative) {
  switch (tensor.kind) {
    case RunKind::kParameter:
      weights_ += distance.difference * distance.difference;
      norms_ += distance.norm * distance.norm;
      of_parameter_[tensor.parameter] = distance.Relative(0);
      of_module_[tensor.module].differences += distance.difference * distance.difference;
      of_module_[tensor.module].norms += distance.norm * distance.norm;
      ++parameters_;
      break;
    case RunKind::kActivation: ++depth_; [[fallthrough]];
    case RunKind::kLoss: activations_ = std::max(activations_, relative); break;
    case RunKind::kGradient: {
      gradients_ = std::max(gradients_, relative);
      if (distance.count == 0) break;
      double &largest = elementwise_[tensor.parameter];
      largest = std::max({largest, distance.elementwise, unit_});
      break;
    }
    default: break;
  }
}

void NoiseTolerance::Add(const RunTensor &tensor, double relative) {
  if (!std::isfinite(relative)) return;  // it would excuse every difference
  double &largest = largest_[tensor.key];
  largest = std::max(largest, relative);
  of_kind_[tensor.kind].push_back(relative);
}

double NoiseTolerance::Limit(const RunTensor &tensor) const {
  const auto own = largest_.find(tensor.key);
  double noise = own == largest_.end() ? 0 : own->second;
  const auto kind =
      of_kind_.find(tensor.kind == RunKind::kLoss ? RunKind::kActivation : tensor.kind);
  if (kind != of_kind_.end()) {
    std::vector<double> all = kind->second;
    std::nth_element(all.begin(), all.begin() + static_cast<ptrdiff_t>(all.size() / 2), all.end());
    noise = std::max(noise, all[all.size() / 2]);
  }
  return kNoise * noise;
}

}  // namespace smdebug::cli
