// What a job recorded about itself, and when it ran.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "problems.h"
#include "smdebug.hpp"

namespace smdebug::cli::report {

struct RunFacts {
  std::map<std::string, std::string> metadata;  // of all workers; "run.*" are recorded by hooks
  std::optional<int64_t> begin;                 // when the first and the last step were written,
  std::optional<int64_t> end;                   // in microseconds since 1970

  // Returns "" if the job did not record it.
  std::string Get(const std::string &key) const;
  // Returns "1 h 5 min", or "" if it is not known.
  std::string DurationText() const;
  // Returns "2026-11-23 20:43 UTC", or "".
  std::string BeginText() const;
  // Returns "torch 2.1, python 3.11": what was recorded of libraries.
  std::string VersionsText() const;
};

// `options` are those of --set.  Omits what cannot be read.
RunFacts ReadRunFacts(const Trial &trial, const std::map<std::string, std::string> &options,
                      Problems *problems);

}  // namespace smdebug::cli::report
