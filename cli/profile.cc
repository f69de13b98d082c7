#include "profile.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <string>

#include "finding_json.h"
#include "json_writer.h"
#include "natural_order.h"
#include "output.h"
#include "replace_file.h"
#include "rule_list.h"
#include "skipped_parts.h"
#include "table.h"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli {
namespace {

std::string Percent(double share) {
  char text[32];
  (void)std::snprintf(text, sizeof(text), "%.1f %%", share * 100);
  return text;
}

std::string Milliseconds(double microseconds) {
  char text[32];
  (void)std::snprintf(text, sizeof(text), "%.3f", microseconds / 1e3);
  return text;
}

void PrintParts(const std::vector<ProfilePhase> &phases, const std::string &worker) {
  Table table({{"part of a step", Table::Kind::kText},
               {"share", Table::Kind::kNumber},
               {"p50 ms", Table::Kind::kNumber},
               {"p95 ms", Table::Kind::kNumber},
               {"p99 ms", Table::Kind::kNumber},
               {"max ms", Table::Kind::kNumber}});
  for (const ProfilePhase &phase : phases) {
    if (phase.worker != worker || phase.kind == "phase") continue;
    table.Add({phase.kind == "overlap" ? phase.name + " (beside)" : phase.name,
               Percent(phase.share), Milliseconds(phase.p50_us), Milliseconds(phase.p95_us),
               Milliseconds(phase.p99_us), Milliseconds(phase.max_us)});
  }
  if (!table.IsEmpty()) table.Print(2);
}

void PrintRows(const std::vector<ProfilePhase> &phases, const std::string &worker, bool has_steps) {
  Table table({{"row of the timeline", Table::Kind::kText},
               {"share", Table::Kind::kNumber},
               {"events", Table::Kind::kNumber},
               {"mean ms", Table::Kind::kNumber}});
  for (const ProfilePhase &phase : phases) {
    if (phase.worker != worker || phase.kind != "phase") continue;
    table.Add(
        {Printable(phase.name), has_steps ? Percent(phase.share) : "", std::to_string(phase.count),
         Milliseconds(phase.total_us / static_cast<double>(std::max<int64_t>(phase.count, 1)))});
  }
  if (!table.IsEmpty()) table.Print(2);
}

std::string PhaseJson(const ProfilePhase &phase) {
  JsonWriter json;
  json.BeginObject().Key("worker").Text(phase.worker).Key("name").Text(phase.name);
  json.Key("kind").Text(phase.kind).Key("count").Whole(phase.count);
  json.Key("share").Number(phase.share).Key("total_us").Number(phase.total_us);
  // Rows of the timeline have no times by step.
  const bool has_times = phase.kind != "phase";
  for (const auto &[name, time] : {std::pair("p50_us", phase.p50_us),
                                   {"p95_us", phase.p95_us},
                                   {"p99_us", phase.p99_us},
                                   {"max_us", phase.max_us}}) {
    has_times ? json.Key(name).Number(time) : json.Key(name).Null();
  }
  return json.EndObject().Take();
}

class ProfileCommand final : public Command {
 public:
  const char *Name() const override { return "profile"; }
  const char *Summary() const override { return "show where the time of a job goes"; }
  const char *Details() const override {
    return "Reads the folder of a profile, which holds \"system\" or \"framework\". A step lasts "
           "from its beginning to that of the next one; each moment counts for the innermost "
           "event, so that the parts of a step add up to it. With --rules, also evaluates rules "
           "over the profile.";
  }
  const char *Examples() const override {
    return "smdebug profile profile\n"
           "smdebug profile profile --rules calibrated\n"
           "smdebug profile profile --rules aws --report-json reports\n"
           "smdebug profile profile --rule Straggler,factor=1.5\n"
           "smdebug profile profile --timeline trace.json\n";
  }

  void Declare(Arguments &arguments) override {
    arguments.Positional("PROFILE", "the folder of a profile, or s3://bucket/prefix", &path_);
    arguments.Choice("--rules",
                     "evaluate the rules: calibrated ones, which rarely report anything on a "
                     "healthy job, or those of the original",
                     {"calibrated", "aws"}, &profile_);
    arguments.Texts("-r,--rule", "NAME[,PARAMETER=VALUE...]",
                    "evaluate this rule; may be given several times", &rules_);
    arguments.Text("--report-json", "FOLDER",
                   "write a file for each rule, as the original's ProfilerReport does", &reports_);
    arguments.Text("--timeline", "FILE",
                   "write all timelines and samples as one trace, which Perfetto opens",
                   &timeline_);
    arguments.Flag("--json", "print one object per line, for programs", &as_json_);
    options_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    SkippedParts skipped;
    ProfileRules rules(path_, profile_.empty() ? "calibrated" : profile_);
    for (const auto &[name, value] : options_.Settings()) rules.Set(name, value);
    for (const std::string &text : rules_) AddRule(ParseRule(text), &rules);
    skipped.Watch(&rules);
    rules.Evaluate();
    if (!timeline_.empty()) rules.WriteTimeline(timeline_);
    if (!reports_.empty()) WriteReports(&rules);
    const bool evaluates = !profile_.empty() || !rules_.empty();
    const std::vector<Finding> findings = evaluates ? rules.Findings() : std::vector<Finding>();
    if (as_json_) {
      for (const ProfilePhase &phase : rules.Phases()) Print(PhaseJson(phase) + "\n");
      for (const Finding &finding : findings) PrintJson(finding);
    } else {
      PrintPhases(rules.Phases());
      if (evaluates) PrintFindings(findings, rules.Results(), !rules_.empty());
      for (const std::string &written : {reports_, timeline_}) {
        if (!written.empty()) Print("wrote " + Printable(written) + "\n");
      }
    }
    const bool is_damaged = Complained(skipped.Take());
    if (!findings.empty()) return ExitCode::kFindings;
    return is_damaged ? ExitCode::kDamaged : ExitCode::kNoFindings;
  }

 private:
  static bool Complained(const std::vector<std::string> &skipped) {
    for (const std::string &sentence : skipped) Complain("warning: " + Printable(sentence));
    return !skipped.empty();
  }

  static void AddRule(const RuleRequest &request, ProfileRules *rules) {
    rules->Set("rule", request.name);
    for (const auto &[name, value] : request.given) {
      if (name == "JSON") throw UsageError("give parameters as NAME=VALUE to smdebug profile");
      rules->Set(request.name + "_" + name, value);
    }
  }

  void WriteReports(ProfileRules *rules) const {
    if (::mkdir(reports_.c_str(), 0777) != 0 && errno != EEXIST) {
      throw Error(SMD_IO, "cannot make the folder " + Printable(reports_));
    }
    for (const RuleResult &result : rules->Results()) {
      ReplaceFile(reports_ + "/" + result.rule + ".json", rules->Report(result.rule));
    }
  }

  // Workers with steps come first; those of a data loader have none.
  static void PrintPhases(const std::vector<ProfilePhase> &phases) {
    std::map<std::string, int64_t, decltype(&NaturalLess)> steps(&NaturalLess);
    for (const ProfilePhase &phase : phases) {
      steps[phase.worker] += phase.kind == "step" ? phase.count : 0;
    }
    for (const bool has_steps : {true, false}) {
      for (const auto &[worker, count] : steps) {
        if ((count > 0) != has_steps) continue;
        Print(Styled(Printable(worker), Style::kHeading) + ": " +
              (has_steps ? Count(static_cast<size_t>(count), "step") : "no steps") + "\n");
        PrintParts(phases, worker);
        PrintRows(phases, worker, has_steps);
      }
    }
    if (phases.empty()) Print("no events of a timeline\n");
  }

  static void PrintJson(const Finding &finding) {
    JsonWriter json;
    cli::ToJson(finding, &json);
    Print(json.Take() + "\n");
  }

  // With `is_asked`, the rules were selected by name, and each that had not enough data says why.
  static void PrintFindings(const std::vector<Finding> &findings,
                            const std::vector<RuleResult> &results, bool is_asked) {
    for (const Finding &finding : findings) {
      Print(Styled(finding.rule, Style::kBad) + ": " + Printable(finding.message) +
            (finding.worker.empty() ? "" : " (" + Printable(finding.worker) + ")") + "\n");
      Print("  What to do: " + std::string(smd_profile_rule_advice(finding.rule.c_str())) + "\n");
    }
    std::vector<std::string> idle;
    for (const RuleResult &result : results) {
      if (result.status != RuleStatus::kNotEnoughData) continue;
      idle.push_back(is_asked ? result.rule + ": " + result.message : result.rule);
    }
    const std::string told = "not enough data for " + Join(idle, is_asked ? "; " : ", ") + "\n";
    if (!idle.empty()) Print(Styled(told, Style::kFaint));
    Print(Count(findings.size(), "finding") + "; " + Count(results.size(), "rule") +
          " evaluated\n");
  }

  TrialArguments options_;
  std::string path_;
  std::string profile_;
  std::vector<std::string> rules_;
  std::string reports_;
  std::string timeline_;
  bool as_json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeProfile() { return std::make_unique<ProfileCommand>(); }

}  // namespace smdebug::cli
