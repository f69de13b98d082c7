#include "rules.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "json_writer.h"
#include "progress.h"
#include "rule_list.h"
#include "table.h"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr size_t kWidthInPipes = 80;
constexpr size_t kIndent = 8;     // of what a parameter means
constexpr size_t kMostShown = 5;  // findings of a rule, for people

Style StyleOf(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::kFinding: return Style::kBad;
    case VerdictStatus::kNoIssue: return Style::kGood;
    default: return Style::kWarning;
  }
}

// In words.
std::string StatusText(VerdictStatus status) {
  std::string text = Name(status);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

void NumberOrNull(double number, JsonWriter *json) {
  std::isnan(number) ? json->Null() : json->Number(number);
}

void TextOrNull(const std::string &text, JsonWriter *json) {
  text.empty() ? json->Null() : json->Text(text);
}

std::string ToJson(const Verdict &verdict) {
  JsonWriter json;
  json.BeginObject().Key("rule").Text(verdict.rule).Key("status").Text(Name(verdict.status));
  json.Key("step");
  verdict.step < 0 ? json.Null() : json.Whole(verdict.step);
  json.Key("mode");
  verdict.step < 0 ? json.Null() : json.Text(ModeName(verdict.mode));
  json.Key("mode_step");
  verdict.step < 0 ? json.Null() : json.Whole(verdict.mode_step);
  TextOrNull(verdict.worker, &json.Key("worker"));
  TextOrNull(verdict.tensor, &json.Key("tensor"));
  NumberOrNull(verdict.value, &json.Key("value"));
  NumberOrNull(verdict.limit, &json.Key("limit"));
  TextOrNull(verdict.label, &json.Key("label"));
  return json.Key("message").Text(verdict.message).EndObject().Take();
}

std::string PlaceText(const Verdict &verdict) {
  std::string text = "step " + std::to_string(verdict.step);
  if (verdict.mode == Mode::kGlobal || verdict.mode == Mode::kAny) return text;
  return text + " (" + ModeName(verdict.mode) + " " + std::to_string(verdict.mode_step) + ")";
}

// " = 1e-7 (calibrated: 1e-10)"; "" where there is no default.
std::string DefaultsOf(const RuleInfo::Parameter &parameter) {
  std::string text = parameter.aws.empty() ? "" : " = " + parameter.aws;
  if (parameter.aws == parameter.calibrated) return text;
  return text + " (calibrated: " + (parameter.calibrated.empty() ? "none" : parameter.calibrated) +
         ")";
}

void PrintIndented(const std::string &text, size_t indent, size_t width) {
  for (const std::string &line : Wrap(text, width - indent)) {
    Print(std::string(indent, ' ') + line + "\n");
  }
}

class Rules final : public Command {
 public:
  const char *Name() const override { return "rules"; }
  const char *Summary() const override { return "judges a trial by the built-in rules"; }
  const char *Details() const override {
    return "Without --rule, all that need no parameter. A value of a parameter may hold commas: "
           "what has no '=' "
           "belongs to the value before it. A rule that found no tensor to look at, or not enough "
           "steps, says so; that is no finding.";
  }
  const char *Examples() const override {
    return "smdebug rules run --profile calibrated\n"
           "smdebug rules run --rule VanishingGradient,threshold=1e-6\n"
           "smdebug rules run --rule VanishingGradient --json\n"
           "smdebug rules run --follow\n"
           "smdebug rules --list\n";
  }

  void Declare(Arguments &arguments) override {
    arguments.OptionalPositional("TRIAL", "the folder of a trial, or s3://bucket/prefix", &path_);
    arguments.Texts("-r,--rule", "NAME[,PARAMETER=VALUE...]",
                    "judge by this rule; may be given "
                    "several times",
                    &rules_);
    arguments.Choice("--profile",
                     "what parameters are that are not given: as the training service "
                     "documents them, or as they leave healthy runs alone (aws)",
                     {"aws", "calibrated"}, &profile_);
    arguments.Flag("-f,--follow", "go on until the job ends, and say each finding as it comes",
                   &follows_);
    arguments.Flag("--all", "every finding, not only the first of each rule", &all_);
    arguments.Flag("--list", "the rules there are, and their parameters", &lists_);
    arguments.Flag("--json",
                   "an object a finding, one for each rule without, and one that sums "
                   "up, for programs",
                   &as_json_);
    options_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    if (lists_) return List();
    if (path_.empty()) throw UsageError("TRIAL is required; see smdebug rules --help");
    Panel panel(profile_ == "aws" ? Profile::kAws : Profile::kCalibrated);
    Seat(&panel);
    if (follows_) {
      Follow(&panel);
    } else {
      Judge(&panel);
    }
    return Conclude(panel.Outcomes());
  }

 private:
  // Adds the rules that were named; else all that need nothing said.
  void Seat(Panel *panel) {
    std::vector<RuleRequest> requests;
    for (const std::string &text : rules_) requests.push_back(ParseRule(text));
    for (const UnaskedRule &rule : AddRules(requests, panel)) left_out_.push_back(rule.message);
  }

  void Judge(Panel *panel) {
    const Trial trial = options_.Open(path_);
    const std::vector<int64_t> steps = trial.Steps();
    Progress progress("Judging", steps.size());
    for (const int64_t step : steps) {
      JudgeStep(panel, trial, step);
      progress.Advance();
    }
  }

  void Follow(Panel *panel) {
    const Trial trial = options_.OpenLive(path_);
    trial.SetAutoRefresh(false);
    Progress progress("Waiting for steps; judged", 0);
    int64_t last = -1;
    while (true) {
      trial.Refresh();
      const bool has_ended = trial.HasEnded();
      for (const int64_t step : trial.Steps()) {
        if (step <= last) continue;
        JudgeStep(panel, trial, step);
        last = step;
        progress.Advance();
      }
      FlushOutput();
      if (has_ended) return;
      AwaitNews(trial);
    }
  }

  // One step a call, so that what was found before a failure is said before it.
  void JudgeStep(Panel *panel, const Trial &trial, int64_t step) {
    for (const Verdict &finding : panel->Run(trial, 0, step + 1)) Report(finding);
    ++steps_;
  }

  static void AwaitNews(const Trial &trial) {
    try {
      trial.WaitForStep(trial.LastCompleteStep() + 1, Mode::kGlobal, kBetweenLooks);
    } catch (const Error &error) {
      // Steps that were not saved are passed over, and the end is seen by the caller.
      const smd_code code = error.Code();
      const bool is_expected =
          code == SMD_TIMEOUT || code == SMD_STEP_UNAVAILABLE || code == SMD_NO_MORE_DATA;
      if (!is_expected || error.Detail("cause") || error.Detail("s3_code")) throw;
    }
  }

  void Report(const Verdict &finding) {
    const size_t count = ++findings_[finding.rule];
    if (as_json_) return Print(ToJson(finding) + "\n");
    if (count > kMostShown && !follows_ && !all_) return;
    Print(Styled("finding", Style::kBad) + "  " + Styled(finding.rule, Style::kHeading) + "  " +
          PlaceText(finding) + (finding.worker.empty() ? "" : "  " + Printable(finding.worker)) +
          "  " + Printable(finding.message) + "\n");
  }

  ExitCode Conclude(const std::vector<Verdict> &outcomes) const {
    as_json_ ? ConcludeInJson(outcomes) : ConcludeInText(outcomes);
    return findings_.empty() ? ExitCode::kNoFindings : ExitCode::kFindings;
  }

  void ConcludeInText(const std::vector<Verdict> &outcomes) const {
    size_t hidden = 0;
    for (const auto &[rule, count] : findings_) {
      if (!follows_ && !all_ && count > kMostShown) hidden += count - kMostShown;
    }
    if (hidden > 0) Print("(" + Count(hidden, "further finding") + "; --all shows each)\n");
    if (!findings_.empty()) Print("\n");
    Table table({{"STATUS", Table::Kind::kWord},
                 {"RULE", Table::Kind::kWord},
                 {"FINDINGS", Table::Kind::kNumber},
                 {"FIRST STEP", Table::Kind::kNumber},
                 {"TENSOR OR REASON", Table::Kind::kText}});
    for (const Verdict &outcome : outcomes) {
      const bool is_finding = outcome.status == VerdictStatus::kFinding;
      const auto found = findings_.find(outcome.rule);
      table.Add({StatusText(outcome.status), outcome.rule,
                 is_finding && found != findings_.end() ? std::to_string(found->second) : "-",
                 is_finding ? std::to_string(outcome.step) : "-",
                 is_finding ? outcome.tensor : outcome.message},
                StyleOf(outcome.status));
    }
    table.Print();
    for (const std::string &why : left_out_) Print("not asked: " + Printable(why) + "\n");
    Print("\n" + Count(steps_, "step") + " judged by " + Count(outcomes.size(), "rule") + "\n");
  }

  void ConcludeInJson(const std::vector<Verdict> &outcomes) const {
    std::map<VerdictStatus, int64_t> by_status;
    int64_t findings = 0;
    for (const auto &[rule, count] : findings_) findings += static_cast<int64_t>(count);
    for (const Verdict &outcome : outcomes) {
      ++by_status[outcome.status];
      if (outcome.status != VerdictStatus::kFinding) Print(ToJson(outcome) + "\n");
    }
    JsonWriter json;
    json.BeginObject().Key("summary").BeginObject().Key("trial").Text(path_);
    json.Key("profile").Text(profile_).Key("steps").Whole(static_cast<int64_t>(steps_));
    json.Key("rules").Whole(static_cast<int64_t>(outcomes.size()));
    json.Key("not_asked").Texts(left_out_);
    json.Key("findings").Whole(findings).Key("rules_by_status").BeginObject();
    for (const VerdictStatus status : {VerdictStatus::kFinding, VerdictStatus::kNoIssue,
                                       VerdictStatus::kNoTensor, VerdictStatus::kNotEnoughData}) {
      json.Key(smdebug::Name(status)).Whole(by_status[status]);
    }
    Print(json.EndObject().EndObject().EndObject().Take() + "\n");
  }

  ExitCode List() const {
    const std::vector<RuleInfo> rules = BuiltinRules();
    if (as_json_) {
      Print(Panel::RulesToJson() + "\n");
      return ExitCode::kNoFindings;
    }
    const size_t width =
        Stdout().width == 0 ? kWidthInPipes : std::max(Stdout().width, kIndent * 2);
    for (const RuleInfo &rule : rules) {
      Print(Styled(rule.name, Style::kHeading) + "\n");
      PrintIndented(rule.summary, 2, width);
      for (const auto &parameter : rule.parameters) {
        Print("    " + parameter.name + DefaultsOf(parameter) + "\n");
        PrintIndented(parameter.meaning, kIndent, width);
      }
    }
    return ExitCode::kNoFindings;
  }

  TrialArguments options_;
  std::string path_;
  std::vector<std::string> rules_;
  std::string profile_ = "aws";
  bool follows_ = false;
  bool all_ = false;
  bool lists_ = false;
  bool as_json_ = false;
  std::vector<std::string> left_out_;  // why rules could not be asked
  size_t steps_ = 0;
  std::map<std::string, size_t> findings_;  // by rule
};

}  // namespace

std::unique_ptr<Command> MakeRules() { return std::make_unique<Rules>(); }

}  // namespace smdebug::cli
