// Tells whether samples come sorted by their class.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace smdebug::rules {

// Compares the labels of batches, and of each batch and the next, with those of samples in a random
// order, which agree no more than by chance.  Batches of one class each, in a random order, are
// meant.  For one thread.
class LabelOrder {
 public:
  // How likely two labels agree.
  struct Agreement {
    double within;    // a batch
    double next;      // a batch and the next
    double shuffled;  // in a random order

    // Returns how much more labels of a batch agree than by chance, as a part of what is possible.
    double Excess() const { return (within - shuffled) / (1 - shuffled); }
    // Reports whether Excess() is at least this, and that of two batches at least half of it: they
    // agree less than one where a class lasts for few batches.
    bool IsSorted(double least) const;
  };

  // Adds the classes of a batch; negative ones are none.  Batches of fewer than 4 labels say
  // nothing of their order, and are omitted.
  void Add(const std::vector<int64_t> &labels);
  // Returns how labels agreed in the last 32 batches, once after each 32.
  std::optional<Agreement> Take();
  // Returns how they agreed since the start; nothing without two batches.
  std::optional<Agreement> SinceStart() const;

 private:
  using Counts = std::map<int64_t, int64_t>;

  struct Sums {
    double within = 0;
    double next = 0;
    int64_t batches = 0;
  };
  Agreement AgreementOf(const Sums &sums) const;

  Counts all_;
  Counts last_;  // of the last batch
  Sums recent_;  // since Take()
  Sums whole_;
};

}  // namespace smdebug::rules
