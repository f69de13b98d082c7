#include "rules/support/creep.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/strings.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// More elements of a weight tell its direction no better.
constexpr int64_t kElements = 256;
// A power of two that is at most this part of all updates is half way.
constexpr double kHalfWay = 2.0 / 3;
// Of healthy trainings and of such with too low a rate, drawn at random, the weights of the latter
// move by less than 0.008 of themselves, at a cosine above 0.7, if the loss does not fall.  Weights
// that have settled tremble: theirs is near 0.
constexpr double kStraight = 0.7;
constexpr double kFalls = 0.1;
// A loss below this one may have been learned before, as in a job that goes on.  Those of trainings
// with too low a rate were above 0.8.
constexpr double kMayBeLearned = 0.2;
constexpr int64_t kFewestUpdates = 60;
// Few elements may go on in one direction by chance.
constexpr double kFewestElements = 32;
// How many losses at the beginning and at the end are compared: a tenth of all.
constexpr size_t kLosses = 32;
constexpr int64_t kLeastLosses = 5;
constexpr int64_t kPartOfLosses = 10;

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void Path::Begin(std::string_view tensor, int64_t elements, const Snapshot &weight) {
  *this = Path();
  tensor_ = tensor;
  elements_ = static_cast<double>(elements);
  first_ = weight.Some(kElements);
}

void Path::Move(const Snapshot &weight) {
  if (tensor_.empty() || !std::has_single_bit(static_cast<uint64_t>(++updates_))) return;
  at_power_before_ = std::exchange(at_power_, weight.Some(kElements));
}

std::optional<Path::Length> Path::To(const Snapshot &weight) const {
  const std::vector<double> last = weight.Some(kElements);
  const auto power = static_cast<double>(std::bit_floor(static_cast<uint64_t>(updates_)));
  const bool is_late = power > kHalfWay * static_cast<double>(updates_);
  const std::vector<double> &middle = is_late ? at_power_before_ : at_power_;
  if (middle.size() != first_.size() || last.size() != first_.size()) return {};
  Length length{updates_, 0, 0, static_cast<double>(last.size()), 0};
  double of_first_half = 0;
  double of_second_half = 0;
  for (size_t i = 0; i < last.size(); ++i) {
    const double a = middle[i] - first_[i];
    const double b = last[i] - middle[i];
    length.before += std::fabs(first_[i]);
    length.moved += std::fabs(a + b);
    length.straight += a * b;
    of_first_half += a * a;
    of_second_half += b * b;
  }
  length.before *= elements_ / length.elements;
  length.moved *= elements_ / length.elements;
  length.straight /= std::sqrt(of_first_half) * std::sqrt(of_second_half);
  if (!std::isfinite(length.straight) || !std::isfinite(length.moved)) return {};
  return length;
}

std::optional<double> Creep::Loss::Fall() const {
  if (was_below_0 || count < kFewestUpdates) return {};
  const int64_t most = std::max(count / kPartOfLosses, kLeastLosses);
  const auto compared = std::min({static_cast<size_t>(most), first.size(), last.size()});
  const auto size = static_cast<std::ptrdiff_t>(compared);
  const double before = MedianOf({first.begin(), first.begin() + size});
  const double now = MedianOf({last.end() - size, last.end()});
  if (now < kMayBeLearned) return {};
  return (before - now) / before;
}

void Creep::AddLoss(const Sample &sample, double loss) {
  if (!least_) return;
  Loss &known = losses_.Of(sample.Worker(), sample.Tensor(), sample.Number());
  known.was_below_0 |= !(loss > 0) || !std::isfinite(loss);
  ++known.count;
  if (known.first.size() < kLosses) known.first.push_back(loss);
  known.last.push_back(loss);
  if (known.last.size() > kLosses) known.last.pop_front();
}

void Creep::AddPath(const std::string &worker, const std::string &tensor,
                    const Path::Length &length) {
  All &all = ways_[worker];
  all.updates = std::max(all.updates, length.updates);
  all.before += length.before;
  all.moved += length.moved;
  all.elements += length.elements;
  all.straight += length.straight * length.elements;
  if (all.tensor.empty() || length.moved > all.farthest) {
    all.farthest = length.moved;
    all.tensor = tensor;
  }
}

// Returns the most that a loss has fallen; nothing if there is none, or one that may be at its
// least.
std::optional<double> Creep::FallOf(const std::string &worker) const {
  std::optional<double> most;
  bool may_be_least = false;
  losses_.ForEach([&](const std::string &of, const Loss &loss) {
    if (of != worker) return;
    const std::optional<double> fall = loss.Fall();
    may_be_least |= !fall;
    if (fall) most = std::max(most.value_or(*fall), *fall);
  });
  return may_be_least ? std::nullopt : most;
}

void Creep::Report(const StepPlace &last, Findings &findings) const {
  if (!least_) return;
  for (const auto &[worker, all] : ways_) {
    const std::optional<double> fall = FallOf(worker);
    const double moved = all.moved / all.before;
    const double straight = all.straight / all.elements;
    if (!fall || *fall > kFalls || all.updates < kFewestUpdates) continue;
    if (all.elements < kFewestElements) continue;
    if (!(moved < *least_) || !(straight > kStraight)) continue;
    findings.AddAt(
        last,
        FindingOf({worker, all.tensor}, "crept", moved, *least_,
                  StrCat("after ", all.updates, " updates, all weights had moved by ",
                         Shortest(100 * moved), " % of themselves, all the way in one direction, ",
                         "and no loss had fallen by more than ", Shortest(100 * kFalls),
                         " %: the learning rate is too low, or the training too short")));
    return;
  }
}

}  // namespace smdebug::rules
