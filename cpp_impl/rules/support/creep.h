// Tells, at the end of a job, whether its weights have only crept along a straight line.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.h"
#include "rules/support/snapshot.h"
#include "rules/support/tensor_states.h"
#include "rules/support/told.h"

namespace smdebug::rules {

// Where a weight was before the first update, about half way, and is at the end.  For one thread.
class Path {
 public:
  // Begins with the weight before its first update: its name, the number of its elements, and them.
  void Begin(std::string_view tensor, int64_t elements, const Snapshot &weight);
  // Notes that an update has changed the weight.
  void Move(const Snapshot &weight);

  // How far the weight went.
  struct Length {
    int64_t updates;
    double before;    // the sum of the absolute values of all elements at first
    double moved;     // that of their changes
    double elements;  // compared ones
    double straight;  // the cosine between what moved it before half way, and afterwards
  };
  // Returns the way to what the weight is now; nothing if it did not move before half way, or
  // afterwards.
  std::optional<Length> To(const Snapshot &weight) const;
  const std::string &Tensor() const { return tensor_; }

 private:
  std::string tensor_;  // "": not begun
  double elements_ = 0;
  int64_t updates_ = 0;
  // Some elements, spread evenly: at first, at the last update whose number is a power of two, and
  // at that of the power before.
  std::vector<double> first_;
  std::vector<double> at_power_;
  std::vector<double> at_power_before_;
};

// A rate that is far too low takes all weights along a straight line: they end so near to where
// they began that no gradient has changed.  That alone is no fault, if the loss has fallen or the
// job had few updates.  For one thread.
class Creep {
 public:
  // `least`: how far all weights move at least, relative to them; nothing: no way is too short.
  explicit Creep(std::optional<double> least) : least_(least) {}

  // Notes a loss of a training step.
  void AddLoss(const Sample &sample, double loss);

  // Adds the way of a weight to those of its worker, at the end.
  void AddPath(const std::string &worker, const std::string &tensor, const Path::Length &length);
  // Tells of the first worker whose weights have crept, once all ways are there.
  void Report(const StepPlace &last, Findings &findings) const;

 private:
  struct Loss {
    bool was_below_0 = false;
    std::vector<double> first;
    std::deque<double> last;
    int64_t count = 0;

    // Returns the part of the first losses by which the last ones are lower; nothing if it says
    // nothing.
    std::optional<double> Fall() const;
  };
  struct All {
    int64_t updates = 0;
    double before = 0;
    double moved = 0;
    double elements = 0;
    double straight = 0;  // the sum of the cosines, each times its elements
    double farthest = 0;  // of the weight that moved most
    std::string tensor;
  };

  std::optional<double> FallOf(const std::string &worker) const;

  const std::optional<double> least_;
  TensorStates<Loss> losses_;
  std::map<std::string, All> ways_;  // by worker
};

}  // namespace smdebug::rules
