#include "diagnosis_html.h"

#include <algorithm>

#include "diagnosis_text.h"
#include "html.h"
#include "text.h"

namespace smdebug::cli::report {
namespace {

constexpr size_t kMostEvidence = 4;  // of a cause

std::string HeadingOf(const Cause &cause) {
  return Html(cause.title) + " (" + ConfidenceText(cause.confidence) + ")";
}

std::string EvidenceList(const Cause &cause) {
  std::string items;
  for (size_t i = 0; i < std::min(kMostEvidence, cause.evidence.size()); ++i) {
    items += "<li>" + Html(EvidenceText(cause.evidence[i])) + "</li>";
  }
  return "<ul>" + items + "</ul>";
}

std::string Others(const std::vector<Cause> &causes) {
  std::vector<std::string> others;
  for (size_t i = 1; i < causes.size(); ++i) others.push_back(HeadingOf(causes[i]));
  return others.empty() ? "" : "<p>Or: " + Join(others, "; ") + ".</p>";
}

}  // namespace

std::string DiagnosisHtml(const std::vector<Cause> &causes) {
  if (causes.empty()) return "";
  const Cause &first = causes.front();
  std::string missing = Html(Join(first.missing, ", "));
  if (!missing.empty()) missing = " Surer with tensors for " + missing + ".";
  return "<div class=\"headline\"><div><p class=\"culprit\">" + LeadOf(first, true) + ": " +
         HeadingOf(first) + "</p><p>" + Html(first.advice) + "</p>" + EvidenceList(first) +
         Others(causes) + "<p class=\"counts\">See <code>" + Html(first.link) + "</code>." +
         missing + "</p></div></div>\n";
}

}  // namespace smdebug::cli::report
