#include "report.h"

#include <map>
#include <sstream>

#include "output.h"
#include "replace_file.h"
#include "report/request.h"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli {
namespace {

class Report final : public Command {
 public:
  const char *Name() const override { return "report"; }
  const char *Summary() const override { return "write a page about a trial, or compare several"; }
  const char *Details() const override {
    return "The page is one HTML file, which needs no other file and no network. It stays below "
           "3 MB: large trials are sampled, which the page states. Several trials are compared: "
           "findings side by side, curves in shared charts, and what differs in their "
           "configurations. Exit codes are those of smdebug rules; findings about a profile do not "
           "change them.";
  }
  const char *Examples() const override {
    return "smdebug report run\n"
           "smdebug report run -o page.html\n"
           "smdebug report run --rule VanishingGradient,threshold=1e-6 --rule Overfit\n"
           "smdebug report run other_run -o runs.html\n"
           "smdebug report run --profile-path profile\n"
           "smdebug report s3://my-bucket/run -o run.html\n";
  }

  void Declare(Arguments &arguments) override {
    arguments.Positionals("TRIAL...", "folders of trials, or s3://bucket/prefix", 1, &paths_);
    arguments.Text("-o,--output", "FILE",
                   "write the page to this file; - for stdout (default: report.html)", &output_);
    arguments.Texts(
        "-r,--rule", "NAME[,PARAMETER=VALUE...]",
        "evaluate this rule; may be given several times (default: all rules that need no "
        "parameter)",
        &rules_);
    arguments.Choice(
        "--profile",
        "select the defaults of parameters: calibrated ones, which rarely report anything on a "
        "healthy run, or those that the training service documents; llm evaluates the rules for "
        "large trainings (default: calibrated)",
        {"calibrated", "aws", "llm"}, &profile_);
    arguments.Text("--profile-path", "PATH",
                   "the folder of the job's profile, or s3://bucket/prefix, for the chapter about "
                   "where the time goes (default: a folder profiler-output or profiler inside or "
                   "beside that of the trial)",
                   &profile_path_);
    trial_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    // May lead to a regular file, which must not be replaced by name.
    if (output_ == "/dev/stdout") output_ = "-";
    if (paths_.size() > report::kMostRuns) {
      throw UsageError("smdebug report compares up to " + std::to_string(report::kMostRuns) +
                       " trials, not " + std::to_string(paths_.size()));
    }
    if (paths_.size() > 1 && !profile_path_.empty()) {
      throw UsageError("--profile-path needs a single trial");
    }
    std::vector<Trial> trials;
    std::vector<report::ReportRequest> requests;
    requests.reserve(paths_.size());
    Options options;
    trial_.ApplyTo(&options);
    for (const std::string &path : paths_) trials.push_back(trial_.Open(path));
    for (const Trial &trial : trials) {
      requests.push_back(
          {trial, Requests(), profile_, trial_.TheDamage(), options.all, profile_path_});
    }
    std::ostringstream page;
    const report::ReportSummary summary = requests.size() == 1
                                              ? report::WriteReport(requests.front(), page)
                                              : report::WriteComparison(requests, page);
    Write(page.str());
    if (output_ != "-") {
      const std::string found =
          Count(summary.findings, "finding") + " of " + Count(summary.rules_with_findings, "rule");
      Print("wrote " + Printable(output_) + ": " + (summary.findings == 0 ? "no findings" : found) +
            (summary.rules_worth_a_look > 0
                 ? ", " + Count(summary.rules_worth_a_look, "rule") + " with something worth a look"
                 : "") +
            (summary.profile_findings > 0
                 ? ", " + Count(summary.profile_findings, "finding") + " of the profile"
                 : "") +
            "\n");
    }
    return trial_.Conclude(summary.findings == 0 ? ExitCode::kNoFindings : ExitCode::kFindings);
  }

 private:
  // Collects --set.
  struct Options {
    void Set(const std::string &name, const std::string &value) { all[name] = value; }
    std::map<std::string, std::string> all;
  };

  std::vector<RuleRequest> Requests() const {
    std::vector<RuleRequest> requests;
    for (const std::string &text : rules_) requests.push_back(ParseRule(text));
    return requests;
  }

  void Write(const std::string &page) const {
    if (output_ == "-") return Print(page);
    ReplaceFile(output_, page);
  }

  TrialArguments trial_;
  std::vector<std::string> paths_;
  std::string output_ = "report.html";
  std::vector<std::string> rules_;
  std::string profile_ = "calibrated";
  std::string profile_path_;
};

}  // namespace

std::unique_ptr<Command> MakeReport() { return std::make_unique<Report>(); }

}  // namespace smdebug::cli
