#include "run_distance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace smdebug::cli {
namespace {

constexpr size_t kMostRows = 2048;  // finding an order compares every two samples
constexpr size_t kPrints = 8;
using Print = std::array<double, kPrints>;

size_t SizeOf(const std::vector<int64_t> &shape, size_t from = 0) {
  size_t size = 1;
  for (size_t i = from; i < shape.size(); ++i) size *= static_cast<size_t>(shape[i]);
  return size;
}

bool HaveSameShapes(const RunParts &a, const RunParts &b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](auto &x, auto &y) { return x.shape == y.shape; });
}

// Returns the parts joined along an axis, or nothing if their other sizes differ.
std::optional<RunPart> Join(const RunParts &parts, size_t axis) {
  RunPart whole = parts.front();
  if (axis >= whole.shape.size()) return std::nullopt;
  for (size_t i = 1; i < parts.size(); ++i) {
    std::vector<int64_t> shape = parts[i].shape;
    if (shape.size() != whole.shape.size()) return std::nullopt;
    whole.shape[axis] += shape[axis];
    shape[axis] = whole.shape[axis];
    if (shape != whole.shape) return std::nullopt;
  }
  std::vector<double> joined;
  joined.reserve(SizeOf(whole.shape));
  const size_t outer = SizeOf(whole.shape) / std::max<size_t>(1, SizeOf(whole.shape, axis));
  for (size_t row = 0; row < outer; ++row) {
    for (const RunPart &part : parts) {
      const size_t inner = SizeOf(part.shape, axis);
      const auto begin = part.numbers.begin() + static_cast<ptrdiff_t>(row * inner);
      joined.insert(joined.end(), begin, begin + static_cast<ptrdiff_t>(inner));
    }
  }
  whole.numbers = std::move(joined);
  return whole;
}

RunParts OfFirstWorker(const RunParts &parts) {
  RunParts first;
  for (const RunPart &part : parts) {
    if (part.worker == parts.front().worker) first.push_back(part);
  }
  return first;
}

// Returns `parts` as one part with the shape, or nothing.
std::optional<RunPart> Fitted(const RunParts &parts, const std::vector<int64_t> &shape) {
  if (parts.front().shape == shape) return parts.front();  // the others are replicas
  for (const RunParts &some : {parts, OfFirstWorker(parts)}) {
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      std::optional<RunPart> joined = Join(some, axis);
      if (joined && joined->shape == shape) return joined;
    }
  }
  return std::nullopt;
}

struct Pair {
  RunPart a;
  RunPart b;
};

std::optional<Pair> Fit(const RunParts &a, const RunParts &b) {
  if (HaveSameShapes(a, b)) {
    if (a.size() == 1) return Pair{a.front(), b.front()};
    std::optional<RunPart> of_a = Join(a, 0);
    std::optional<RunPart> of_b = Join(b, 0);
    if (of_a && of_b) return Pair{*of_a, *of_b};
    return Pair{a.front(), b.front()};
  }
  if (HaveSameShapes(a, OfFirstWorker(b))) return Fit(a, OfFirstWorker(b));
  if (HaveSameShapes(OfFirstWorker(a), b)) return Fit(OfFirstWorker(a), b);
  for (const RunParts &some : {a, OfFirstWorker(a)}) {
    const std::optional<RunPart> of_a = some.size() == 1 ? some.front() : Join(some, 0);
    if (!of_a) continue;
    if (std::optional<RunPart> of_b = Fitted(b, of_a->shape)) return Pair{*of_a, *of_b};
  }
  for (const RunParts &some : {b, OfFirstWorker(b)}) {
    const std::optional<RunPart> of_b = some.size() == 1 ? some.front() : Join(some, 0);
    if (!of_b) continue;
    if (std::optional<RunPart> of_a = Fitted(a, of_b->shape)) return Pair{*of_a, *of_b};
  }
  return std::nullopt;
}

// Returns the power of two that keeps the squares of a and b from over- and underflow.
double ScaleOf(const RunPart &a, const RunPart &b) {
  double largest = 0;
  for (const RunPart *part : {&a, &b}) {
    for (const double number : part->numbers) {
      if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
    }
  }
  constexpr int kSafe = 300;
  const int exponent = largest > 0 ? std::ilogb(largest) : 0;
  return std::abs(exponent) > kSafe ? std::ldexp(1, -std::clamp(exponent, -1000, 1000)) : 1;
}

RunDistance MeasurePair(const RunPart &a, const RunPart &b, const std::vector<size_t> *order) {
  RunDistance found;
  found.are_whole = a.are_whole && b.are_whole;
  found.count = a.numbers.size();
  const size_t row = order == nullptr ? 1 : SizeOf(a.shape, 1);
  const double scale = ScaleOf(a, b);
  double squares = 0;
  double shares = 0;
  double of_a = 0;
  double of_b = 0;
  for (size_t i = 0; i < a.numbers.size(); ++i) {
    const double x = scale * a.numbers[i];
    const double y = scale * b.numbers[order == nullptr ? i : (*order)[i / row] * row + i % row];
    if (x == y || (std::isnan(x) && std::isnan(y))) {
      if (!std::isfinite(x)) continue;
    } else {
      const double apart = std::isfinite(x - y) ? x - y : std::numeric_limits<double>::infinity();
      squares += apart * apart;
      const double share = std::abs(x) > 0 ? apart / x : 1;
      shares += std::min(1.0, share * share);
    }
    of_a += x * x;
    of_b += y * y;
    found.product += x * y;
  }
  found.product /= scale * scale;
  found.difference = std::sqrt(squares) / scale;
  found.norm = std::sqrt(of_a) / scale;
  found.of_b = std::sqrt(of_b) / scale;
  if (found.count > 0) found.elementwise = 2 * std::sqrt(shares / static_cast<double>(found.count));
  return found;
}

// Returns sums of each sample's elements with pseudo-random signs.
std::vector<Print> PrintsOf(const RunPart &part) {
  const auto rows = static_cast<size_t>(part.shape[0]);
  const size_t row = SizeOf(part.shape, 1);
  std::vector<Print> prints(rows, Print{});
  for (size_t i = 0; i < part.numbers.size(); ++i) {
    const uint64_t bits = (i % row + 1) * 0x9E3779B97F4A7C15ULL;
    for (size_t k = 0; k < kPrints; ++k) {
      const bool is_negative = ((bits >> (40 + k * 3)) & 1U) != 0;
      prints[i / row][k] += is_negative ? -part.numbers[i] : part.numbers[i];
    }
  }
  return prints;
}

// Returns for each sample of `a` the nearest of `b` that is not taken.
std::vector<size_t> OrderOf(const RunPart &a, const RunPart &b) {
  const std::vector<Print> of_a = PrintsOf(a);
  const std::vector<Print> of_b = PrintsOf(b);
  std::vector<size_t> order;
  std::vector<bool> is_taken(of_b.size());
  for (const Print &mine : of_a) {
    size_t best = of_b.size();
    double least = 0;
    for (size_t i = 0; i < of_b.size(); ++i) {
      if (is_taken[i]) continue;
      double distance = 0;
      for (size_t k = 0; k < kPrints; ++k) distance += std::abs(mine[k] - of_b[i][k]);
      if (best == of_b.size() || distance < least) {
        best = i;
        least = distance;
      }
    }
    is_taken[best] = true;
    order.push_back(best);
  }
  return order;
}

bool IsWithin(const RunDistance &distance, double limit) { return distance.Relative(0) <= limit; }

RunDistance MeasureSamples(const RunPart &a, const RunPart &b, double limit, Orders *orders) {
  const RunDistance plain = MeasurePair(a, b, nullptr);
  const bool has_samples = !a.shape.empty() && a.shape[0] > 1 && !a.numbers.empty() &&
                           static_cast<size_t>(a.shape[0]) <= kMostRows;
  if (IsWithin(plain, limit) || !has_samples) return plain;
  const auto rows = static_cast<size_t>(a.shape[0]);
  const auto known = orders->find(rows);
  if (known != orders->end()) {
    const RunDistance ordered = MeasurePair(a, b, &known->second);
    if (ordered.difference < plain.difference) return ordered;
    return plain;
  }
  std::vector<size_t> order = OrderOf(a, b);
  const RunDistance ordered = MeasurePair(a, b, &order);
  if (!IsWithin(ordered, limit)) return plain;
  (*orders)[rows] = std::move(order);
  return ordered;
}

// Losses are scalars: their mean is that of the batch, or their sum if each was divided by the
// number of parts.
RunDistance MeasureLosses(const RunParts &a, const RunParts &b) {
  const auto sum = [](const RunParts &parts) {
    double all = 0;
    for (const RunPart &part : parts) all += part.numbers[0];
    return all;
  };
  const auto apart = [](double x, double y) {
    return MeasurePair({{}, {x}, {}, true, false, 0}, {{}, {y}, {}, true, false, 0}, nullptr);
  };
  const double of_a = sum(a);
  const double of_b = sum(b);
  const double mean_a = of_a / static_cast<double>(a.size());
  const double mean_b = of_b / static_cast<double>(b.size());
  RunDistance best = apart(mean_a, mean_b);
  if (a.size() == b.size()) return best;
  for (const RunDistance &other : {apart(mean_a, of_b), apart(of_a, mean_b)}) {
    if (other.Relative(0) < best.Relative(0)) best = other;
  }
  return best;
}

std::optional<RunDistance> MeasureReductions(const RunPart &a, const RunPart &b) {
  double scale = 0;
  for (const char *name : {"std", "mean", "abs_mean", "min", "max"}) {
    const auto of_a = a.reductions.find(name);
    const bool is_spare = name[1] == 'i' || name[2] == 'x';  // min and max
    if (of_a == a.reductions.end() || (is_spare && scale > 0)) continue;
    scale = std::max(scale, std::abs(of_a->second));
  }
  RunDistance found;
  found.norm = 1;
  bool has_any = false;
  for (const auto &[name, of_a] : a.reductions) {
    const auto of_b = b.reductions.find(name);
    if (of_b == b.reductions.end()) continue;
    has_any = true;
    const bool is_norm = name == "l1" || name == "l2";
    const double size = is_norm ? std::abs(of_a) : scale;
    if (of_a == of_b->second || (std::isnan(of_a) && std::isnan(of_b->second))) continue;
    const double apart = std::abs(of_a - of_b->second) / size;
    found.difference = std::max(found.difference, std::isnan(apart) ? HUGE_VAL : apart);
  }
  if (!has_any) return std::nullopt;
  found.of_b = found.norm;
  return found;
}

}  // namespace

double RunDistance::Relative(double floor) const {
  if (difference == 0) return 0;
  const double size = std::max(norm, floor);
  const bool is_measure = size > 0 && std::isfinite(size);  // false for NaN
  return is_measure ? difference / size : std::numeric_limits<double>::infinity();
}

std::optional<RunDistance> DistanceOf(RunKind kind, const RunParts &a, const RunParts &b,
                                      double limit, Orders *orders) {
  if (a.empty() || b.empty()) return std::nullopt;
  const auto all = [&](const auto &holds) {
    return std::all_of(a.begin(), a.end(), holds) && std::all_of(b.begin(), b.end(), holds);
  };
  if (!all([](const RunPart &part) { return part.has_numbers; })) {
    if (a.size() != b.size()) return std::nullopt;
    std::optional<RunDistance> worst;
    for (size_t i = 0; i < a.size(); ++i) {
      const std::optional<RunDistance> of_worker = MeasureReductions(a[i], b[i]);
      if (of_worker && (!worst || of_worker->Relative(0) > worst->Relative(0))) worst = of_worker;
    }
    return worst;
  }
  const bool are_losses =
      kind == RunKind::kLoss && all([](const RunPart &part) { return part.numbers.size() == 1; });
  if (are_losses) return MeasureLosses(a, b);
  const std::optional<Pair> pair = Fit(a, b);
  if (!pair) return std::nullopt;
  if (kind != RunKind::kActivation) return MeasurePair(pair->a, pair->b, nullptr);
  return MeasureSamples(pair->a, pair->b, limit, orders);
}

}  // namespace smdebug::cli
