#include "rules/support/gradient_sums.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "rules/support/precision.h"
#include "rules/support/products.h"

namespace smdebug::rules {
namespace {

// Sums may leave this much unexplained: kOfChange of the change, and kOfOther of what gradients
// leave unexplained.
constexpr double kOfChange = 0.05;
constexpr double kOfOther = 0.2;
// Gradients must leave at least this much of the update unexplained.  Otherwise both explain it, as
// where gradients hardly change from step to step.
constexpr double kLeastUnexplained = 1e-4;
// A change must exceed this multiple of the rounding of weights.
constexpr double kOverNoise = 4;
// The largest momentum that the fit accepts.  With a momentum of 1, gradients would be sums
// themselves.
constexpr double kMostMomentum = 0.99;
// Two factors fit any small set of numbers.
constexpr size_t kLeastElements = 12;
constexpr double kDecayOfSquares = 0.999;
constexpr int64_t kStepsOfDigits = 3;

void Subtract(const std::vector<double> &a, const std::vector<double> &b,
              std::vector<double> *difference) {
  difference->resize(a.size());
  double *to = difference->data();
  for (size_t i = 0; i < a.size(); ++i) to[i] = a[i] - b[i];
}

// Holds the products of an update with itself and with what may explain it, from one pass: at
// each step all this memory has left the cache.
struct Products {
  Products(const std::vector<double> &y, const std::vector<double> &last,
           const std::vector<double> &gradient) {
    constexpr size_t kLanes = 4;
    double sums[6][kLanes] = {};
    size_t i = 0;
    const auto add = [&](size_t lane) {
      const double a = y[i + lane];
      const double b = last[i + lane];
      const double c = gradient[i + lane];
      sums[0][lane] += a * a;
      sums[1][lane] += b * b;
      sums[2][lane] += c * c;
      sums[3][lane] += a * b;
      sums[4][lane] += a * c;
      sums[5][lane] += b * c;
    };
    for (; i + kLanes <= y.size(); i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) add(lane);
    }
    for (; i < y.size(); ++i) add(0);
    const auto total = [](const double(&lanes)[kLanes]) {
      return std::accumulate(std::begin(lanes), std::end(lanes), 0.0);
    };
    yy = total(sums[0]);
    ll = total(sums[1]);
    gg = total(sums[2]);
    yl = total(sums[3]);
    yg = total(sums[4]);
    lg = total(sums[5]);
  }

  double yy;
  double ll;
  double gg;
  double yl;
  double yg;
  double lg;
};

// Returns the distance from `y` to the nearest `momentum` * `last` + factor * `gradient`.
double DistanceOf(const Products &of, double most_momentum) {
  const double determinant = of.ll * of.gg - of.lg * of.lg;
  double momentum = 0;
  if (determinant > 1e-12 * of.ll * of.gg) {
    momentum = (of.yl * of.gg - of.yg * of.lg) / determinant;
  } else if (of.gg == 0 && of.ll > 0) {
    momentum = of.yl / of.ll;
  }
  momentum = std::min(momentum, most_momentum);
  const double factor = of.gg > 0 ? (of.yg - momentum * of.lg) / of.gg : 0;
  const double squares = of.yy + momentum * (momentum * of.ll - 2 * of.yl) +
                         factor * (factor * of.gg - 2 * of.yg + 2 * momentum * of.lg);
  return std::sqrt(std::max(squares, 0.0));  // rounding makes a perfect fit negative
}

double Part(double distance, double norm) { return norm > 0 ? distance / norm : 1; }

// Computes the update without Adam's division at step number `step`.
void Undo(const std::vector<double> &update, const std::vector<double> &squares, int64_t step,
          std::vector<double> *undone) {
  undone->resize(update.size());
  const double weight_of_all = 1 - std::pow(kDecayOfSquares, static_cast<double>(step));
  for (size_t i = 0; i < update.size(); ++i) {
    (*undone)[i] = update[i] * std::sqrt(squares[i] / weight_of_all);
  }
}

// Returns the part of `y` that `last` and `gradient` do not explain.
double PartByGradient(const std::vector<double> &y, const std::vector<double> &last,
                      const std::vector<double> &gradient) {
  const Products of(y, last, gradient);
  return Part(DistanceOf(of, kMostMomentum), std::sqrt(of.yy));
}

}  // namespace

std::vector<double> &GradientSums::Updates::Next() {
  last.swap(now);
  last_change.swap(change);
  return now;
}

void GradientSums::Updates::NoteChange() {
  if (!last.empty()) Subtract(now, last, &change);
}

GradientSums::Updates::Unexplained GradientSums::Updates::UnexplainedBySum(
    const std::vector<double> &gradient) const {
  if (last_change.empty()) return {};
  const Products of(change, last_change, gradient);
  const double rest = DistanceOf(of, kMostMomentum);
  return {Part(rest, std::sqrt(Product(now, now))), Part(rest, std::sqrt(of.yy))};
}

double GradientSums::Updates::UnexplainedByLast() const {
  if (last_change.empty()) return 1;
  const std::vector<double> nothing(change.size());
  return PartByGradient(change, last_change, nothing);
}

void GradientSums::Squares::Add(const std::vector<double> &divided) {
  last.swap(now);
  last.resize(divided.size());
  now.resize(divided.size());
  for (size_t i = 0; i < divided.size(); ++i) {
    now[i] = kDecayOfSquares * last[i] + (1 - kDecayOfSquares) * divided[i] * divided[i];
  }
}

void GradientSums::Add(std::vector<double> weight, std::vector<double> gradient, bool is_updated) {
  const size_t size = weight.size();
  if (size != gradient.size() || size < kLeastElements) return Clear();
  if (!weight_.empty() && size != weight_.size()) Clear();
  if (!weight_.empty()) {
    Subtract(weight, weight_, &plain_.Next());
    // Weights that begin as ones show their digits only later.
    if (steps_ < kStepsOfDigits) digits_ = std::max(digits_, DigitsOf(weight));
    const double noise = std::ldexp(std::sqrt(Product(weight, weight)), -digits_);
    Evaluate(is_updated ? gradient : gradient_, noise);
  } else {
    digits_ = DigitsOf(weight);
  }
  weight_ = std::move(weight);
  gradient_ = std::move(gradient);
}

double GradientSums::UnexplainedByGradient(const std::vector<double> &gradient) const {
  if (plain_.last.empty()) return 1;
  std::vector<double> now;
  std::vector<double> last;
  Undo(plain_.now, of_gradients_.now, steps_, &now);
  Undo(plain_.last, of_gradients_.last, steps_ - 1, &last);
  return std::min(PartByGradient(plain_.now, plain_.last, gradient),
                  PartByGradient(now, last, gradient));
}

void GradientSums::Evaluate(const std::vector<double> &gradient, double noise) {
  ++steps_;
  sum_.resize(gradient.size());
  for (size_t i = 0; i < gradient.size(); ++i) sum_[i] += gradient[i];
  plain_.NoteChange();
  of_gradients_.Add(gradient);
  of_sums_.Add(sum_);
  Undo(plain_.now, of_sums_.now, steps_, &by_sum_.Next());
  by_sum_.NoteChange();
  const Updates::Unexplained of_plain = plain_.UnexplainedBySum(gradient);
  const Updates::Unexplained of_sum = by_sum_.UnexplainedBySum(gradient);
  const bool is_plain = of_plain.of_change < of_sum.of_change;
  const Updates::Unexplained &best = is_plain ? of_plain : of_sum;
  const double size = std::sqrt(Product(plain_.now, plain_.now));
  const double change =
      plain_.change.empty() ? 0 : std::sqrt(Product(plain_.change, plain_.change));
  is_judged_ = change > kOverNoise * noise;
  // In a healthy training, sums hardly ever explain the change.  The other conditions are then not
  // computed.
  bool is_sum = is_judged_ && best.of_change < kOfChange;
  // The gradient must add to what the last change explains.  Steps of equal size, as those of Lion,
  // change only as the weight decays.
  is_sum = is_sum && best.of_change < kOfOther * (is_plain ? plain_ : by_sum_).UnexplainedByLast();
  if (is_sum) {
    const double unexplained = UnexplainedByGradient(gradient);
    is_sum = best.of_update < kOfOther * unexplained && unexplained > kLeastUnexplained &&
             unexplained * size > kOverNoise * noise;
  }
  steps_of_sums_ = is_sum ? steps_of_sums_ + 1 : 0;
}

}  // namespace smdebug::rules
