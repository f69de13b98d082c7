#include "trial_arguments.h"

#include <filesystem>

#include "output.h"
#include "text.h"

namespace smdebug::cli {
namespace {

void RefuseMissingFolder(const std::string &path) {
  if (!IsLocal(path) || path.starts_with("~")) return;
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw Error(SMD_NOT_FOUND, Printable(path) + ": there is no such folder");
  }
  if (status.type() == std::filesystem::file_type::regular) {
    throw Error(SMD_NOT_FOUND, Printable(path) + ": it is a file; give the folder of a trial");
  }
}

// Each refresh tells of one file that it could not read, once; the last tells of none.
void RefreshAll(const Trial &trial, const TrialArguments::OnDamage &on_damage) {
  while (true) {
    try {
      return trial.Refresh();
    } catch (const Error &error) {
      if (error.Code() != SMD_CORRUPT_DATA) throw;
      if (on_damage != nullptr) on_damage(error);
    }
  }
}

}  // namespace

bool IsLocal(const std::string &path) { return path.find("://") == std::string::npos; }

void TrialArguments::DeclareTrial(Arguments &arguments) {
  arguments.Positional("TRIAL", "the folder of a trial, or s3://bucket/prefix", &path_);
}

void TrialArguments::DeclareOptions(Arguments &arguments) {
  arguments.Texts(
      "--set", "NAME=VALUE",
      "sets an option of the library, as s3_region=eu-west-1; may be given several times",
      &settings_);
}

std::pair<std::string, std::string> TrialArguments::Split(const std::string &setting) {
  const size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError("--set wants NAME=VALUE, not '" + Printable(setting) + "'");
  }
  return {setting.substr(0, equals), setting.substr(equals + 1)};
}

TrialOptions TrialArguments::Options(bool logs) {
  TrialOptions options;
  const LogLevel level = logs ? LogLevel::kWarning : LogLevel::kOff;
  options.SetLog(level,
                 [](LogLevel, std::string_view line) { Complain("warning: " + Printable(line)); });
  return options;
}

Trial TrialArguments::Open(const std::string &path, const OnDamage &on_damage) const {
  TrialOptions options = Options(on_damage == nullptr);
  options.Set("wait_seconds", "0").Set("end_delay_seconds", "0").Set("missing_file_retries", "0");
  ApplyTo(&options);
  RefuseMissingFolder(path);
  Trial trial = Trial::Open(path, options);
  trial.SetAutoRefresh(false);
  RefreshAll(trial, on_damage);
  return trial;
}

Trial TrialArguments::OpenLive(const std::string &path) const {
  TrialOptions options = Options(true);
  ApplyTo(&options);
  return Trial::Open(path, options);
}

Mode ModeOf(const std::string &name) {
  for (const Mode mode : {Mode::kTrain, Mode::kEval, Mode::kPredict}) {
    std::string lower = ModeName(mode);
    for (char &letter : lower) letter = static_cast<char>(letter - 'A' + 'a');
    if (name == lower) return mode;
  }
  return Mode::kGlobal;
}

std::vector<std::string> ModeChoices() { return {"train", "eval", "predict", "global"}; }

std::string NameOf(const Trial &trial) { return Printable(trial.Path()); }

}  // namespace smdebug::cli
