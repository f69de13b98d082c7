#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "base/strings.h"
#include "profile/literal_json.h"
#include "profile/profile_files.h"
#include "profile/profiler_config.h"
#include "profile/read_system.h"
#include "profile/read_timeline.h"
#include "profile/trace_import.h"
#include "storage/memory_store.h"
#include "target.h"

namespace smdebug::fuzz {
namespace {

void Timeline(std::string_view input) {
  // Two files of one node: the second begins where a NUL is.
  const size_t cut = std::min(input.find('\0'), input.size());
  profile::TimelineState state;
  for (const std::string_view text : {input.substr(0, cut), input.substr(cut)}) {
    profile::TimelineFileReader reader{profile::TextPieces(std::string(text)), &state};
    profile::TimelineEvent event;
    size_t count = 0;
    while (true) {
      const auto is_there = reader.Next(&event);
      Require(is_there.IsOk(), "a text can be read");
      if (!*is_there) break;
      Require(std::isfinite(event.duration), "a duration is a number");
      Require(++count <= text.size(), "each event has bytes of its own");
    }
  }
}

void SystemMetrics(std::string_view input) {
  profile::SystemFileReader reader{profile::TextPieces(std::string(input))};
  profile::SystemEvent event;
  while (true) {
    const auto is_there = reader.Next(&event);
    Require(is_there.IsOk(), "a text can be read");
    if (!*is_there) break;
    Require(IsUtf8(event.dimension.view) && IsUtf8(event.type.view), "texts are UTF-8");
  }
  static_cast<void>(profile::ParseSystemFileName(input));
  static_cast<void>(profile::ParseTimelineFileName(input));
}

void ProfilerConfigFile(std::string_view input) {
  config::Problems problems;
  auto parsed = profile::ProfilerConfig::Parse(input, &problems);
  for (const config::Problem &each : problems) Require(IsUtf8(each.what), "messages are UTF-8");
  if (!parsed.IsOk()) return;
  for (profile::ProfileWindow &each : parsed->windows) {
    static_cast<void>(each.Has(std::numeric_limits<int64_t>::max(), 0));
    static_cast<void>(each.Has(0, 1e9));
  }
  static_cast<void>(profile::LiteralToJson(input));
}

void ChromeTrace(std::string_view input) {
  storage::MemoryStore store;
  const auto added = profile::ImportTrace(input, "", store);
  if (added.IsOk()) Require(*added >= 0, "events are counted");
}

constexpr std::array kTargets = {
    Target{"timeline", Timeline}, Target{"profiler_config", ProfilerConfigFile},
    Target{"chrome_trace", ChromeTrace}, Target{"system_metrics", SystemMetrics}};

}  // namespace

std::span<const Target> ProfileTargets() { return kTargets; }

}  // namespace smdebug::fuzz
