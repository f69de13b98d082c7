#include "export.h"

#include "arguments.h"
#include "python_command.h"

namespace smdebug::cli {
namespace {

class Export final : public Command {
 public:
  const char *Name() const override { return "export"; }
  const char *Summary() const override { return "write many trials as Parquet, or what is new"; }
  const char *Details() const override {
    return "Writes OUT/TABLE/trial=NAME/*.parquet, for DuckDB, Polars, Spark, pandas and others. "
           "Run again, it adds the trials and steps that are new, and changes no file. Needs "
           "Python with the package: pip install 'libsmdebug[sql]'";
  }
  const char *Examples() const override {
    return "smdebug export run other_run logs\n"
           "smdebug export s3://my-bucket logs --table scalars\n";
  }

  void Declare(Arguments &arguments) override {
    arguments.Positionals("PATH... OUT",
                          "trials, folders or buckets that hold trials, or patterns of such; then "
                          "the local folder to write to",
                          2, &paths_);
    arguments.Texts("--table", "tensors|scalars",
                    "write this table; may be given several times (default: both)", &tables_);
    arguments.Texts("--column", "NAME",
                    "write this column; may be given several times (default: all but value and "
                    "bytes)",
                    &columns_);
    arguments.Flag("--compute",
                   "compute statistics that were not saved from saved values, for tensors",
                   &computes_);
    arguments.Texts("--set", "NAME=VALUE",
                    "set an option of the library, such as s3_region=eu-west-1; may be given "
                    "several times",
                    &settings_);
  }

  ExitCode Run() override {
    PythonWords words(Name());
    words.Options("--table", tables_);
    words.Options("--column", columns_);
    words.Flag("--compute", computes_);
    words.Options("--set", settings_);
    words.Positionals(paths_);
    return RunInPython(words);
  }

 private:
  std::vector<std::string> paths_;  // the last is the folder to write to
  std::vector<std::string> tables_;
  std::vector<std::string> columns_;
  bool computes_ = false;
  std::vector<std::string> settings_;
};

}  // namespace

std::unique_ptr<Command> MakeExport() { return std::make_unique<Export>(); }

}  // namespace smdebug::cli
