#include "rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>

#include "diagnosis_text.h"
#include "finding_json.h"
#include "json_writer.h"
#include "output.h"
#include "progress.h"
#include "rule_advice.h"
#include "rule_list.h"
#include "rules_text.h"
#include "saved.h"
#include "suggestions.h"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenPolls{500};
constexpr size_t kWidthInPipes = 80;
constexpr size_t kIndent = 8;  // for the description of a parameter

std::string JsonOf(const Finding &finding) {
  JsonWriter json;
  ToJson(finding, &json);
  return json.Take();
}

// Returns the JSON of a rule without findings, which has the same fields.
std::string JsonOf(const RuleResult &result) {
  JsonWriter json;
  json.BeginObject().Key("rule").Text(result.rule).Key("status").Text(Name(result.status));
  for (const char *field :
       {"step", "mode", "mode_step", "worker", "tensor", "value", "limit", "check", "action"}) {
    json.Key(field).Null();
  }
  return json.Key("message").Text(result.message).EndObject().Take();
}

std::string JsonOf(const std::vector<RuleInfo> &rules) {
  JsonWriter json;
  json.BeginArray();
  for (const RuleInfo &rule : rules) {
    json.BeginObject().Key("name").Text(rule.name).Key("summary").Text(rule.summary);
    json.Key("advice").Text(std::string(AdviceFor(rule.name))).Key("set").Text(rule.set);
    json.Key("parameters").BeginArray();
    for (const RuleParameter &parameter : rule.parameters) {
      json.BeginObject().Key("name").Text(parameter.name).Key("aws").Text(parameter.aws);
      json.Key("calibrated").Text(parameter.calibrated);
      json.Key("meaning").Text(parameter.meaning).EndObject();
    }
    json.EndArray().EndObject();
  }
  return json.EndArray().Take();
}

// Returns, for example, " = 1e-10 (aws: 1e-7)", or "" if there is no default.
std::string DefaultsOf(const RuleParameter &parameter) {
  std::string text = parameter.calibrated.empty() ? "" : " = " + parameter.calibrated;
  if (parameter.aws == parameter.calibrated) return text;
  return text + " (aws: " + (parameter.aws.empty() ? "none" : parameter.aws) + ")";
}

void PrintIndented(const std::string &text, size_t indent, size_t width) {
  for (const std::string &line : Wrap(text, width - indent)) {
    Print(std::string(indent, ' ') + line + "\n");
  }
}

class Rules final : public Command {
 public:
  const char *Name() const override { return "rules"; }
  const char *Summary() const override { return "check a trial with the built-in rules"; }
  const char *Details() const override {
    return "Without --rule, evaluates all rules that need no parameter. A parameter's value may "
           "contain commas: text after a comma without '=' belongs to the value before it. A rule "
           "without matching tensors or enough steps reports that; it is not a finding. What is "
           "worth a look is printed, and does not change the exit code. Steps that cannot be read "
           "are skipped and listed.";
  }
  const char *Examples() const override {
    return "smdebug rules run\n"
           "smdebug rules run --rule VanishingGradient,threshold=1e-6\n"
           "smdebug rules run --rule VanishingGradient --json\n"
           "smdebug rules run --follow\n"
           "smdebug rules --list\n";
  }

  void Declare(Arguments &arguments) override {
    arguments.OptionalPositional("TRIAL", "the folder of a trial, or s3://bucket/prefix", &path_);
    arguments.Texts("-r,--rule", "NAME[,PARAMETER=VALUE...]",
                    "evaluate this rule; may be given several times", &rules_);
    arguments.Choice(
        "--profile",
        "select the defaults of parameters: calibrated ones, which rarely report anything on a "
        "healthy run, or those that the training service documents; llm evaluates the rules for "
        "large trainings (default: calibrated)",
        {"calibrated", "aws", "llm"}, &profile_);
    arguments.Flag(
        "-f,--follow",
        "continue until the job ends; print each finding as it comes, and then its count",
        &follows_);
    arguments.Flag(
        "--all",
        "print every finding, also those that repeat, not only the first five of each rule", &all_);
    arguments.Flag(
        "--list",
        "list the rules, what to do about their findings, and their parameters; with --rule only "
        "these",
        &lists_);
    arguments.Flag(
        "--json",
        "print one object per line, for programs: each finding, each rule without findings, "
        "and a summary",
        &as_json_);
    options_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    if (lists_) return List();
    if (path_.empty()) throw UsageError("TRIAL is required; see smdebug rules --help");
    RuleSet set = RequestedRules();
    try {
      follows_ ? Follow(&set) : Evaluate(&set);
    } catch (...) {
      // What was found before a failure.
      if (!as_json_) Printer().PrintHeld({});
      throw;
    }
    std::vector<Cause> causes;
    // Causes are those of all rules together.
    if (rules_.empty()) causes = set.Diagnose();
    return options_.Conclude(Conclude(set.Results(), causes));
  }

 private:
  RuleSet RequestedRules() {
    std::vector<RuleRequest> requests;
    for (const std::string &text : rules_) requests.push_back(ParseRule(text));
    std::vector<SkippedRule> skipped;
    RuleSet set = MakeRuleSet(profile_, requests, &skipped);
    for (const SkippedRule &rule : skipped) skipped_.push_back(rule.message);
    return set;
  }

  void Evaluate(RuleSet *set) {
    const Trial trial = options_.Open(path_);
    const std::vector<int64_t> steps = trial.Steps();
    Progress progress("Evaluating", steps.size());
    for (const int64_t step : steps) {
      EvaluateStep(set, trial, step);
      progress.Advance();
    }
  }

  void Follow(RuleSet *set) {
    const Trial trial = options_.OpenLive(path_);
    trial.SetAutoRefresh(false);
    Progress progress("Waiting for steps; evaluated", 0);
    int64_t last = -1;
    while (true) {
      options_.Refresh(trial);
      const bool has_ended = trial.HasEnded();
      for (const int64_t step : trial.Steps()) {
        if (step <= last) continue;
        EvaluateStep(set, trial, step);
        last = step;
        progress.Advance();
      }
      if (has_ended && last >= 0) EvaluateTo(set, trial, last);  // rules hear of the end
      FlushOutput();
      if (has_ended) return;
      AwaitNews(trial);
    }
  }

  // Evaluates one step per call, so that a finding is printed before a failure, and a damaged step
  // is skipped.
  void EvaluateStep(RuleSet *set, const Trial &trial, int64_t step) {
    ++steps_;
    EvaluateTo(set, trial, step);
  }

  void EvaluateTo(RuleSet *set, const Trial &trial, int64_t step) {
    options_.Try(trial, [&] {
      for (const Finding &finding : set->Evaluate(trial, 0, EndAfter(step))) Report(finding);
    });
  }

  void AwaitNews(const Trial &trial) const {
    try {
      const int64_t next = EndAfter(trial.LastCompleteStep());
      if (next < 0) return std::this_thread::sleep_for(kBetweenPolls);
      trial.WaitForStep(next, Mode::kGlobal, kBetweenPolls);
    } catch (const Error &error) {
      // The trial has logged it.
      if (Damage::Is(error)) return options_.TheDamage().Note(trial.Path(), error.what(), true);
      // Steps that were not saved are skipped, and the caller detects the end.
      const smd_code code = error.Code();
      const bool is_expected =
          code == SMD_TIMEOUT || code == SMD_STEP_UNAVAILABLE || code == SMD_NO_MORE_DATA;
      if (!is_expected || error.Detail("cause") || error.Detail("s3_code")) throw;
    }
  }

  void Report(const Finding &finding) {
    ++(finding.level == Level::kFinding ? findings_ : looks_);
    if (as_json_) return Print(JsonOf(finding) + "\n");
    Printer().Print(finding);
  }

  FindingPrinter &Printer() {
    using Amount = FindingPrinter::Amount;
    if (!printer_)
      printer_.emplace(all_ ? Amount::kAll : follows_ ? Amount::kFollow : Amount::kSome);
    return *printer_;
  }

  ExitCode Conclude(const std::vector<RuleResult> &results, const std::vector<Cause> &causes) {
    if (as_json_) {
      ConcludeInJson(results, causes);
    } else {
      ConcludeInText(results, causes);
    }
    return findings_ == 0 ? ExitCode::kNoFindings : ExitCode::kFindings;
  }

  void ConcludeInText(const std::vector<RuleResult> &results, const std::vector<Cause> &causes) {
    const bool folds = !causes.empty() && !all_ && !follows_;
    Printer().PrintHeld(folds ? causes : std::vector<Cause>());
    if (!folds) PrintFound(results);
    PrintResults(results, !rules_.empty());
    PrintSkipped(skipped_);
    PrintVerdict(results, steps_);
    if (profile_ == "aws") Print(std::string(kAboutAws) + "\n");
    PrintDiagnosis(causes, folds ? &Printer() : nullptr);
  }

  void ConcludeInJson(const std::vector<RuleResult> &results,
                      const std::vector<Cause> &causes) const {
    std::map<RuleStatus, int64_t> by_status;
    for (const RuleResult &result : results) {
      ++by_status[result.status];
      if (!result.first) Print(JsonOf(result) + "\n");
    }
    JsonWriter json;
    json.BeginObject().Key("summary").BeginObject().Key("trial").Text(path_);
    json.Key("profile").Text(profile_).Key("steps").Whole(static_cast<int64_t>(steps_));
    json.Key("rules").Whole(static_cast<int64_t>(results.size()));
    json.Key("skipped").Texts(skipped_).Key("not_read").Texts(options_.TheDamage().Sentences());
    json.Key("findings").Whole(findings_).Key("worth_a_look").Whole(looks_);
    json.Key("rules_by_status").BeginObject();
    for (const RuleStatus status :
         {RuleStatus::kHasFindings, RuleStatus::kWorthALook, RuleStatus::kPassed,
          RuleStatus::kNoTensors, RuleStatus::kNotEnoughData}) {
      json.Key(smdebug::Name(status)).Whole(by_status[status]);
    }
    ToJson(causes, &json.EndObject().Key("diagnosis"));
    Print(json.EndObject().EndObject().Take() + "\n");
  }

  // Returns the rules of --rule, or all.
  std::vector<RuleInfo> ListedRules() const {
    std::vector<RuleInfo> rules = BuiltinRules();
    if (rules_.empty()) return rules;
    std::vector<RuleInfo> listed;
    for (const std::string &text : rules_) {
      const std::string name = ParseRule(text).name;
      const auto found = std::find_if(rules.begin(), rules.end(),
                                      [&](const RuleInfo &rule) { return rule.name == name; });
      if (found == rules.end()) {
        std::vector<std::string> names;
        names.reserve(rules.size());
        for (const RuleInfo &rule : rules) names.push_back(rule.name);
        throw UsageError("there is no built-in rule '" + Printable(Shortened(name, 40)) + "'" +
                         DidYouMean(name, names));
      }
      listed.push_back(*found);
    }
    return listed;
  }

  ExitCode List() const {
    const std::vector<RuleInfo> rules = ListedRules();
    if (as_json_) {
      Print(JsonOf(rules) + "\n");
      return ExitCode::kNoFindings;
    }
    const size_t width =
        Stdout().width == 0 ? kWidthInPipes : std::max(Stdout().width, kIndent * 2);
    for (const RuleInfo &rule : rules) {
      Print(Styled(rule.name, Style::kHeading) + "\n");
      PrintIndented(rule.summary, 2, width);
      PrintIndented("What to do: " + std::string(AdviceFor(rule.name)), 2, width);
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
  std::string profile_ = "calibrated";
  bool follows_ = false;
  bool all_ = false;
  bool lists_ = false;
  bool as_json_ = false;
  std::vector<std::string> skipped_;  // rules, with the reason
  size_t steps_ = 0;
  int64_t findings_ = 0;
  int64_t looks_ = 0;  // findings worth a look
  std::optional<FindingPrinter> printer_;
};

}  // namespace

std::unique_ptr<Command> MakeRules() { return std::make_unique<Rules>(); }

}  // namespace smdebug::cli
