#include "run_difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smdebug::cli {
namespace {

constexpr double kFloor = 16;          // rounding units: the least tolerance with noise runs
constexpr double kMostOfNoise = 0.25;  // to find the order of samples in noise runs
constexpr size_t kFewGradients = 3;

std::map<std::string, RunTensor> ByKey(const std::vector<RunTensor> &tensors) {
  std::map<std::string, RunTensor> by_key;
  for (const RunTensor &tensor : tensors) by_key.emplace(tensor.key, tensor);
  return by_key;
}

bool Has(const std::vector<RunTensor> &tensors, RunKind kind) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [kind](const RunTensor &each) { return each.kind == kind; });
}

// Returns whether every run has such a tensor for each trained parameter.
bool IsExpected(RunKind kind) {
  return kind == RunKind::kGradient || kind == RunKind::kUpdate || kind == RunKind::kState;
}

double NormOf(const std::vector<double> &numbers) {
  double squares = 0;
  for (const double number : numbers) squares += number * number;
  return std::sqrt(squares);
}

double MeanOf(double norm, size_t count) { return norm / std::sqrt(static_cast<double>(count)); }

// Gradients of one module, or one kind of their states: "a.b gradient", "a.b exp_avg".
std::string FamilyOf(const RunTensor &tensor) {
  if (tensor.kind == RunKind::kGradient) return tensor.module + " gradient";
  if (tensor.kind != RunKind::kState) return "";
  return tensor.module + " " + tensor.key.substr(tensor.key.rfind('/') + 1);
}

}  // namespace

bool RunComparison::Compare(int64_t step) {
  const std::vector<RunTensor> in_a = a_.Tensors(step);
  const std::vector<RunTensor> in_b = b_.Tensors(step);
  const Tensors keys_a = ByKey(in_a);
  const Tensors keys_b = ByKey(in_b);
  rounding_.BeginStep();
  noise_.BeginStep();
  orders_.clear();
  noise_orders_.assign(noise_runs_.size(), {});
  in_noise_.clear();
  for (RunReader *run : noise_runs_) in_noise_.push_back(ByKey(run->Tensors(step)));
  gradients_.clear();
  depth_ = 0;
  ++verdict_.steps;
  MeasureStep(in_a, step);
  for (const RunTensor &tensor : in_b) {
    if (keys_a.contains(tensor.key)) continue;
    verdict_.only_in_b.insert(tensor.recorded.front());
    if (IsExpected(tensor.kind) && Has(in_a, tensor.kind)) NoteMissing(tensor, "A", step);
  }
  for (const RunTensor &tensor : in_a) {
    const auto other = keys_b.find(tensor.key);
    if (other != keys_b.end()) {
      CompareTensor(tensor, other->second, step);
      continue;
    }
    verdict_.only_in_a.insert(tensor.recorded.front());
    if (IsExpected(tensor.kind) && Has(in_b, tensor.kind)) NoteMissing(tensor, "B", step);
  }
  if (verdict_.first && verdict_.first->tensor.kind == RunKind::kGradient) FindFactor();
  return !verdict_.first;
}

// Measures what all tensors of a step in A have in common.
void RunComparison::MeasureStep(const std::vector<RunTensor> &tensors, int64_t step) {
  modules_.clear();
  moves_.clear();
  largest_move_ = 0;
  for (const RunTensor &tensor : tensors) {
    const bool has_floor = tensor.kind == RunKind::kGradient || tensor.kind == RunKind::kState;
    if (!has_floor && tensor.kind != RunKind::kParameter) continue;
    for (const RunPart &part : a_.Read(tensor, step)) {
      if (part.numbers.empty()) continue;
      if (tensor.kind == RunKind::kParameter) {
        MeasureMove(tensor, part.numbers);
        break;
      }
      const double mean = MeanOf(NormOf(part.numbers), part.numbers.size());
      double &largest = modules_[FamilyOf(tensor)];
      if (std::isfinite(mean)) largest = std::max(largest, mean);
    }
  }
}

// Measures how far the parameter moved since the last step.
void RunComparison::MeasureMove(const RunTensor &tensor, const std::vector<double> &now) {
  std::vector<float> &before = before_[tensor.parameter];
  double squares = 0;
  if (before.size() == now.size()) {
    for (size_t i = 0; i < now.size(); ++i) squares += (now[i] - before[i]) * (now[i] - before[i]);
  }
  before.assign(now.begin(), now.end());
  if (!std::isfinite(squares)) return;
  moves_[tensor.parameter] = std::sqrt(squares);
  largest_move_ = std::max(largest_move_, MeanOf(std::sqrt(squares), now.size()));
}

// Part of a module's gradients may be zero but for rounding, as those of the keys' biases in an
// attention are.  Their rounding is that of the module's largest gradient.
double RunComparison::FloorOf(const RunTensor &tensor, const RunParts &parts) const {
  const auto family = modules_.find(FamilyOf(tensor));
  if (family == modules_.end() || parts.empty()) return 0;
  return family->second * std::sqrt(static_cast<double>(parts.front().numbers.size()));
}

// Returns how far the parameter could have moved since the last step, relative to its norm.  Adam
// turns a gradient that is zero but for rounding into a step of up to full size, or, if rounding is
// below its epsilon, into nearly none.  So this is the largest step per element of any parameter.
double RunComparison::MovedOf(const RunTensor &tensor, const RunParts &parts) const {
  const auto move = moves_.find(tensor.parameter);
  if (tensor.kind != RunKind::kParameter || parts.empty() || move == moves_.end()) return 0;
  const std::vector<double> &now = parts.front().numbers;
  const double full = largest_move_ * std::sqrt(static_cast<double>(now.size()));
  const double norm = NormOf(now);
  return norm > 0 ? std::max(move->second, full) / norm : 0;
}

double RunComparison::LimitOf(const RunTensor &tensor, const RunParts &parts, int64_t step,
                              double floor) {
  const double moved = MovedOf(tensor, parts);
  const double by_rounding = rounding_.Limit(tensor, moved);
  if (noise_runs_.empty()) return by_rounding;
  for (size_t i = 0; i < noise_runs_.size(); ++i) {
    const auto found = in_noise_[i].find(tensor.key);
    if (found == in_noise_[i].end()) continue;
    const std::optional<RunDistance> distance =
        DistanceOf(tensor.kind, parts, noise_runs_[i]->Read(found->second, step), kMostOfNoise,
                   &noise_orders_[i]);
    if (distance) noise_.Add(tensor, distance->Relative(floor));
  }
  const double least = kFloor * unit_ * std::sqrt(1.0 + static_cast<double>(depth_));
  // The noise run rounds as A does, and may not show what B's rounding does to an update.
  const double by_noise =
      std::max({noise_.Limit(tensor), least, rounding_.Explained(tensor, moved)});
  return uses_unit_ ? std::max(by_noise, by_rounding) : by_noise;
}

void RunComparison::CompareTensor(const RunTensor &tensor, const RunTensor &in_b, int64_t step) {
  const RunParts of_a = a_.Read(tensor, step);
  const RunParts of_b = b_.Read(in_b, step);
  const double floor = FloorOf(tensor, of_a);
  double limit = LimitOf(tensor, of_a, step, floor);
  const bool are_whole = !of_a.empty() && of_a.front().are_whole;
  if (are_whole) limit = 0;
  const std::optional<RunDistance> distance = DistanceOf(tensor.kind, of_a, of_b, limit, &orders_);
  const bool must_fit = tensor.kind == RunKind::kParameter || IsExpected(tensor.kind);
  if (!distance && (of_a.empty() || of_b.empty() || !must_fit)) {
    verdict_.not_compared.insert(tensor.recorded.front());
    return;
  }
  ++verdict_.tensors;
  if (tensor.kind == RunKind::kActivation) ++depth_;
  const double relative =
      distance ? distance->Relative(floor) : std::numeric_limits<double>::infinity();
  if (distance && distance->count > 0 && tensor.kind == RunKind::kGradient) {
    gradients_.push_back({tensor, *distance, floor, limit});
  }
  if (verdict_.first) ++verdict_.after;
  if (relative > limit) {
    if (verdict_.first) ++verdict_.after_different;
    Note({step, tensor, relative, limit, "", std::nullopt, are_whole});
    return;
  }
  rounding_.Accept(tensor, *distance, relative);
  const double share = limit > 0 ? relative / limit : 0;
  if (share <= verdict_.closest) return;
  verdict_.closest = share;
  verdict_.closest_tensor = tensor.recorded.front();
  verdict_.closest_step = step;
}

void RunComparison::NoteMissing(const RunTensor &tensor, const std::string &run, int64_t step) {
  Note({step, tensor, std::numeric_limits<double>::infinity(), 0, run, std::nullopt, false});
}

void RunComparison::Note(FirstDifference difference) {
  if (!verdict_.first) verdict_.first = std::move(difference);
}

// Clipping by the norm of all gradients, and a loss that is scaled otherwise, multiply every
// gradient by one factor.  A gradient that does not fit the factor is then the first difference.
void RunComparison::FindFactor() {
  std::vector<double> factors;
  for (const Gradient &each : gradients_) {
    const double factor = each.distance.product / (each.distance.norm * each.distance.norm);
    if (std::isfinite(factor)) factors.push_back(factor);
  }
  if (gradients_.size() < kFewGradients || factors.size() < kFewGradients) return;
  std::nth_element(factors.begin(), factors.begin() + static_cast<ptrdiff_t>(factors.size() / 2),
                   factors.end());
  const double factor = factors[factors.size() / 2];
  const Gradient *first = nullptr;
  size_t fitting = 0;
  size_t different = 0;
  for (const Gradient &each : gradients_) {
    const RunDistance &d = each.distance;
    const double rest =
        d.of_b * d.of_b - 2 * factor * d.product + factor * factor * d.norm * d.norm;
    const double size = std::max(d.norm, each.floor) * std::max(1.0, std::abs(factor));
    const bool fits =
        std::isfinite(rest) && std::sqrt(std::max(0.0, rest)) <= (each.limit + 1e-7) * size;
    if (fits) ++fitting;
    if (!fits && first == nullptr) first = &each;
    if (d.Relative(each.floor) > each.limit) ++different;
  }
  const bool is_common = different * 2 > gradients_.size() && fitting * 2 > gradients_.size();
  if (!is_common) return;
  verdict_.first->factor = factor;
  if (first == nullptr) return;
  verdict_.first->tensor = first->tensor;
  verdict_.first->relative = first->distance.Relative(first->floor);
  verdict_.first->limit = first->limit;
  verdict_.first->factor.reset();
}

}  // namespace smdebug::cli
