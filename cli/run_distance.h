// Measures how far a tensor of one run is from the tensor of another.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run_names.h"

namespace smdebug::cli {

// The data that one worker saved under one name: elements, or reductions by name.
struct RunPart {
  std::vector<int64_t> shape;
  std::vector<double> numbers;
  std::map<std::string, double> reductions;  // used if there are no elements
  bool has_numbers = false;
  bool are_whole = false;  // integers, which must be equal
  size_t worker = 0;       // the position of the worker
};
using RunParts = std::vector<RunPart>;

struct RunDistance {
  double difference = 0;  // |a - b|, the Frobenius norm
  double norm = 0;        // |a|
  double of_b = 0;        // |b|
  double product = 0;     // <a, b>
  size_t count = 0;       // of elements; 0: measured from reductions
  // How far the signs and sizes of single elements are off: 2 sqrt(mean(min(1, r^2))), r being an
  // element's relative difference.  An optimizer that divides by the gradient's size turns the
  // gradient's difference into this one.
  double elementwise = 0;
  bool are_whole = false;

  double Relative(double floor) const;
};

// Permutations of the samples of a batch that were found, by the number of samples.
using Orders = std::map<size_t, std::vector<size_t>>;

// Puts the parts together so that their shapes agree, and measures the distance.  Parts are
// micro-batches, the batches of data-parallel workers, replicas, or shards along one axis; losses
// are averaged.  If the samples are in another order in `b`, uses the order with which the
// difference is below `limit`, if there is one, and notes it in `orders`.  Returns nothing if the
// parts do not fit together.
std::optional<RunDistance> DistanceOf(RunKind kind, const RunParts &a, const RunParts &b,
                                      double limit, Orders *orders);

}  // namespace smdebug::cli
