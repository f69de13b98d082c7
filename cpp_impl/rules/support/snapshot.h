// Keeps a tensor's elements at one step to compare them with later steps.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/spread.h"
#include "tensor/view.h"

namespace smdebug::rules {

// Holds all elements of a real tensor, or about `most` evenly spread elements.
class Snapshot {
 public:
  Snapshot() = default;
  // If `most` is 0, keeps all elements.
  Snapshot(const tensor::View &view, int64_t most)
      : shape_(view.shape.begin(), view.shape.end()), elements_(view, most) {}

  // Reports whether the other snapshot has the same shape and type.
  bool IsLike(const Snapshot &other) const {
    return elements_.AsView().dtype == other.elements_.AsView().dtype && shape_ == other.shape_;
  }
  // Reports whether the other snapshot has the same bytes.  Requires IsLike().
  bool IsSameAs(const Snapshot &other) const;
  // Returns the mean of the squares of its elements; NaN if there are none.
  double MeanSquare() const;
  // Returns about `most` of its elements, evenly spread.
  std::vector<double> Some(int64_t most) const;

 private:
  friend struct Change;
  friend struct Jump;
  friend class Closeness;

  std::vector<int64_t> shape_;
  tensor::SpreadElements elements_;
};

// Measures the change of a tensor's elements as sums of absolute values.
struct Change {
  double difference = 0;
  double before = 0;
  double largest = 0;  // of one element
  double next = 0;     // of another element: at most the second largest
  int64_t count = 0;   // elements

  // Requires that the snapshots are like each other.
  static Change Between(const Snapshot &before, const Snapshot &now);
};

// Describes the element that changed most.
struct Jump {
  double before = 0;
  double now = 0;
  double next = 0;      // the largest change of another element
  int64_t changed = 0;  // elements that changed

  double Size() const;
  // Reports whether the element was multiplied by a power of two, as by a flipped bit of its
  // exponent, apart from updates before and after it that are as large as those of other elements.
  bool IsByPowerOfTwo() const;

  // Requires that the snapshots are like each other.
  static Jump Between(const Snapshot &before, const Snapshot &now);
};

// Decides whether two numbers count as equal, as numpy.isclose does.
class Closeness {
 public:
  Closeness(double rtol, double atol, bool equal_nan)
      : rtol_(rtol), atol_(atol), equal_nan_(equal_nan) {}

  // Reports whether |now - before| <= atol + rtol * |before| for every element.  Requires that the
  // snapshots are like each other.
  bool Holds(const Snapshot &before, const Snapshot &now) const;

 private:
  bool AreClose(double before, double now) const;

  double rtol_;
  double atol_;
  bool equal_nan_;
};

}  // namespace smdebug::rules
