#include "smdebug/diagnosis.h"

#include "diagnose/diagnosis.h"
#include "finding_view.h"
#include "guard.h"

using namespace smdebug;
using namespace smdebug::capi;

// `causes` point into `parts`, and those into `items`.
struct smd_diagnosis {
  struct Parts {
    std::vector<smd_finding> firsts;
    std::vector<smd_evidence> evidence;
    std::vector<const char *> missing;
  };

  smd_diagnosis(std::vector<smdebug::diagnose::LikelyCause> list,
                std::vector<smdebug::diagnose::Group> all);

  const std::vector<smdebug::diagnose::LikelyCause> items;
  const std::vector<smdebug::diagnose::Group> groups;
  Parts seen;
  std::vector<Parts> parts;
  std::vector<smd_cause> causes;
};

namespace {

smd_diagnosis::Parts PartsOf(const std::vector<diagnose::Group> &groups) {
  smd_diagnosis::Parts parts;
  parts.firsts.reserve(groups.size());
  for (const diagnose::Group &group : groups) {
    parts.firsts.push_back(ViewOf(group.first));
    parts.evidence.push_back(
        {sizeof(smd_evidence), &parts.firsts.back(), group.count, group.tensors});
  }
  return parts;
}

}  // namespace

smd_diagnosis::smd_diagnosis(std::vector<diagnose::LikelyCause> list,
                             std::vector<diagnose::Group> all)
    : items(std::move(list)), groups(std::move(all)), seen(PartsOf(groups)) {
  parts.reserve(items.size());
  causes.reserve(items.size());
  for (const diagnose::LikelyCause &item : items) {
    const diagnose::CauseText &text = diagnose::TextOf(item.cause);
    Parts &of = parts.emplace_back(PartsOf(item.evidence));
    for (const std::string &rule : item.missing) of.missing.push_back(rule.c_str());
    // The texts are literals, hence NUL-terminated.
    causes.push_back({sizeof(smd_cause), text.id.data(), text.title.data(), item.confidence,
                      text.advice.data(), text.link.data(), of.evidence.size(), of.evidence.data(),
                      of.missing.size(), of.missing.data()});
  }
}

smd_error *smd_rule_set_diagnose(const smd_rule_set *set, smd_diagnosis **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(set, "set"));
    diagnose::Findings findings;
    std::vector<diagnose::LikelyCause> causes;
    if (set->causes != nullptr) {
      findings = diagnose::GroupsOf(set->set->FoldedFindings());
      causes = diagnose::Diagnose(findings, set->set->Results(), *set->causes);
    }
    *out = new smd_diagnosis(std::move(causes), std::move(findings.groups));
    return Status::Ok();
  });
}

size_t smd_diagnosis_count(const smd_diagnosis *diagnosis) noexcept {
  return diagnosis == nullptr ? 0 : diagnosis->causes.size();
}

const smd_cause *smd_diagnosis_get(const smd_diagnosis *diagnosis, size_t index) noexcept {
  return index < smd_diagnosis_count(diagnosis) ? &diagnosis->causes[index] : nullptr;
}

size_t smd_diagnosis_seen_count(const smd_diagnosis *diagnosis) noexcept {
  return diagnosis == nullptr ? 0 : diagnosis->seen.evidence.size();
}

const smd_evidence *smd_diagnosis_seen(const smd_diagnosis *diagnosis, size_t index) noexcept {
  return index < smd_diagnosis_seen_count(diagnosis) ? &diagnosis->seen.evidence[index] : nullptr;
}

void smd_diagnosis_free(smd_diagnosis *diagnosis) noexcept { delete diagnosis; }
