// Where a client is in the events of its runs: the id of an event.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace smdebug::cli::serve {

// A cursor says all that the server needs to go on, also after it was started again.
struct Cursor {
  struct Place {
    int64_t step = -1;     // the last one that was sent
    int64_t findings = 0;  // the number of those that were sent
    int64_t job = 0;       // when its first step was recorded; 0: unknown
    bool operator==(const Place &) const = default;
  };
  std::map<std::string, Place> runs;  // by id
  int64_t list = -1;                  // the version of the list

  bool operator==(const Cursor &) const = default;

  // Returns "list:3,0123456789abcdef:41:2:1700000000000000".
  std::string ToText() const;
  // Returns nothing if the text is malformed, or names more than kMostRuns.
  static std::optional<Cursor> Parse(std::string_view text);

  static constexpr size_t kMostRuns = 16;
};

}  // namespace smdebug::cli::serve
