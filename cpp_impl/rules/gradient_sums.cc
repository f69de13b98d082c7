#include "rules/gradient_sums.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

namespace smdebug::rules {
namespace {

// What sums may leave unexplained: a part of the change, and of what gradients leave.
constexpr double kOfChange = 0.05;
constexpr double kOfOther = 0.2;
// The most momentum that is taken for one: with 1, gradients would be sums themselves.
constexpr double kMostMomentum = 0.99;
// Two factors fit any few numbers.
constexpr size_t kLeastElements = 12;
constexpr double kDecayOfSquares = 0.999;

// Several sums side by side, so that no addition waits for the one before.
double Product(const std::vector<double> &a, const std::vector<double> &b) {
  constexpr size_t kLanes = 8;
  double products[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= a.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) products[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < a.size(); ++i) products[0] += a[i] * b[i];
  return std::accumulate(std::begin(products), std::end(products), 0.0);
}

std::vector<double> Minus(const std::vector<double> &a, const std::vector<double> &b) {
  std::vector<double> difference(a.size());
  for (size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return difference;
}

// How far `y` is from the nearest `momentum` * `last` + factor * `gradient`.
double DistanceOf(const std::vector<double> &y, const std::vector<double> &last,
                  const std::vector<double> &gradient, double most_momentum) {
  const double ll = Product(last, last);
  const double gg = Product(gradient, gradient);
  const double lg = Product(last, gradient);
  const double determinant = ll * gg - lg * lg;
  double momentum = 0;
  if (determinant > 1e-12 * ll * gg) {
    momentum = (Product(last, y) * gg - Product(gradient, y) * lg) / determinant;
  } else if (gg == 0 && ll > 0) {
    momentum = Product(last, y) / ll;
  }
  momentum = std::min(momentum, most_momentum);
  const double factor = gg > 0 ? (Product(gradient, y) - momentum * lg) / gg : 0;
  double squares = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double rest = y[i] - momentum * last[i] - factor * gradient[i];
    squares += rest * rest;
  }
  return std::sqrt(squares);
}

double Part(double distance, double norm) { return norm > 0 ? distance / norm : 1; }

}  // namespace

GradientSums::Updates::Unexplained GradientSums::Updates::Add(std::vector<double> update,
                                                              const std::vector<double> &gradient) {
  Unexplained unexplained;
  std::vector<double> change;
  const double norm = std::sqrt(Product(update, update));
  if (!last.empty()) {
    change = Minus(update, last);
    unexplained.by_gradient = Part(DistanceOf(update, last, gradient, kMostMomentum), norm);
    if (!last_change.empty()) {
      const double rest = DistanceOf(change, last_change, gradient, kMostMomentum);
      unexplained.by_sum = Part(rest, norm);
      unexplained.of_change_by_sum = Part(rest, std::sqrt(Product(change, change)));
    }
  }
  last = std::move(update);
  last_change = std::move(change);
  return unexplained;
}

std::vector<double> GradientSums::Scaled::Undo(const std::vector<double> &update,
                                               const std::vector<double> &divided_for,
                                               int64_t steps) {
  squares.resize(update.size());
  const double weight_of_all = 1 - std::pow(kDecayOfSquares, static_cast<double>(steps));
  std::vector<double> undone(update.size());
  for (size_t i = 0; i < update.size(); ++i) {
    squares[i] =
        kDecayOfSquares * squares[i] + (1 - kDecayOfSquares) * divided_for[i] * divided_for[i];
    undone[i] = update[i] * std::sqrt(squares[i] / weight_of_all);
  }
  return undone;
}

void GradientSums::Add(std::vector<double> weight, std::vector<double> gradient, bool is_updated) {
  const size_t size = weight.size();
  if (size != gradient.size() || size < kLeastElements) return Clear();
  if (!weight_.empty() && size != weight_.size()) Clear();
  const bool has_update = !weight_.empty();
  if (has_update) Judge(Minus(weight, weight_), is_updated ? gradient : gradient_);
  weight_ = std::move(weight);
  gradient_ = std::move(gradient);
}

void GradientSums::Judge(const std::vector<double> &update, const std::vector<double> &gradient) {
  ++steps_;
  sum_.resize(gradient.size());
  for (size_t i = 0; i < gradient.size(); ++i) sum_[i] += gradient[i];
  const Updates::Unexplained of_plain = plain_.Add(update, gradient);
  const Updates::Unexplained of_gradient =
      by_gradient_.updates.Add(by_gradient_.Undo(update, gradient, steps_), gradient);
  const Updates::Unexplained of_sum =
      by_sum_.updates.Add(by_sum_.Undo(update, sum_, steps_), gradient);
  const Updates::Unexplained &best =
      of_plain.of_change_by_sum < of_sum.of_change_by_sum ? of_plain : of_sum;
  const bool is_sum =
      best.of_change_by_sum < kOfChange &&
      best.by_sum < kOfOther * std::min(of_plain.by_gradient, of_gradient.by_gradient);
  steps_of_sums_ = is_sum ? steps_of_sums_ + 1 : 0;
}

}  // namespace smdebug::rules
