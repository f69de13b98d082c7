// Tells gradients that are zero because nothing needs them from those of dead units.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace smdebug::rules {

// Some frameworks compute zeros for a weight that the loss does not depend on.  Then all gradients
// of its layer are zero, and other layers have theirs.  Dead units leave traces elsewhere: the
// layer after them gets zeros, so that its weight has no gradient, but its bias has; and most
// layers before them have none.
//
// For the gradients of one worker, and for one thread.
class UnusedGradients {
 public:
  // Notes a gradient when it is seen first, and when it is not zero for the first time.
  // `is_weight`: it has more than one axis.
  void Note(std::string_view gradient, bool is_weight, bool is_zero);
  // Reports whether all gradients of the layer of this one were zero so far, because nothing needs
  // them.
  bool IsOneOf(std::string_view gradient) const;
  // Reports whether all gradients of the layer of this one were zero so far, because its units, or
  // those of a layer after it, are dead.
  bool IsDead(std::string_view gradient) const;
  // Reports the same as IsOneOf(), but of at least half of the layers and not of all: they were cut
  // off from the loss.
  bool IsCutOff(std::string_view gradient) const;

 private:
  static constexpr size_t kMostGradients = 100'000;

  struct Gradient {
    bool is_weight;
    bool is_zero;
  };
  struct Layer {
    int64_t zero_weights = 0;
    int64_t zero = 0;
    int64_t others = 0;

    bool IsZero() const { return zero > 0 && others == 0; }
    bool IsAfterDeadUnits() const { return zero_weights > 0 && others > 0; }
  };

  void Count(const Layer &layer, int64_t sign);
  // Returns the layer of a gradient, if all of its gradients were zero so far; else NULL.
  const Layer *LayerWithout(std::string_view gradient) const;
  int64_t CountLayers() const { return static_cast<int64_t>(layers_.size()); }

  std::map<std::string, Gradient, std::less<>> gradients_;
  std::map<std::string, Layer, std::less<>> layers_;
  int64_t zero_layers_ = 0;
  int64_t layers_after_dead_units_ = 0;
};

}  // namespace smdebug::rules
