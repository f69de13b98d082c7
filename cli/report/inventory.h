// The contents of a trial, as far as a report shows them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "problems.h"
#include "smdebug.hpp"

namespace smdebug::cli::report {

enum class Kind {
  kCurve,  // one number per step: losses, metrics, scalars
  kLayer,  // weights, gradients and activations of the network
  kOther,  // texts, and what a booster records
};

// Returns what a tensor's collections tell of its kind, or nothing.
std::optional<Kind> KindByCollections(const std::vector<std::string> &collections);

struct RecordedTensor {
  std::string name;
  Tensor tensor;
  Kind kind = Kind::kLayer;
  bool has_values = false;               // at its first step; for layers: numeric values
  uint64_t bytes = 0;                    // the size of that value
  std::vector<std::string> collections;  // without "all" and "default"
  std::vector<int64_t> steps;            // global numbers
  std::vector<std::string> workers;      // only the first ones
  std::vector<std::string> saved = {};   // Saved::Kinds() at its first step

  bool IsIn(const std::string &collection) const;
};

struct StepPlace {
  Mode mode;
  int64_t mode_step;
};

struct Inventory {
  std::vector<int64_t> steps;
  std::map<int64_t, StepPlace> places;  // the modes of the steps
  std::map<Mode, size_t> modes;         // the number of steps in each mode
  std::vector<std::string> workers;     // all
  std::vector<RecordedTensor> tensors;  // in natural order

  // Returns TRAIN if it has steps, else the mode with the most steps.
  Mode MainMode() const;
  // Returns NULL if there is no tensor with this name.
  const RecordedTensor *Find(const std::string &name) const;
};

// Reads a value of each of these tensors.  Omits what cannot be read.  Fails as
// smdebug::Trial::Steps().
Inventory TakeInventory(const Trial &trial, const std::vector<std::string> &names,
                        Problems *problems);

}  // namespace smdebug::cli::report
