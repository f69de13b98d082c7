// What every command that reads a trial takes, and the trial opened by it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "smdebug.hpp"

namespace smdebug::cli {

class TrialArguments {
 public:
  // TRIAL, which a command may also name itself.
  void DeclareTrial(Arguments &arguments);
  // --set, the last of the options.
  void DeclareOptions(Arguments &arguments);

  const std::string &Path() const { return path_; }

  // Takes what is wrong with an index file.
  using OnDamage = std::function<void(const Error &)>;

  // Opens what is there now: waits neither for a job to begin nor for late files, and does not look
  // for more by itself.  Index files that cannot be read are complained of by its log, or go to
  // `on_damage`. Fails as smdebug::Trial::Open(); NOT_FOUND if there is no such folder.
  Trial Open() const { return Open(path_); }
  Trial Open(const std::string &path, const OnDamage &on_damage = nullptr) const;

  // Opens it as a job that may still record, or not have begun.
  Trial OpenLive(const std::string &path) const;

  // "name=value" of --set, one after the other.  Fails: UsageError.
  template <class Options>
  void ApplyTo(Options *options) const {
    for (const std::string &setting : settings_) {
      const auto [name, value] = Split(setting);
      options->Set(name, value);
    }
  }

 private:
  static std::pair<std::string, std::string> Split(const std::string &setting);
  static TrialOptions Options(bool logs);

  std::string path_;
  std::vector<std::string> settings_;
};

// The mode that --mode names, "" being all.
Mode ModeOf(const std::string &name);
// The choices of --mode.
std::vector<std::string> ModeChoices();

// "run" or "s3://bucket/run": with what a shell or terminal would take for a command written out.
std::string NameOf(const Trial &trial);

// Whether the path is a folder's and not a bucket's.
bool IsLocal(const std::string &path);

}  // namespace smdebug::cli
