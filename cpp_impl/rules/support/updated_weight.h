// What UpdateNotApplied keeps of each weight.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rules/support/fingerprint.h"
#include "rules/support/gradient_sums.h"
#include "rules/support/lost_updates.h"
#include "rules/support/recorded_sums.h"
#include "rules/support/sum_signs.h"

namespace smdebug::rules {

// Follows the updates of a weight element by element.
struct ElementUpdates {
  LostUpdates lost;
  GradientSums sums;
  SumSigns signs;

  void ClearSums() {
    sums.Clear();
    signs.Clear();
  }
};

// What is kept of a weight once it has a gradient.
struct FollowedGradient {
  std::string name;
  double norm = 0;  // at the previous step
  std::vector<double> elements;
  int64_t growing = 0;      // consecutive steps
  int64_t held = 0;         // updates in a row after which a gradient was kept
  bool is_reached = false;  // the last step with gradients had one of this weight
  RecordedSums recorded;
  std::unique_ptr<ElementUpdates> updates;  // NULL for most: a model may have very many weights

  std::optional<Fingerprint> weight;  // at the previous step
  bool mattered = false;              // at the previous step
  bool may_round = false;             // few elements with few digits
  int64_t unchanged = 0;              // consecutive steps of the weight

  // The fields below describe the current step.
  std::optional<double> norm_now;
  std::vector<double> elements_now;

  ElementUpdates &FollowUpdates() {
    if (updates == nullptr) updates = std::make_unique<ElementUpdates>();
    return *updates;
  }
};

// Small: many jobs record only the weights of a large model.
struct UpdatedWeight {
  std::string name;
  std::unique_ptr<FollowedGradient> gradient;  // NULL: none so far
  int64_t records = 0;
  int64_t without_gradient = 0;  // steps at which other weights had a gradient
  std::optional<Fingerprint> first;
  bool is_frozen = false;
  bool was_frozen = false;  // for a part of the training
  bool is_unused = false;   // its layer is not called, or what it returns is not used
  bool ever_had_gradient = false;
  bool has_changed = false;
  bool is_missing = false;  // an optimizer is to update it, but it has no gradient
  bool is_told = false;

  // The fields below describe the current step.
  bool has_changed_now = false;
  bool is_held_now = false;
  bool is_missing_now = false;
  bool is_updated = false;  // the weight was recorded after the gradient
  std::optional<Fingerprint> now;
  std::vector<double> elements_now;

  bool HasGradientNow() const { return gradient != nullptr && gradient->norm_now; }
};

// Counts the weights whose gradients add up.
struct AddingUp {
  const UpdatedWeight *culprit = nullptr;
  int64_t steps = 0;
  int64_t count = 0;
  int64_t judged = 0;

  void Add(const UpdatedWeight &parameter, int64_t of_parameter, bool is_judged, int64_t limit) {
    if (is_judged) ++judged;
    if (of_parameter < limit || count++ > 0) return;
    culprit = &parameter;
    steps = of_parameter;
  }
  // A script resets all gradients or none: if most weights have none that add up, neither has
  // this one.
  bool AreFound() const { return culprit != nullptr && 2 * count >= judged; }
};

}  // namespace smdebug::rules
