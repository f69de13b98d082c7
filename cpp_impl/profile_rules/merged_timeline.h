// Writes all timelines and samples of a profile as one trace in Chrome's format.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/result.h"
#include "profile_rules/lanes.h"
#include "profile_rules/profile_reader.h"

namespace smdebug::profile_rules {

// Each worker is a process, each phase a thread, or several where its events overlap; samples are
// counters of their node.  Times are in microseconds since the first event.  For one thread at a
// time.
class MergedTimeline {
 public:
  using Write = std::function<Status(std::string_view)>;

  MergedTimeline(const NameTable *names, Write write) : names_(*names), write_(std::move(write)) {}

  // Writes everything that the reader has not returned yet.  Fails as `write` does.
  Status WriteAll(ProfileReader *reader);

 private:
  void Add(const Sample &sample);
  void Add(const Span &span);
  void Line(std::string_view begin);
  int64_t ProcessOf(NameId name);
  int64_t ThreadOf(int64_t process, const Span &span);
  void Describe(std::string_view what, int64_t process, int64_t thread, std::string_view name);

  const NameTable &names_;
  const Write write_;
  std::string text_;
  std::string separator_ = "[\n";
  double begin_ = 0;  // microseconds
  bool has_begun_ = false;
  std::map<NameId, int64_t> processes_;
  std::map<std::pair<int64_t, NameId>, Lanes> lanes_;
  std::map<std::tuple<int64_t, NameId, size_t>, int64_t> threads_;
};

}  // namespace smdebug::profile_rules
