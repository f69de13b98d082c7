// What of a trial could not be read.
#pragma once

#include <string>
#include <vector>

#include "exit_code.h"
#include "smdebug.hpp"

namespace smdebug::cli::report {

class Problems {
 public:
  explicit Problems(std::vector<std::string> sentences) : sentences_(std::move(sentences)) {}

  void Add(const std::string &sentence) {
    if (sentences_.size() < kMost) {
      sentences_.push_back(sentence);
    } else {
      ++others_;
    }
  }

  // Calls `read`; what is damaged or not there is noted.  Whether it could be read.  Fails as
  // `read` otherwise: where a server does not answer, all that follows would wait for it too.
  template <class Read>
  bool Try(const Read &read) {
    try {
      read();
      return true;
    } catch (const Error &error) {
      const ExitCode kind = ExitCodeOf(error.Code());
      const bool is_of_trial = kind != ExitCode::kNetwork && kind != ExitCode::kCredentials &&
                               kind != ExitCode::kInternal;
      if (!is_of_trial) throw;
      Add(error.what());
      return false;
    }
  }

  const std::vector<std::string> &Sentences() const { return sentences_; }
  // How many more there were.
  size_t Others() const { return others_; }

 private:
  static constexpr size_t kMost = 10;

  std::vector<std::string> sentences_;
  size_t others_ = 0;
};

}  // namespace smdebug::cli::report
