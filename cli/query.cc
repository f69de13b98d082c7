#include "query.h"

#include "arguments.h"
#include "python_command.h"

namespace smdebug::cli {
namespace {

class Query final : public Command {
 public:
  const char *Name() const override { return "query"; }
  const char *Summary() const override { return "run SQL over many trials"; }
  const char *Details() const override {
    return "Runs one SELECT statement in DuckDB. The tables are tensors, scalars, findings, "
           "trials, profile_events and system_metrics; docs/tables.md lists their columns. Only "
           "the columns, trials, tensors and "
           "steps that the SQL asks for are read. Needs Python with the package: pip install "
           "'libsmdebug[sql]'";
  }
  const char *Examples() const override {
    return "smdebug query \"select trial, min(value) from scalars group by trial\" .\n"
           "smdebug query \"select trial, state, steps from trials\" run other_run\n"
           "smdebug query \"select * from findings\" run --rule VanishingGradient\n"
           "smdebug query \"from scalars where name = 'loss'\" s3://my-bucket --format csv\n";
  }

  void Declare(Arguments &arguments) override {
    arguments.Positional("SQL", "a SELECT statement", &sql_);
    arguments.Positionals(
        "PATH...", "trials, folders or buckets that hold trials, or patterns of such", 1, &paths_);
    arguments.Text("-o,--output", "FILE",
                   "write to this new file: .csv, .json, .txt or .parquet (default: stdout)",
                   &output_);
    arguments.Choice("--format",
                     "write this format (default: that of FILE's name; on stdout a table)",
                     {"table", "csv", "json", "parquet"}, &format_);
    arguments.Flag("--compute",
                   "compute statistics that were not saved from saved values, for tensors",
                   &computes_);
    arguments.Texts("-r,--rule", "NAME[,PARAMETER=VALUE...]",
                    "evaluate this rule for findings; may be given several times (default: all "
                    "rules that need no parameter)",
                    &rules_);
    arguments.Choice("--profile", "select the defaults of parameters of rules",
                     {"calibrated", "aws", "llm"}, &profile_);
    arguments.Texts("--set", "NAME=VALUE",
                    "set an option of the library, such as s3_region=eu-west-1; may be given "
                    "several times",
                    &settings_);
  }

  ExitCode Run() override {
    PythonWords words(Name());
    words.Option("--output", output_);
    words.Option("--format", format_);
    words.Flag("--compute", computes_);
    words.Options("--rule", rules_);
    words.Option("--profile", profile_);
    words.Options("--set", settings_);
    std::vector<std::string> positionals = {sql_};
    positionals.insert(positionals.end(), paths_.begin(), paths_.end());
    words.Positionals(positionals);
    return RunInPython(words);
  }

 private:
  std::string sql_;
  std::vector<std::string> paths_;
  std::string output_;
  std::string format_;
  bool computes_ = false;
  std::vector<std::string> rules_;
  std::string profile_;
  std::vector<std::string> settings_;
};

}  // namespace

std::unique_ptr<Command> MakeQuery() { return std::make_unique<Query>(); }

}  // namespace smdebug::cli
