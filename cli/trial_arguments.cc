#include "trial_arguments.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "natural_order.h"
#include "output.h"
#include "suggestions.h"
#include "text.h"

namespace smdebug::cli {
namespace {

// Names the folders beside a missing one that have similar names.
std::string NeighboursLike(const std::string &path) {
  constexpr size_t kMostRead = 10000;
  const std::filesystem::path whole =
      path.ends_with('/') ? std::filesystem::path(path).parent_path() : std::filesystem::path(path);
  const std::filesystem::path parent = whole.parent_path();
  std::vector<std::string> folders;
  std::error_code error;
  std::filesystem::directory_iterator entry(parent.empty() ? "." : parent, error);
  for (size_t i = 0; i < kMostRead && !error && entry != std::filesystem::directory_iterator();
       ++i) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      folders.push_back((parent / entry->path().filename()).string());
    }
    entry.increment(error);
  }
  return DidYouMean(whole.string(), InNaturalOrder(std::move(folders)));
}

void RefuseMissingFolder(const std::string &path) {
  if (path.empty()) throw UsageError("the path of the trial is empty");
  if (!IsLocal(path)) return;
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(InHome(path), error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw Error(SMD_NOT_FOUND, path + ": the folder does not exist" + NeighboursLike(path));
  }
  if (status.type() == std::filesystem::file_type::regular) {
    throw Error(SMD_NOT_FOUND, path + ": this is a file; give the folder of a trial");
  }
}

// Reports whether nothing was recorded into a folder.
bool HoldsNoPart(const std::string &path) {
  if (!IsLocal(path)) return false;
  const auto is_part = [&](const char *name) {
    std::error_code ignored;
    return std::filesystem::exists(std::filesystem::path(InHome(path)) / name, ignored);
  };
  return !is_part("collections") && !is_part("index") && !is_part("events");
}

constexpr int kDeepest = 3;         // levels below a folder that are searched for trials
constexpr size_t kMostSeen = 1000;  // folders
constexpr size_t kMostNamed = 10;   // trials

// Collects the trials below a folder, as many as a message can name.
void FindTrials(const std::filesystem::path &folder, int depth, size_t *seen,
                std::vector<std::string> *found) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (found->size() > kMostNamed || ++*seen > kMostSeen) return;
    std::error_code ignored;
    if (entry->is_symlink(ignored) || !entry->is_directory(ignored)) continue;
    if (std::filesystem::is_directory(entry->path() / "collections", ignored)) {
      found->push_back(entry->path().string());
    } else if (depth < kDeepest) {
      FindTrials(entry->path(), depth + 1, seen, found);
    }
  }
}

// Reports that a folder is not a trial, and names the trials below it.
[[noreturn]] void FailWithoutTrial(const std::string &path, const Error &error) {
  std::vector<std::string> found;
  size_t seen = 0;
  if (IsLocal(path) && !path.starts_with("~")) FindTrials(path, 1, &seen, &found);
  if (found.empty() && HoldsNoPart(path)) {
    throw Error(error.Code(), path + ": there is no trial in this folder, and none below it");
  }
  if (found.empty()) throw Error(error.Code(), error.what());
  std::sort(found.begin(), found.end());
  const bool are_more = found.size() > kMostNamed;
  if (are_more) found.resize(kMostNamed);
  throw Error(error.Code(), path + ": this folder is not a trial; the trials below it are " +
                                Join(found, ", ") + (are_more ? ", and others" : ""));
}

}  // namespace

bool IsLocal(const std::string &path) { return path.find("://") == std::string::npos; }

std::string InHome(const std::string &path) {
  const char *const home = std::getenv("HOME");
  if (home == nullptr || (path != "~" && !path.starts_with("~/"))) return path;
  return home + path.substr(1);
}

void TrialArguments::DeclareTrial(Arguments &arguments) {
  arguments.Positional("TRIAL", "the folder of a trial, or s3://bucket/prefix", &path_);
}

void TrialArguments::DeclareOptions(Arguments &arguments) {
  arguments.Texts(
      "--set", "NAME=VALUE",
      "set an option of the library, such as s3_region=eu-west-1; may be given several times",
      &settings_);
}

std::pair<std::string, std::string> TrialArguments::Split(const std::string &setting) {
  const size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError("--set needs NAME=VALUE, not '" + Printable(setting) + "'");
  }
  return {setting.substr(0, equals), setting.substr(equals + 1)};
}

// A trial logs damage that it skips as errors.
TrialOptions TrialArguments::Options(const std::string &path, bool logs) const {
  TrialOptions options;
  const LogLevel least = logs ? LogLevel::kWarning : LogLevel::kOff;
  options.SetLog(least, [path, damage = damage_](LogLevel level, std::string_view line) {
    if (level == LogLevel::kError) {
      damage->Note(path, std::string(line));
    } else {
      Complain("warning: " + Printable(line));
    }
  });
  return options;
}

// Each refresh fails for one index file that cannot be read, once; the last one succeeds.
void TrialArguments::RefreshAll(const Trial &trial, const OnDamage &on_damage) const {
  std::string last;
  while (true) {
    try {
      return trial.Refresh();
    } catch (const Error &error) {
      const bool goes_on = on_damage == nullptr ? Damage::Is(error) : Damage::IsOfTrial(error);
      if (!goes_on) throw;
      if (error.what() == last) return;  // the failure is permanent
      last = error.what();
      if (on_damage != nullptr) {
        on_damage(error);
      } else {
        damage_->Note(trial.Path(), error.what(), true);  // the trial has logged it
      }
    }
  }
}

std::vector<std::pair<std::string, std::string>> TrialArguments::Settings() const {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const std::string &setting : settings_) settings.push_back(Split(setting));
  return settings;
}

Trial TrialArguments::OpenAt(const std::string &path, const OnDamage &on_damage) const {
  TrialOptions options = Options(path, on_damage == nullptr);
  options.Set("wait_seconds", "0").Set("end_delay_seconds", "0").Set("missing_file_retries", "0");
  if (on_damage != nullptr) options.Set("index_numbers", "false");
  ApplyTo(&options);
  RefuseMissingFolder(path);
  Trial trial = Trial::Open(path, options);
  trial.SetAutoRefresh(false);
  RefreshAll(trial, on_damage);
  return trial;
}

std::optional<Trial> TrialArguments::OpenIfTrial() const {
  try {
    return OpenAt(path_, nullptr);
  } catch (const Error &error) {
    if (error.Code() != SMD_MISSING_COLLECTIONS) throw;
    return std::nullopt;
  }
}

Trial TrialArguments::Open(const std::string &path, const OnDamage &on_damage) const {
  try {
    return OpenAt(path, on_damage);
  } catch (const Error &error) {
    if (error.Code() != SMD_MISSING_COLLECTIONS) throw;
    FailWithoutTrial(path, error);
  }
}

Trial TrialArguments::OpenLive(const std::string &path) const {
  TrialOptions options = Options(path, true);
  ApplyTo(&options);
  std::error_code error;
  if (IsLocal(path) && !path.starts_with("~") && !std::filesystem::exists(path, error)) {
    Complain("warning: " + Printable(path) + ": the folder does not exist yet; waiting for it");
  }
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
