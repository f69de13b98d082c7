#include "report.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "output.h"
#include "report/request.h"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli {
namespace {

class Report final : public Command {
 public:
  const char *Name() const override { return "report"; }
  const char *Summary() const override {
    return "writes a page about a trial: verdicts, curves, layers";
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
                    "judge by this rule; may be given several times; else by all of them", &rules_);
    arguments.Choice("--profile",
                     "what parameters are that are not given: as the training service "
                     "documents them, or as they leave healthy runs alone (aws)",
                     {"aws", "calibrated"}, &profile_);
    trial_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    std::vector<std::string> damages;
    const Trial trial =
        trial_.Open(trial_.Path(), [&](const Error &error) { damages.emplace_back(error.what()); });
    std::ostringstream page;
    const report::ReportSummary summary =
        report::WriteReport({trial, Requests(), profile_, std::move(damages)}, page);
    Write(page.str());
    if (output_ != "-") {
      Print("wrote " + Printable(output_) + ": " + Count(summary.findings, "finding") + " of " +
            Count(summary.rules_with_findings, "rule") + "\n");
    }
    return summary.findings == 0 ? ExitCode::kNoFindings : ExitCode::kFindings;
  }

 private:
  std::vector<RuleRequest> Requests() const {
    std::vector<RuleRequest> requests;
    for (const std::string &text : rules_) requests.push_back(ParseRule(text));
    return requests;
  }

  void Write(const std::string &page) const {
    if (output_ == "-") return Print(page);
    errno = 0;
    std::ofstream file(output_, std::ios::binary);
    file << page;
    file.close();
    if (file) return;
    const smd_code code = errno == ENOSPC   ? SMD_NO_SPACE
                          : errno == EACCES ? SMD_PERMISSION
                                            : SMD_IO;
    throw Error(code, output_ + ": the page cannot be written: " + std::strerror(errno));
  }

  TrialArguments trial_;
  std::string output_ = "report.html";
  std::vector<std::string> rules_;
  std::string profile_ = "aws";
};

}  // namespace

std::unique_ptr<Command> MakeReport() { return std::make_unique<Report>(); }

}  // namespace smdebug::cli
