// Diagnoses: the likely causes of what a rule set has found.
#ifndef SMDEBUG_CPP_DIAGNOSIS_HPP
#define SMDEBUG_CPP_DIAGNOSIS_HPP

#include <string>
#include <vector>

#include "smdebug/cpp/finding.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/diagnosis.h"

namespace smdebug {

// The findings of one check of a rule, which speak for a cause.
struct Evidence {
  Finding first;  // the one with the lowest step
  int64_t finding_count = 0;
  int64_t tensor_count = 0;
};

// A likely cause.  smd_cause.
struct Cause {
  std::string id;                    // such as "rate_too_high"
  std::string title;                 // a few words
  double confidence = 0;             // the chance that this is the cause, from 0 to 1
  std::string advice;                // what to do, in two sentences
  std::string link;                  // the section of the documentation that says more
  std::vector<Evidence> evidence;    // the strongest first
  std::vector<std::string> missing;  // rules without tensors or data, which would make it surer
};

namespace detail {

using DiagnosisList = Handle<smd_diagnosis, smd_diagnosis_free>;

inline Cause ToCause(const smd_cause &from) {
  Cause cause;
  cause.id = from.id;
  cause.title = from.title;
  cause.confidence = from.confidence;
  cause.advice = from.advice;
  cause.link = from.link;
  for (size_t i = 0; i < from.evidence_count; ++i) {
    const smd_evidence &each = from.evidence[i];
    cause.evidence.push_back({ToFinding(*each.first), each.finding_count, each.tensor_count});
  }
  cause.missing.assign(from.missing, from.missing + from.missing_count);
  return cause;
}

inline std::vector<Cause> ToVector(const DiagnosisList &list) {
  std::vector<Cause> causes;
  for (size_t i = 0; i < smd_diagnosis_count(list.get()); ++i) {
    causes.push_back(ToCause(*smd_diagnosis_get(list.get(), i)));
  }
  return causes;
}

}  // namespace detail
}  // namespace smdebug

#endif  // SMDEBUG_CPP_DIAGNOSIS_HPP
