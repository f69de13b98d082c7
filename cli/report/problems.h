// Collects the parts of a trial that could not be read.
#pragma once

#include <string>
#include <vector>

#include "damage.h"
#include "smdebug.hpp"

namespace smdebug::cli::report {

class Problems {
 public:
  // Both outlive this; damage is also counted in `damage`.
  Problems(const Trial &trial, Damage &damage) : trial_(trial), damage_(damage) {}

  void Add(const std::string &sentence) {
    if (sentences_.size() < kMost) {
      sentences_.push_back(sentence);
    } else {
      ++others_;
    }
  }

  // Calls `read` and returns true if it succeeds.  If the data is damaged or missing, adds the
  // problem and returns false.  Otherwise fails as `read`: if a server does not answer, all later
  // reads would wait for it too.
  template <class Read>
  bool Try(const Read &read) {
    try {
      read();
      return true;
    } catch (const Error &error) {
      if (!Damage::IsOfTrial(error)) throw;
      // If the rules could not read everything, the exit code must not promise that nothing was
      // found.
      if (Damage::Is(error) || ExitCodeOf(error.Code()) == ExitCode::kFiles) {
        damage_.Note(trial_.Path(), error.what(), true);
      }
      Add(error.what());
      return false;
    }
  }

  const std::vector<std::string> &Sentences() const { return sentences_; }
  // Returns the number of further problems.
  size_t Others() const { return others_; }

 private:
  static constexpr size_t kMost = 10;

  const Trial &trial_;
  Damage &damage_;
  std::vector<std::string> sentences_;
  size_t others_ = 0;
};

}  // namespace smdebug::cli::report
