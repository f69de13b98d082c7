#include "profile/trace_import.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/strings.h"
#include "profile/profile_files.h"
#include "profile/read_timeline.h"
#include "storage/memory_store.h"

namespace smdebug::profile {
namespace trace_import_test {

constexpr std::string_view kTrace =
    R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 7, "tid": 7, "ts": 100.5, "dur": 1000.0, "args": {"External id": 1}},
{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 7, "ts": 110.25, "dur": 20.75, "args": {"Sequence number": 1}},
{"ph": "X", "cat": "kernel", "name": "void add<float>()", "pid": 0, "tid": 13, "ts": 150.0, "dur": 2.5, "args": {"device": 1, "stream": 13}},
{"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}},
{"ph": "f", "id": 1, "pid": 0, "tid": 13, "ts": 150.0, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "name": "other", "pid": 7, "tid": "main", "ts": 5000, "dur": 1}
], "traceName": "t.json", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1706745580000000000}
)json";

// Returns the events of the store's timelines, one a line.
std::string EventsIn(storage::Store &store) {
  std::string all;
  const auto files = ListTimelineFiles(store);
  EXPECT_TRUE(files.IsOk());
  std::set<std::string> seen;  // a store in memory lists the files of inner folders twice
  for (const ProfileFile &file : *files) {
    if (!seen.insert(file.name).second) continue;
    auto text = store.ReadText(file.name);
    TimelineState state;
    TimelineFileReader reader(TextPieces(*std::move(text)), &state);
    TimelineEvent event;
    while (*reader.Next(&event)) {
      const auto start = static_cast<int64_t>(event.start) - 1'706'745'580'000'000;
      all += StrCat(event.phase, " ", event.name, " ", start, " ",
                    static_cast<int64_t>(event.duration), " ", event.step.value_or(-1), " ",
                    event.tid.value_or(-1), "\n");
    }
  }
  return all;
}

TEST(TraceImportTest, TakesTheEventsOfATrace) {
  storage::MemoryStore store;
  const auto added = ImportTrace(kTrace, "7-host", store);
  ASSERT_TRUE(added.IsOk()) << added.GetStatus().Message();
  EXPECT_EQ(*added, 4);
  EXPECT_EQ(EventsIn(store),
            "Step:ModeKeys.TRAIN ProfilerStep#3 101 1000 3 7\n"
            "cpu_functions aten::add 110 21 3 7\n"
            "gpu_functions-dev:1 void add<float>() 150 3 3 13\n"
            "python other 5000 1 -1 0\n");
}

TEST(TraceImportTest, TakesAPlainList) {
  storage::MemoryStore store;
  const auto added = ImportTrace(
      R"([{"ph": "X", "name": "a", "cat": "x", "ts": 1706745580000001, "dur": 2}, {"ph": "i"}])",
      "", store);
  ASSERT_TRUE(added.IsOk()) << added.GetStatus().Message();
  EXPECT_EQ(EventsIn(store), "x a 1 2 -1 0\n");
}

TEST(TraceImportTest, NamesWhatIsWrongAndAddsNothing) {
  const auto message = [](std::string_view text) {
    storage::MemoryStore store;
    const auto added = ImportTrace(text, "", store);
    EXPECT_EQ(added.GetStatus().GetCode(), Code::kCorruptData) << text;
    EXPECT_EQ(EventsIn(store), "");
    return added.IsOk() ? "" : added.GetStatus().Message();
  };
  for (size_t size = 0; size + 2 < kTrace.size(); size += 7) {
    EXPECT_NE(message(kTrace.substr(0, size)), "");
  }
  EXPECT_EQ(message("{}"),
            "is no trace in Chrome's format: it has no list \"traceEvents\" at byte 0");
  EXPECT_NE(message("hello").find("no JSON object"), std::string::npos);
  EXPECT_NE(message("[1]").find("an event is no JSON object"), std::string::npos);
  EXPECT_NE(message("[{}").find("cut off"), std::string::npos);
}

}  // namespace trace_import_test
}  // namespace smdebug::profile
