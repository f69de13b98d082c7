// A tensor's elements at one step, kept to compare later ones with.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/spread.h"
#include "tensor/view.h"

namespace smdebug::rules {

// All elements of a real tensor, or about `most` evenly spread ones.
class Snapshot {
 public:
  Snapshot() = default;
  // `most` 0: all.
  Snapshot(const tensor::View &view, int64_t most)
      : shape_(view.shape.begin(), view.shape.end()), elements_(view, most) {}

  // Whether it has the same shape and type.
  bool IsLike(const Snapshot &other) const {
    return elements_.AsView().dtype == other.elements_.AsView().dtype && shape_ == other.shape_;
  }
  // Whether it has the same bytes; of one that is like this.
  bool IsSameAs(const Snapshot &other) const;

 private:
  friend struct Change;
  friend class Closeness;

  std::vector<int64_t> shape_;
  tensor::SpreadElements elements_;
};

// Of a tensor's elements, as sums of absolute values.
struct Change {
  double difference = 0;
  double before = 0;

  // Of two that are like each other.
  static Change Between(const Snapshot &before, const Snapshot &now);
};

// When two numbers count as equal, as numpy.isclose has it.
class Closeness {
 public:
  Closeness(double rtol, double atol, bool equal_nan)
      : rtol_(rtol), atol_(atol), equal_nan_(equal_nan) {}

  // |now - before| <= atol + rtol * |before| everywhere.  Of two that are like each other.
  bool Holds(const Snapshot &before, const Snapshot &now) const;

 private:
  bool AreClose(double before, double now) const;

  double rtol_;
  double atol_;
  bool equal_nan_;
};

}  // namespace smdebug::rules
