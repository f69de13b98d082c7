// Detects updates that are too small to change the elements of a weight.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace smdebug::rules {

// Follows which elements of weights change in two halves of a window.  Elements whose updates round
// to nothing are the same in both halves.  With stochastic rounding, or a copy of the weights in 32
// bits, an element that stayed in the first half changes in the second about as often as others.
// For one thread.
class LostUpdates {
 public:
  // What a window shows: how many elements stayed or changed in its first half, and how many of
  // these changed in the second.
  struct Counts {
    double stayed = 0;
    double of_stayed = 0;
    double changed = 0;
    double of_changed = 0;

    void Add(const Counts &other);
    // The share of elements that changed in neither half.
    double ShareOfNeither() const;
    // How often those that stayed in the first half changed in the second, relative to the others;
    // 1 if there were none.
    double Ratio() const;
    // Bounds the chance that so few of them change, if they change as often as the others.
    double Chance() const;
  };

  // Adds the elements at the next step, always the same ones; a different number begins anew.
  // Returns what a window of `2 * half` steps shows at its end.  Elements of 0 do not count: they
  // may be masked.
  std::optional<Counts> Add(const std::vector<double> &elements, int64_t half);
  // Forgets the previous steps.
  void Clear() { *this = {}; }

 private:
  Counts Sum() const;

  std::vector<double> last_;
  // Whether each element has changed in a half.  Bytes, which are faster than bits.
  std::vector<uint8_t> first_;
  std::vector<uint8_t> second_;
  int64_t steps_ = 0;
};

}  // namespace smdebug::rules
