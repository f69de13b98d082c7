// Declares the arguments of all commands that read a trial, and opens trials with them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "damage.h"
#include "smdebug.hpp"

namespace smdebug::cli {

class TrialArguments {
 public:
  // Declares TRIAL.  A command may declare it under another name instead.
  void DeclareTrial(Arguments &arguments);
  // Declares --set, which is the last option.
  void DeclareOptions(Arguments &arguments);

  const std::string &Path() const { return path_; }

  // Receives the error of an index file.
  using OnDamage = std::function<void(const Error &)>;

  // Opens the current contents of a trial: waits neither for a job to begin nor for late files, and
  // does not refresh by itself.  Index files that cannot be read are damage: if `on_damage` is
  // given, it gets each of them, the trial logs nothing, and numbers are read from their records.
  // Fails as smdebug::Trial::Open(), and with NOT_FOUND if the folder does not exist.  If there is
  // no trial, the message names the trials below.
  Trial Open() const { return Open(path_); }
  // The same, but returns nothing for a place that exists and is not a trial.
  std::optional<Trial> OpenIfTrial() const;
  Trial Open(const std::string &path, const OnDamage &on_damage = nullptr) const;

  // Opens the trial of a job that may be running, or may not have started.
  Trial OpenLive(const std::string &path) const;
  // Reads what was recorded since the last call, and skips damage.
  void Refresh(const Trial &trial) const { RefreshAll(trial, nullptr); }

  // Calls `read` and returns true.  If it fails with damage, reports and counts the damage and
  // returns false.
  template <class Read>
  bool Try(const Trial &trial, const Read &read) const {
    return damage_->Try(trial.Path(), read);
  }
  Damage &TheDamage() const { return *damage_; }
  // Returns the exit code of a command that has finished: `code`, or kDamaged as in
  // Damage::Conclude().
  ExitCode Conclude(ExitCode code) const { return damage_->Conclude(code); }

  // Applies each "name=value" of --set, in order.  Fails: UsageError.
  template <class Options>
  void ApplyTo(Options *options) const {
    for (const auto &[name, value] : Settings()) options->Set(name, value);
  }

  // Returns the names and values of --set, in order.  Fails: UsageError.
  std::vector<std::pair<std::string, std::string>> Settings() const;

 private:
  static std::pair<std::string, std::string> Split(const std::string &setting);
  Trial OpenAt(const std::string &path, const OnDamage &on_damage) const;
  TrialOptions Options(const std::string &path, bool logs) const;
  void RefreshAll(const Trial &trial, const OnDamage &on_damage) const;

  std::string path_;
  std::vector<std::string> settings_;
  std::shared_ptr<Damage> damage_ = std::make_shared<Damage>();  // also of the trials' logs
};

// Returns the mode for the value of --mode; "" selects all.
Mode ModeOf(const std::string &name);
// Returns the choices of --mode.
std::vector<std::string> ModeChoices();

// Returns "run" or "s3://bucket/run", with unprintable characters escaped.
std::string NameOf(const Trial &trial);

// Returns true if the path is a folder and not a bucket.
bool IsLocal(const std::string &path);

// Returns the path with the home folder in place of a leading "~", as trials are opened.
std::string InHome(const std::string &path);

}  // namespace smdebug::cli
