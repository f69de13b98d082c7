#include "rules/support/left_out.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/strings.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"

namespace smdebug::rules {

bool IsLeftOut(const UpdatedWeight &parameter) {
  // A step may be that of another model, whose weights alone are recorded.
  const bool is_seen = parameter.now || (parameter.is_missing_now && parameter.first);
  return is_seen && !parameter.ever_had_gradient && !parameter.is_frozen && !parameter.was_frozen &&
         !parameter.has_changed;
}

namespace {

// A layer whose weight has a gradient is in use: a loss that compares what it returns, or takes its
// derivative, does not depend on its bias.
bool IsBiasOfTrained(std::string_view name,
                     const std::map<std::string, UpdatedWeight> &parameters) {
  constexpr std::string_view kBias = ".bias";
  if (!name.ends_with(kBias)) return false;
  name.remove_suffix(kBias.size());
  const auto weight = parameters.find(std::string(name) + ".weight");
  return weight != parameters.end() && weight->second.ever_had_gradient;
}

}  // namespace

LeftOut FindLeftOut(std::map<std::string, UpdatedWeight> &parameters, int64_t patience) {
  LeftOut found;
  std::set<std::string_view> kinds;  // of weights that had a gradient
  std::set<Fingerprint> trained;     // how weights with a gradient began
  for (auto &[key, parameter] : parameters) {
    if (!parameter.ever_had_gradient) continue;
    ++found.with;
    kinds.insert(KindOfWeight(key));
    if (parameter.first && IsTelling(*parameter.first)) trained.insert(*parameter.first);
  }
  for (auto &[key, parameter] : parameters) {
    if (!IsLeftOut(parameter)) continue;
    // A copy of another weight, or an average that begins as one.
    if (trained.find(*parameter.first) != trained.end()) continue;
    if (IsBiasOfTrained(key, parameters)) continue;
    // Of some kinds, as biases, the job may record no gradients.
    if (!parameter.is_missing && kinds.find(KindOfWeight(key)) == kinds.end()) continue;
    found.has_telling |= parameter.is_missing || IsTelling(*parameter.first);
    ++found.without;
    ++parameter.without_gradient;
    const bool is_due = parameter.without_gradient >= patience;
    // At the first step, no weight has changed yet.
    if (!is_due || parameter.records < 2 || std::exchange(parameter.is_told, true)) continue;
    (parameter.is_unused ? found.unused : found.due).push_back(&parameter);
  }
  for (auto *each : {&found.due, &found.unused}) {
    std::stable_partition(each->begin(), each->end(),
                          [](const UpdatedWeight *weight) { return weight->is_missing; });
  }
  return found;
}

Finding FindingOfLeftOut(const std::string &worker, const std::vector<const UpdatedWeight *> &due,
                         int64_t patience, bool is_to_update) {
  const UpdatedWeight &first = *due[0];
  return FindingOf(
      {worker, first.name}, "no_gradient", static_cast<double>(first.without_gradient),
      static_cast<double>(patience),
      StrCat("'", first.name, "' had no gradient at ", first.without_gradient,
             " steps at which other weights had one",
             is_to_update ? ", though an optimizer is to update it" : "",
             due.size() > 1 ? StrCat("; nor had ", due.size() - 1, " others") : std::string()));
}

Finding LookAtUnused(const std::string &worker, const std::vector<const UpdatedWeight *> &unused,
                     int64_t patience) {
  const UpdatedWeight &first = *unused[0];
  Finding look = FindingOf(
      {worker, first.name}, "not_used", static_cast<double>(first.without_gradient),
      static_cast<double>(patience),
      StrCat("no gradient came to '", first.name, "'",
             unused.size() > 1 ? StrCat(", nor to ", unused.size() - 1, " more") : std::string(),
             ": their layers are not called, or the loss needs nothing that they return; remove "
             "them, or look for detach and argmax"));
  look.level = Level::kWorthALook;
  return look;
}

}  // namespace smdebug::rules
