#include "report.h"

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
  const char *Summary() const override {
    return "writes a page about a trial: rules, curves, layers";
  }
  const char *Details() const override {
    return "The page is one HTML file that needs no other and no network. What a large trial holds "
           "is sampled, and the page says so: it stays below 3 MB. Exit codes are as those of "
           "smdebug rules.";
  }
  const char *Examples() const override {
    return "smdebug report run\n"
           "smdebug report run -o page.html --profile calibrated\n"
           "smdebug report run --rule VanishingGradient,threshold=1e-6 --rule Overfit\n"
           "smdebug report s3://my-bucket/run -o run.html\n";
  }

  void Declare(Arguments &arguments) override {
    trial_.DeclareTrial(arguments);
    arguments.Text("-o,--output", "FILE", "where the page is written; -: to stdout (report.html)",
                   &output_);
    arguments.Texts("-r,--rule", "NAME[,PARAMETER=VALUE...]",
                    "evaluate this rule; may be given several times; else by all of them", &rules_);
    arguments.Choice("--profile",
                     "what parameters are that are not given: as the training service "
                     "documents them, or as they leave healthy runs alone (aws)",
                     {"aws", "calibrated"}, &profile_);
    trial_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    // May lead to a regular file, which must not be replaced by name.
    if (output_ == "/dev/stdout") output_ = "-";
    const Trial trial = trial_.Open();
    std::ostringstream page;
    const report::ReportSummary summary =
        report::WriteReport({trial, Requests(), profile_, trial_.TheDamage()}, page);
    Write(page.str());
    if (output_ != "-") {
      Print("wrote " + Printable(output_) + ": " + Count(summary.findings, "finding") + " of " +
            Count(summary.rules_with_findings, "rule") + "\n");
    }
    return trial_.Conclude(summary.findings == 0 ? ExitCode::kNoFindings : ExitCode::kFindings);
  }

 private:
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
  std::string output_ = "report.html";
  std::vector<std::string> rules_;
  std::string profile_ = "aws";
};

}  // namespace

std::unique_ptr<Command> MakeReport() { return std::make_unique<Report>(); }

}  // namespace smdebug::cli
