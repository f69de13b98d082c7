#include "finding_view.h"
#include "guard.h"
#include "smdebug/rule_set.h"

using namespace smdebug;
using namespace smdebug::capi;

smd_finding capi::ViewOf(const rules::Finding &finding) {
  smd_finding view = SMD_FINDING_INIT;
  view.rule = finding.rule.c_str();
  view.check = finding.check.c_str();
  view.tensor = finding.tensor.c_str();
  view.worker = finding.worker.c_str();
  view.message = finding.message.c_str();
  view.step = finding.place.step;
  view.mode_step = finding.place.mode_step;
  view.mode = static_cast<smd_mode>(finding.place.mode);
  view.action = static_cast<smd_action>(finding.action);
  view.value = finding.value;
  view.limit = finding.limit;
  view.level = static_cast<smd_level>(finding.level);
  return view;
}

namespace {

constexpr StructKind kFindingKind{"finding", "SMD_FINDING_INIT", offsetof(smd_finding, level),
                                  sizeof(smd_finding)};

Result<rules::Level> LevelFromC(smd_level level) {
  if (level == SMD_LEVEL_FINDING) return rules::Level::kFinding;
  if (level == SMD_LEVEL_WORTH_A_LOOK) return rules::Level::kWorthALook;
  return InvalidArgument(StrCat("unknown level ", level, " of a finding"));
}

Result<rules::Finding> FindingFromC(const smd_finding &finding) {
  rules::Finding copy;
  if (finding.struct_size >= sizeof(smd_finding)) {
    SMD_ASSIGN_OR_RETURN(copy.level, LevelFromC(finding.level));
  }
  SMD_ASSIGN_OR_RETURN(copy.action, ActionFromC(finding.action));
  copy.check = OptionalText(finding.check);
  copy.tensor = OptionalText(finding.tensor);
  copy.worker = OptionalText(finding.worker);
  copy.message = OptionalText(finding.message);
  copy.value = finding.value;
  copy.limit = finding.limit;
  return copy;
}

}  // namespace

smd_findings::smd_findings(std::vector<rules::Finding> list) : items(std::move(list)) {
  views.reserve(items.size());
  for (const rules::Finding &finding : items) views.push_back(ViewOf(finding));
}

smd_rule_results::smd_rule_results(std::vector<rules::RuleResult> list) : items(std::move(list)) {
  firsts.reserve(items.size());
  views.reserve(items.size());
  for (const rules::RuleResult &result : items) {
    const bool has_first = result.finding_count > 0 || result.look_count > 0;
    firsts.push_back(ViewOf(result.first));
    views.push_back({sizeof(smd_rule_result), result.rule.c_str(),
                     static_cast<smd_rule_status>(result.status), result.finding_count,
                     result.message.c_str(), has_first ? &firsts.back() : nullptr,
                     result.look_count});
  }
}

const char *smd_action_name(smd_action action) noexcept {
  return rules::ActionName(static_cast<rules::Action>(action));
}

const char *smd_level_name(smd_level level) noexcept {
  return rules::LevelName(static_cast<rules::Level>(level));
}

const char *smd_rule_status_name(smd_rule_status status) noexcept {
  return rules::RuleStatusName(static_cast<rules::RuleStatus>(status));
}

size_t smd_findings_count(const smd_findings *findings) noexcept {
  return findings == nullptr ? 0 : findings->views.size();
}

const smd_finding *smd_findings_get(const smd_findings *findings, size_t index) noexcept {
  return index < smd_findings_count(findings) ? &findings->views[index] : nullptr;
}

smd_error *smd_findings_add(smd_findings *findings, const smd_finding *finding) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(findings, "findings"));
    SMD_RETURN_IF_ERROR(CheckStruct(finding, kFindingKind));
    if (findings->open == nullptr) {
      return WrongState("findings are added only to the list that a rule's function was passed");
    }
    SMD_ASSIGN_OR_RETURN(rules::Finding copy, FindingFromC(*finding));
    findings->open->Add(std::move(copy));
    return Status::Ok();
  });
}

void smd_findings_free(smd_findings *findings) noexcept { delete findings; }

size_t smd_rule_results_count(const smd_rule_results *results) noexcept {
  return results == nullptr ? 0 : results->views.size();
}

const smd_rule_result *smd_rule_results_get(const smd_rule_results *results,
                                            size_t index) noexcept {
  return index < smd_rule_results_count(results) ? &results->views[index] : nullptr;
}

void smd_rule_results_free(smd_rule_results *results) noexcept { delete results; }
