#include "diagnosis_text.h"

#include <algorithm>
#include <cmath>

#include "check_words.h"
#include "output.h"
#include "text.h"

namespace smdebug::cli {
namespace {

constexpr size_t kWidthInPipes = 80;
constexpr size_t kIndent = 2;
constexpr size_t kMostEvidence = 3;  // of a cause, in the text
constexpr double kLikely = 0.5;

void PrintWrapped(const std::string &text) {
  const size_t width = std::max(Stdout().width == 0 ? kWidthInPipes : Stdout().width, kIndent * 4);
  bool is_first = true;
  const LongWords long_words = Stdout().width == 0 ? LongWords::kKeep : LongWords::kSplit;
  for (const std::string &line : Wrap(text, width - 2 * kIndent, long_words)) {
    Print(std::string(is_first ? kIndent : 2 * kIndent, ' ') + line + "\n");
    is_first = false;
  }
}

// Prints what speaks for a cause: findings, unless they were printed before, and clues.
void PrintEvidence(const Cause &cause, bool is_first, FindingPrinter *folded) {
  const std::vector<Evidence> evidence =
      folded != nullptr ? folded->PrintOfCause(cause) : cause.evidence;
  const size_t shown = is_first ? kMostEvidence : 1;
  for (size_t i = 0; i < std::min(shown, evidence.size()); ++i) {
    PrintWrapped("because: " + Printable(EvidenceText(evidence[i])));
  }
}

void PrintCause(const Cause &cause, bool is_first, FindingPrinter *folded) {
  Print((is_first ? LeadOf(cause, false) : "or") + " (" + ConfidenceText(cause.confidence) +
        "): " + Styled(cause.title, Style::kHeading) + "\n");
  PrintEvidence(cause, is_first, folded);
  // The first cause comes with what to do; the others have it behind the link.
  if (is_first) PrintWrapped("to do: " + cause.advice);
  PrintWrapped("see " + cause.link);
  if (is_first && !cause.missing.empty()) {
    PrintWrapped("surer with tensors for " + Join(cause.missing, ", "));
  }
}

}  // namespace

std::string LeadOf(const Cause &cause, bool begins_sentence) {
  const bool is_likely = cause.confidence >= kLikely;
  if (begins_sentence) return is_likely ? "Likely cause" : "Possible cause";
  return is_likely ? "likely cause" : "possible cause";
}

std::string EvidenceText(const Evidence &evidence) {
  const Finding &first = evidence.first;
  std::string text = first.rule + (first.check.empty() ? "" : " (" + CheckWords(first.check) + ")");
  text += evidence.finding_count == 1 ? " at step " : " from step ";
  text += std::to_string(first.step);
  if (!first.tensor.empty()) text += ", " + first.tensor;
  if (evidence.tensor_count > 1) {
    text += " and " + Count(static_cast<size_t>(evidence.tensor_count - 1), "tensor") + " more";
  }
  return text;
}

std::string ConfidenceText(double confidence) {
  // No cause is certain.
  const auto percent = std::clamp(static_cast<int>(std::lround(100 * confidence)), 1, 99);
  return std::to_string(percent) + " %";
}

void PrintDiagnosis(const std::vector<Cause> &causes, FindingPrinter *folded) {
  if (!causes.empty()) Print("\n");
  for (const Cause &cause : causes) PrintCause(cause, &cause == &causes.front(), folded);
}

void ToJson(const std::vector<Cause> &causes, JsonWriter *json) {
  json->BeginArray();
  for (const Cause &cause : causes) {
    json->BeginObject().Key("cause").Text(cause.id).Key("title").Text(cause.title);
    json->Key("confidence").Number(cause.confidence).Key("evidence").BeginArray();
    for (const Evidence &each : cause.evidence) {
      json->BeginObject().Key("rule").Text(each.first.rule).Key("check").Text(each.first.check);
      json->Key("tensor").Text(each.first.tensor).Key("step").Whole(each.first.step);
      json->Key("findings").Whole(each.finding_count).Key("tensors").Whole(each.tensor_count);
      json->Key("message").Text(each.first.message).EndObject();
    }
    json->EndArray().Key("advice").Text(cause.advice).Key("link").Text(cause.link);
    json->Key("missing").Texts(cause.missing).EndObject();
  }
  json->EndArray();
}

}  // namespace smdebug::cli
