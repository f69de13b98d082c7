#include "diagnose/traits.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"

namespace smdebug::diagnose {
namespace {

constexpr int64_t kLastEarlyStep = 15;
constexpr int64_t kLastStepBeforeLate = 30;
constexpr int64_t kWideTensors = 4;
constexpr int64_t kLastingFindings = 20;

uint32_t Bit(Trait trait, bool is_set = true) {
  return is_set ? uint32_t{1} << static_cast<uint32_t>(trait) : 0;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns what a tensor is, by the names that PyTorch's and TensorFlow's hooks give.
Trait RoleOf(std::string_view tensor) {
  const std::string lower = ToLower(tensor);
  if (Contains(lower, "gradient")) return Trait::kInGradient;
  const bool is_input =
      Contains(lower, "_input") || lower.starts_with("inputs") || Contains(lower, "/inputs");
  if (Contains(lower, "loss")) {
    if (!is_input) return Trait::kInLoss;
    return lower.ends_with("input_0") ? Trait::kInOutput : Trait::kInLabel;
  }
  if (is_input) {
    const bool is_of_model = (tensor[0] >= 'A' && tensor[0] <= 'Z') || lower.starts_with("inputs");
    return is_of_model ? Trait::kInInput : Trait::kInOutput;
  }
  const bool is_output = Contains(lower, "_output") || Contains(lower, "/outputs");
  return is_output ? Trait::kInOutput : Trait::kInWeight;
}

uint32_t TraitsOf(const Group &group, int64_t first_step) {
  const int64_t step = group.first.place.step;
  return Bit(Trait::kFound) | Bit(RoleOf(group.first.tensor)) |
         Bit(Trait::kFirst, step == first_step && !group.is_clue) |
         Bit(Trait::kEarly, step <= kLastEarlyStep) |
         Bit(Trait::kLate, step > kLastStepBeforeLate) | Bit(Trait::kSingle, group.tensors == 1) |
         Bit(Trait::kWide, group.tensors >= kWideTensors) |
         Bit(Trait::kLasting, group.count >= kLastingFindings);
}

}  // namespace

Findings GroupsOf(const std::vector<rules::Evidence> &evidence) {
  Findings all;
  std::map<std::pair<std::string_view, std::string_view>, size_t> places;
  std::set<std::string_view> rules;
  int64_t first_step = INT64_MAX;
  for (const rules::Evidence &each : evidence) {
    const auto [place, is_new] =
        places.try_emplace({each.first.rule, each.first.check}, all.groups.size());
    if (is_new) all.groups.push_back({each.first, 0, 0, each.is_clue, 0});
    Group &group = all.groups[place->second];
    if (each.first.place.step < group.first.place.step) group.first = each.first;
    group.count += each.count;
    ++group.tensors;
    if (each.is_clue) continue;
    all.has_findings = all.has_findings || each.is_sure;
    rules.insert(each.first.rule);
    first_step = std::min(first_step, each.first.place.step);
  }
  for (Group &group : all.groups) group.traits = TraitsOf(group, first_step);
  if (rules.empty()) return all;
  all.traits = Bit(Trait::kEarly, first_step <= kLastEarlyStep) |
               Bit(Trait::kLate, first_step > kLastStepBeforeLate) |
               Bit(Trait::kAlone, rules.size() == 1);
  return all;
}

}  // namespace smdebug::diagnose
