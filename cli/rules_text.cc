#include "rules_text.h"

#include <algorithm>
#include <utility>

#include "output.h"
#include "saved.h"
#include "table.h"
#include "text.h"

namespace smdebug::cli {
namespace {

constexpr size_t kMostShown = 5;      // tensors of a rule, unless all are requested
constexpr size_t kMostKeys = 10'000;  // limits the memory of a job that invents names
constexpr size_t kIndent = 2;

// Prints the text, in lines that fit the terminal; the second and further ones are indented.
void PrintWrapped(const std::string &text, size_t indent = kIndent) {
  const size_t width = Stdout().width;
  if (width <= indent + 1 || WidthOf(text) <= width) return Print(text + "\n");
  bool is_first = true;
  for (const std::string &line : Wrap(text, width - indent, LongWords::kSplit)) {
    Print((is_first ? "" : std::string(indent, ' ')) + line + "\n");
    is_first = false;
  }
}

Style StyleOf(Level level) { return level == Level::kFinding ? Style::kBad : Style::kWarning; }

std::string WordOf(Level level) { return level == Level::kFinding ? "finding" : "worth a look"; }

// Prints a finding in one line, or if the terminal is too narrow, with the sentence below.
void PrintFinding(const Finding &finding, const std::string &sentence, size_t indent = 0) {
  const std::string word = WordOf(finding.level);
  const std::string step = "step " + StepText(finding.step, finding.mode, finding.mode_step);
  const std::string worker = Printable(finding.worker);
  std::string message = Printable(sentence);
  const size_t width = Stdout().width;
  size_t head = indent + WidthOf(word) + 2 + WidthOf(finding.rule) + 2 + WidthOf(step);
  Print(std::string(indent, ' ') + Styled(word, StyleOf(finding.level)) + "  " +
        Styled(Printable(finding.rule), Style::kHeading) + "  " + step);
  const size_t of_worker = worker.empty() ? 0 : 2 + WidthOf(worker);
  if (of_worker > 0 && (width == 0 || head + of_worker <= width)) {
    Print("  " + worker);
    head += of_worker;
  } else if (of_worker > 0) {
    message.insert(0, worker + ": ");
  }
  if (width == 0 || head + 2 + WidthOf(message) <= width) return Print("  " + message + "\n");
  Print("\n");
  indent += kIndent;
  const size_t wide = std::max(width, indent + 1) - indent;
  for (const std::string &line : Wrap(message, wide, LongWords::kSplit)) {
    Print(std::string(indent, ' ') + line + "\n");
  }
}

// Returns true for 10, 100, 1000 and so on.
bool IsPowerOfTen(size_t count) {
  while (count >= 10 && count % 10 == 0) count /= 10;
  return count == 1;
}

const char *WordsOf(RuleStatus status) {
  switch (status) {
    case RuleStatus::kPassed: return "passed";
    case RuleStatus::kNoTensors: return "no matching tensors";
    case RuleStatus::kNotEnoughData: return "not enough data";
    default: return "";
  }
}

Style StyleOf(RuleStatus status) {
  return status == RuleStatus::kPassed ? Style::kGood : Style::kFaint;
}

void PrintRulesWith(RuleStatus status, const std::vector<RuleResult> &results) {
  std::vector<std::string> names;
  for (const RuleResult &result : results) {
    if (result.status == status) names.push_back(Printable(result.rule));
  }
  if (names.empty()) return;
  // The style is that of the first word, which no line break separates.
  const std::string word = WordsOf(status);
  const std::string text = word + ": " + Join(names, ", ");
  const size_t width = Stdout().width;
  const auto lines = width <= kIndent + 1 || WidthOf(text) <= width ? std::vector<std::string>{text}
                                                                    : Wrap(text, width - kIndent);
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool has_word = i == 0 && lines[i].starts_with(word);
    Print(has_word ? Styled(word, StyleOf(status)) + lines[i].substr(word.size())
                   : std::string(i == 0 ? 0 : kIndent, ' ') + lines[i]);
    Print("\n");
  }
}

void PrintReasons(const std::vector<RuleResult> &results) {
  for (const RuleResult &result : results) {
    if (result.first) continue;
    PrintWrapped(Printable(result.rule) + ": " +
                 (result.status == RuleStatus::kPassed ? WordsOf(result.status)
                                                       : Printable(result.message)));
  }
}

// Prints a row for each rule whose first finding has that level, after an empty line if there is
// something `above`.  Returns false if there is none.
bool PrintTable(Level level, const std::vector<RuleResult> &results, bool above) {
  const bool is_finding = level == Level::kFinding;
  Table table({{is_finding ? "FINDINGS OF" : "WORTH A LOOK", Table::Kind::kWord},
               {"STEP", Table::Kind::kNumber},
               {"COUNT", Table::Kind::kNumber},
               {"TENSOR", Table::Kind::kText}});
  for (const RuleResult &result : results) {
    if (!result.first || result.first->level != level) continue;
    table.Add({result.rule, std::to_string(result.first->step),
               std::to_string(is_finding ? result.finding_count : result.look_count),
               result.first->tensor.empty() ? "-" : result.first->tensor},
              StyleOf(level));
  }
  if (table.IsEmpty()) return false;
  if (above) Print("\n");
  table.Print();
  return true;
}

}  // namespace

void FindingPrinter::Print(const Finding &finding) {
  has_findings_ = true;
  if (amount_ == Amount::kAll) return PrintFinding(finding, finding.message);
  const Key key(finding.level, finding.rule, finding.check, finding.tensor, finding.worker);
  const auto known = counts_.find(key);
  const bool repeats = known != counts_.end();
  if (!repeats && counts_.size() < kMostKeys) counts_.emplace(key, 1);
  if (repeats && amount_ == Amount::kFollow) return PrintRepeat(finding, ++known->second);
  std::string sentence;
  if (!repeats) {
    const bool is_first = checks_.emplace(finding.level, finding.rule, finding.check).second;
    const bool has_sentence = is_first || finding.tensor.empty();
    sentence = has_sentence ? finding.message : "also in '" + finding.tensor + "'";
    if (amount_ == Amount::kFollow) return PrintFinding(finding, sentence);
  }
  Hold(finding, sentence);
}

void FindingPrinter::Hold(const Finding &finding, std::string sentence) {
  auto of_rule = std::find_if(of_rules_.begin(), of_rules_.end(), [&](const OfRule &each) {
    return each.first.rule == finding.rule && each.first.level == finding.level;
  });
  if (of_rule == of_rules_.end()) of_rule = of_rules_.insert(of_rule, {finding, 0, {}, false});
  ++of_rule->count;
  of_rule->last = StepText(finding.step, finding.mode, finding.mode_step);
  if (sentence.empty() || ++shown_[finding.rule] > kMostShown) {
    ++hidden_;
  } else {
    held_.emplace_back(finding, std::move(sentence));
  }
}

void FindingPrinter::PrintFirst(OfRule *of_rule, size_t indent) const {
  if (std::exchange(of_rule->is_printed, true)) return;
  const size_t others = of_rule->count - 1;
  const std::string more =
      others == 0 ? ""
                  : " (and " + std::to_string(others) + " more, to step " + of_rule->last + ")";
  PrintFinding(of_rule->first, of_rule->first.message + more, indent);
}

void FindingPrinter::PrintHeld(const std::vector<Cause> &causes) {
  if (causes.empty()) {
    for (const auto &[finding, sentence] : held_) PrintFinding(finding, sentence);
    if (hidden_ > 0) {
      PrintWrapped("(" + Count(hidden_, "further finding") + "; --all prints each)");
    }
    if (has_findings_) cli::Print("\n");
    return;
  }
  std::set<std::string> explained;
  for (const Cause &cause : causes) {
    for (const Evidence &each : cause.evidence) explained.insert(each.first.rule);
  }
  bool has_others = false;
  for (OfRule &each : of_rules_) {
    if (explained.contains(each.first.rule)) continue;
    PrintFirst(&each, 0);
    has_others = true;
  }
  if (has_others) cli::Print("\n");
}

std::vector<Evidence> FindingPrinter::PrintOfCause(const Cause &cause) {
  std::vector<Evidence> others;
  for (const Evidence &evidence : cause.evidence) {
    bool is_finding = false;
    for (OfRule &each : of_rules_) {
      if (each.first.rule != evidence.first.rule) continue;
      is_finding = true;
      PrintFirst(&each, kIndent);
    }
    if (!is_finding) others.push_back(evidence);
  }
  return others;
}

void FindingPrinter::PrintRepeat(const Finding &finding, size_t count) {
  if (!IsPowerOfTen(count)) return;
  const std::string tensor = finding.tensor.empty() ? "" : "  " + Printable(finding.tensor);
  cli::Print(Styled(WordOf(finding.level), StyleOf(finding.level)) + "  " +
             Styled(Printable(finding.rule), Style::kHeading) + "  " + Count(count, "time") +
             " up to step " + StepText(finding.step, finding.mode, finding.mode_step) + tensor +
             "\n");
}

void PrintFound(const std::vector<RuleResult> &results) {
  const bool has_findings = PrintTable(Level::kFinding, results, false);
  const bool has_looks = PrintTable(Level::kWorthALook, results, has_findings);
  const bool has_others = std::any_of(results.begin(), results.end(),
                                      [](const RuleResult &each) { return !each.first; });
  if ((has_findings || has_looks) && has_others) Print("\n");
}

void PrintResults(const std::vector<RuleResult> &results, bool reasons) {
  if (reasons) return PrintReasons(results);
  for (const RuleStatus status :
       {RuleStatus::kPassed, RuleStatus::kNotEnoughData, RuleStatus::kNoTensors}) {
    PrintRulesWith(status, results);
  }
}

void PrintSkipped(const std::vector<std::string> &skipped) {
  if (skipped.empty()) return;
  std::vector<std::string> names;
  names.reserve(skipped.size());
  for (const std::string &why : skipped) names.push_back(Printable(why.substr(0, why.find(':'))));
  PrintWrapped("without their parameters: " + Join(names, ", "));
}

void PrintVerdict(const std::vector<RuleResult> &results, size_t steps) {
  int64_t findings = 0;
  int64_t looks = 0;
  bool was_evaluated = false;
  for (const RuleResult &result : results) {
    findings += result.finding_count;
    if (result.status == RuleStatus::kWorthALook) looks += 1;
    was_evaluated = was_evaluated || result.first || result.status == RuleStatus::kPassed;
  }
  if (!was_evaluated) {
    const char *why = steps == 0 ? "the trial has no steps" : "no rule has the data that it needs";
    return Print("\n" + Styled("nothing was checked", Style::kWarning) + ": " + why + "\n");
  }
  const std::string words = findings > 0 ? Count(static_cast<size_t>(findings), "finding")
                            : looks > 0  ? "no findings, but worth a look"
                                         : "no findings";
  const Style style = findings > 0 ? Style::kBad : looks > 0 ? Style::kWarning : Style::kGood;
  Print("\n" + Styled(words, style) + ": " + Count(results.size(), "rule") + " evaluated over " +
        Count(steps, "step") + "\n");
}

}  // namespace smdebug::cli
