// Tracks the damage of a trial that a command skips.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "exit_code.h"
#include "smdebug.hpp"

namespace smdebug::cli {

// Counts the skipped parts, and reports them on stderr.  Safe from any thread: trials log on
// theirs.
class Damage {
 public:
  // Returns true if the error is about one damaged or missing part of a trial.
  static bool Is(const Error &error);
  // Returns true if the error is about a trial's contents, not about access to it.
  static bool IsOfTrial(const Error &error);

  // Counts the damage.  Reports the first few on stderr, unless `is_reported`.
  void Note(const std::string &trial, const std::string &sentence, bool is_reported = false);
  // Returns the first few sentences.
  std::vector<std::string> Sentences() const;

  // Calls `read` and returns true.  If it fails with damage, notes the damage and returns false.
  template <class Read>
  bool Try(const std::string &trial, const Read &read) {
    try {
      read();
      return true;
    } catch (const Error &error) {
      if (!Is(error)) throw;
      Note(trial, error.what());
      return false;
    }
  }

  // If anything was skipped, reports how much, and how to see all of it.  Then returns kDamaged
  // instead of kNoFindings, which would be a promise.
  ExitCode Conclude(ExitCode code) const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string> trials_;
  std::vector<std::string> sentences_;
  size_t count_ = 0;
};

}  // namespace smdebug::cli
