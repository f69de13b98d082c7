#include "rules/support/snapshot.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

#include "tensor/blocks.h"

namespace smdebug::rules {
namespace {

// Calls `visit(const T *a, const T *b, size_t count)` block by block, until it returns false.
template <class Visit>
bool VisitPairs(const tensor::View &a, const tensor::View &b, Visit visit) {
  const tensor::ElementAccess access = tensor::AccessTo(a.dtype, tensor::Part::kWhole);
  const size_t size = tensor::DTypeSize(a.dtype);
  const auto *data_a = static_cast<const std::byte *>(a.data);
  const auto *data_b = static_cast<const std::byte *>(b.data);
  const auto end = static_cast<size_t>(a.ElementCount());
  for (size_t at = 0; at < end; at += tensor::kBlockElements) {
    const size_t part = std::min(end - at, tensor::kBlockElements);
    const auto see = [&](const auto &kernels, auto number) {
      using Block = tensor::NumberBlock<decltype(number)>;
      Block block_a(data_a + at * size, part, kernels);
      Block block_b(data_b + at * size, part, kernels);
      return visit(block_a.Numbers(), block_b.Numbers(), part);
    };
    if (!(access.is_double ? see(access.as_double, double{}) : see(access.as_float, float{}))) {
      return false;
    }
  }
  return true;
}

// Notes the change of one more element.
void NoteLargest(double difference, Change *change) {
  if (difference > change->largest) {
    change->next = std::exchange(change->largest, difference);
  } else if (difference > change->next) {
    change->next = difference;
  }
}

// Keeps several independent sums, so that no addition waits for the previous one.
template <class T>
void AddChange(const T *before, const T *now, size_t count, Change *change) {
  constexpr size_t kLanes = 8;
  double differences[kLanes] = {};
  double befores[kLanes] = {};
  double largest[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const auto old = static_cast<double>(before[i + lane]);
      const double difference = std::fabs(static_cast<double>(now[i + lane]) - old);
      differences[lane] += difference;
      befores[lane] += std::fabs(old);
      largest[lane] = difference > largest[lane] ? difference : largest[lane];
    }
  }
  for (; i < count; ++i) {
    const auto old = static_cast<double>(before[i]);
    const double difference = std::fabs(static_cast<double>(now[i]) - old);
    differences[0] += difference;
    befores[0] += std::fabs(old);
    largest[0] = difference > largest[0] ? difference : largest[0];
  }
  change->count += static_cast<int64_t>(count);
  for (const double each : largest) NoteLargest(each, change);
  change->difference += std::accumulate(std::begin(differences), std::end(differences), 0.0);
  change->before += std::accumulate(std::begin(befores), std::end(befores), 0.0);
}

}  // namespace

bool Snapshot::IsSameAs(const Snapshot &other) const {
  const tensor::View mine = elements_.AsView();
  const size_t size = mine.ByteCount();
  return size == 0 || std::memcmp(mine.data, other.elements_.AsView().data, size) == 0;
}

double Snapshot::MeanSquare() const {
  double sum = 0;
  VisitPairs(elements_.AsView(), elements_.AsView(),
             [&](const auto *, const auto *elements, size_t count) {
               for (size_t i = 0; i < count; ++i) {
                 const auto each = static_cast<double>(elements[i]);
                 sum += each * each;
               }
               return true;
             });
  return sum / static_cast<double>(elements_.AsView().ElementCount());
}

std::vector<double> Snapshot::Some(int64_t most) const {
  const tensor::SpreadElements some(elements_.AsView(), most);
  std::vector<double> numbers;
  numbers.reserve(static_cast<size_t>(some.AsView().ElementCount()));
  VisitPairs(some.AsView(), some.AsView(), [&](const auto *, const auto *elements, size_t count) {
    numbers.insert(numbers.end(), elements, elements + count);
    return true;
  });
  return numbers;
}

Change Change::Between(const Snapshot &before, const Snapshot &now) {
  Change change;
  VisitPairs(before.elements_.AsView(), now.elements_.AsView(),
             [&](const auto *a, const auto *b, size_t count) {
               AddChange(a, b, count, &change);
               return true;
             });
  return change;
}

double Jump::Size() const { return std::fabs(now - before); }

bool Jump::IsByPowerOfTwo() const {
  // Every small number is near some power, and so is every number near that of one that may have
  // been updated to much of itself.
  constexpr double kLeastSize = 10;
  constexpr double kMostOfBefore = 0.2;
  const bool is_large = std::fabs(now) > kLeastSize * next && before != 0;
  if (!is_large || !std::isfinite(now) || next > kMostOfBefore * std::fabs(before)) return false;
  // An update may come before the multiplication, and another one after it.
  for (const double old : {std::fabs(before), std::fabs(before) - next, std::fabs(before) + next}) {
    const double power = std::round(std::log2(std::fabs(now) / old));
    const double factor = std::exp2(power);
    const double distance = std::fabs(std::fabs(now) - std::fabs(before) * factor);
    if (power != 0 && distance <= next * (factor + 1)) return true;
  }
  return false;
}

Jump Jump::Between(const Snapshot &before, const Snapshot &now) {
  Jump jump;
  VisitPairs(before.elements_.AsView(), now.elements_.AsView(),
             [&](const auto *a, const auto *b, size_t count) {
               for (size_t i = 0; i < count; ++i) {
                 const double difference = std::fabs(static_cast<double>(b[i] - a[i]));
                 if (difference > 0) ++jump.changed;
                 if (difference > jump.Size()) {
                   jump.next = jump.Size();
                   jump.before = static_cast<double>(a[i]);
                   jump.now = static_cast<double>(b[i]);
                 } else if (difference > jump.next) {
                   jump.next = difference;
                 }
               }
               return true;
             });
  return jump;
}

bool Closeness::AreClose(double before, double now) const {
  if (std::isfinite(before) && std::isfinite(now)) {
    return std::fabs(now - before) <= atol_ + rtol_ * std::fabs(before);
  }
  return before == now || (equal_nan_ && std::isnan(before) && std::isnan(now));
}

bool Closeness::Holds(const Snapshot &before, const Snapshot &now) const {
  return VisitPairs(before.elements_.AsView(), now.elements_.AsView(),
                    [this](const auto *a, const auto *b, size_t count) {
                      for (size_t i = 0; i < count; ++i) {
                        if (!AreClose(a[i], b[i])) return false;
                      }
                      return true;
                    });
}

}  // namespace smdebug::rules
