// What a trial holds, as far as a report shows it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "problems.h"
#include "smdebug.hpp"

namespace smdebug::cli::report {

enum class Kind {
  kCurve,  // a number a step: losses, metrics, scalars
  kLayer,  // of the network: weights, gradients, activations
  kOther,  // what a booster records, texts
};

struct RecordedTensor {
  std::string name;
  Tensor tensor;
  Kind kind = Kind::kLayer;
  bool has_values = false;               // at its first step; of layers: that are numbers
  uint64_t bytes = 0;                    // of that value
  std::vector<std::string> collections;  // but "all" and "default"
  std::vector<int64_t> steps;            // global numbers
  std::vector<std::string> workers;      // the first of them
  std::vector<std::string> saved = {};   // at its first step, as Saved::Kinds() says

  bool IsIn(const std::string &collection) const;
};

struct StepPlace {
  Mode mode;
  int64_t mode_step;
};

struct Inventory {
  std::vector<int64_t> steps;
  std::map<int64_t, StepPlace> places;  // of the steps
  std::map<Mode, size_t> modes;         // the number of their steps
  std::vector<std::string> workers;     // all
  std::vector<RecordedTensor> tensors;  // by name, numbers in names by their values

  // The mode with most steps, TRAIN if there are any of it.
  Mode MainMode() const;
  // NULL if there is none of that name.
  const RecordedTensor *Find(const std::string &name) const;
};

// Reads a value of each tensor.  What cannot be read is left out.  Fails as
// smdebug::Trial::Steps().
Inventory TakeInventory(const Trial &trial, Problems *problems);

// Whether a name comes before another, where "fc2" comes before "fc10".
bool ComesBefore(std::string_view a, std::string_view b);

}  // namespace smdebug::cli::report
