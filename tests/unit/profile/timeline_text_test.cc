#include "profile/timeline_text.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/strings.h"
#include "profile/json_text.h"

namespace smdebug::profile {
namespace timeline_text_test {

constexpr int64_t kBase = 1'706'745'580'000'000;

Event Complete(std::string_view name, std::string_view phase, int64_t begin, int64_t duration) {
  Event event;
  event.name = name;
  event.phase = phase;
  event.begin_us = kBase + begin;
  event.duration_us = duration;
  event.thread = 7;
  return event;
}

class TimelineTextTest : public testing::Test {
 protected:
  // Returns the lines after the two of the file's beginning.
  std::vector<std::string> Lines() {
    const std::string file = text_ + std::string(TimelineText::End());
    const auto document = JsonDocument::Parse(file);
    EXPECT_TRUE(document.IsOk()) << document.GetStatus().Message() << file;
    std::vector<std::string> lines = SplitList(file, '\n');
    EXPECT_EQ(lines.front(), "[");
    EXPECT_EQ(lines.back(), "]");
    return {lines.begin() + 3, lines.end() - 1};
  }

  TimelineText events_{kBase, 314};
  std::string text_ = events_.Begin();
};

TEST_F(TimelineTextTest, BeginsAsTheOriginalsFilesDo) {
  EXPECT_EQ(text_,
            "[\n"
            R"({"name": "process_name", "ph": "M", "pid": 0, "args": )"
            R"({"start_time_since_epoch_in_micros": 1706745580000000}},)"
            "\n"
            R"({"name": "process_sort_index", "ph": "M", "pid": 0, "args": {"sort_index": 0}})");
}

TEST_F(TimelineTextTest, NamesAPhaseOncePerFile) {
  for (const std::string_view phase : {"Forward", "Step:ModeKeys.TRAIN", "Forward"}) {
    Event event = Complete("e", phase, 12, 900);
    event.step = 3;
    EXPECT_TRUE(events_.Add(event, &text_));
  }
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 7U) << text_;
  EXPECT_EQ(lines[0],
            R"({"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "Forward"}},)");
  EXPECT_EQ(lines[2], R"({"name": "e", "pid": 0, "tid": 7, "ph": "X", "ts": 12, "dur": 900, )"
                      R"("args": {"step_num": "3", "pid": 314}},)");
  EXPECT_EQ(lines[4],
            R"({"name": "process_sort_index", "ph": "M", "pid": 1, "args": {"sort_index": 1}},)");
  EXPECT_EQ(events_.LastEnd(), kBase + 912);

  text_ = events_.Begin();
  EXPECT_TRUE(events_.Add(Complete("e", "Step:ModeKeys.TRAIN", 0, 1), &text_));
  EXPECT_NE(Lines()[0].find(R"("pid": 1, "args": {"name": "Step:ModeKeys.TRAIN"})"),
            std::string::npos)
      << "the number of a phase is that of the first file";
}

TEST_F(TimelineTextTest, PairsNestedAndOverlappingEventsOfThreads) {
  const auto add = [&](EventKind kind, std::string_view name, int32_t thread, int64_t at) {
    Event event = Complete(name, "Forward", at, 0);
    event.kind = kind;
    event.thread = thread;
    return events_.Add(event, &text_);
  };
  EXPECT_TRUE(add(EventKind::kBegin, "outer", 1, 0));
  EXPECT_TRUE(add(EventKind::kBegin, "other", 2, 5));
  EXPECT_TRUE(add(EventKind::kBegin, "inner", 1, 10));
  EXPECT_TRUE(add(EventKind::kEnd, "end", 1, 20));
  EXPECT_TRUE(add(EventKind::kEnd, "end", 1, 30));
  EXPECT_TRUE(add(EventKind::kEnd, "end", 2, 40));
  EXPECT_FALSE(add(EventKind::kEnd, "end", 2, 50)) << "nothing is open";
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_NE(lines[2].find(R"("inner", "pid": 0, "tid": 1, "ph": "X", "ts": 10, "dur": 10)"),
            std::string::npos);
  EXPECT_NE(lines[3].find(R"("outer", "pid": 0, "tid": 1, "ph": "X", "ts": 0, "dur": 30)"),
            std::string::npos);
  EXPECT_NE(lines[4].find(R"("other", "pid": 0, "tid": 2, "ph": "X", "ts": 5, "dur": 35)"),
            std::string::npos);
}

TEST_F(TimelineTextTest, ShowsEventsThatDidNotEnd) {
  Event event = Complete("stuck", "Forward", 4, 0);
  event.kind = EventKind::kBegin;
  EXPECT_TRUE(events_.Add(event, &text_));
  EXPECT_TRUE(events_.HasOpen());
  EXPECT_EQ(events_.AddOpen(&text_), 1);
  EXPECT_FALSE(events_.HasOpen());
  EXPECT_NE(Lines()[2].find(R"("stuck", "pid": 0, "tid": 7, "ph": "B", "ts": 4)"),
            std::string::npos);
}

TEST_F(TimelineTextTest, EscapesTextsAndMergesArguments) {
  Event event = Complete("a \"b\"\n\xc3\xa9\xff", "Forward", 0, 1);
  event.args = "{ \"pid\": 9,\n \"layer\": \"\xc3\xa9\\n\", \"list\": [1, {}] }";
  ASSERT_TRUE(IsJsonObject(event.args));
  EXPECT_TRUE(events_.Add(event, &text_));
  event.args = "{}";
  event.kind = EventKind::kInstant;
  EXPECT_TRUE(events_.Add(event, &text_));
  const std::vector<std::string> lines = Lines();
  EXPECT_NE(lines[2].find(R"("a \"b\"\n\u00e9\ufffd")"), std::string::npos) << lines[2];
  EXPECT_NE(lines[2].find(R"({"pid": 314, "pid": 9,  "layer": "\u00e9\n", "list": [1, {}]}})"),
            std::string::npos)
      << lines[2];
  EXPECT_NE(lines[3].find(R"("ph": "i", "ts": 0, "s": "t", "args": {"pid": 314}})"),
            std::string::npos)
      << lines[3];
}

TEST_F(TimelineTextTest, BoundsPhasesAndOpenEvents) {
  for (int i = 0; i < 10'000; ++i) {
    const std::string phase = StrCat("phase", i);
    EXPECT_TRUE(events_.Add(Complete("e", phase, 0, 1), &text_));
  }
  EXPECT_FALSE(events_.Add(Complete("e", "one more", 0, 1), &text_));
  Event event = Complete("e", "phase1", 0, 1);
  event.kind = EventKind::kBegin;
  int open = 0;
  while (open < 5000 && events_.Add(event, &text_)) ++open;
  EXPECT_EQ(open, 1000);
}

TEST(JsonObjectTest, AcceptsObjectsOnly) {
  for (const char *good : {"{}", " { } ", R"({"a": 1})", R"({"a":-0.5e+3,"b":[true,false,null]})",
                           R"({"a":{"b":{"c":[[]]}},"d":"\u00e9\\\""})"}) {
    EXPECT_TRUE(IsJsonObject(good)) << good;
    EXPECT_TRUE(JsonDocument::Parse(good).IsOk()) << good;
  }
  for (const char *bad : {"",
                          "{",
                          "}",
                          "[]",
                          "1",
                          "{}}",
                          "{} {}",
                          "{,}",
                          R"({"a"})",
                          R"({"a":})",
                          R"({"a":01})",
                          R"({"a":1,})",
                          R"({a:1})",
                          R"({"a":"})",
                          R"({"a":"\x"})",
                          R"({"a":"\u12"})",
                          R"({"a":.5})",
                          R"({"a":1.})",
                          R"({"a":NaN})",
                          "{\"a\":\"\n\"}",
                          "{\"a\":\"\xff\"}",
                          "{'a': 1}"}) {
    EXPECT_FALSE(IsJsonObject(bad)) << bad;
  }
  std::string deep = R"({"a":)";
  for (int i = 0; i < 20; ++i) deep += '[';
  EXPECT_FALSE(IsJsonObject(deep));
}

TEST(EventBufferTest, ReturnsCopiesInOrder) {
  EventBuffer buffer;
  for (int i = 0; i < 3; ++i) {
    const std::string name = StrCat("event", i);
    Event event = Complete(name, "phase", i, 10);
    event.args = i == 1 ? "{}" : "";
    event.step = i;
    buffer.Add(event);
  }
  EventBuffer taken;
  taken.Swap(&buffer);
  EXPECT_TRUE(buffer.IsAtEnd());
  for (int i = 0; i < 3; ++i) {
    const auto event = taken.Next();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->name, StrCat("event", i));
    EXPECT_EQ(event->phase, "phase");
    EXPECT_EQ(event->args, i == 1 ? "{}" : "");
    EXPECT_EQ(event->step, i);
    EXPECT_EQ(event->thread, 7);
    EXPECT_EQ(event->duration_us, 10);
  }
  EXPECT_FALSE(taken.Next());
  taken.Clear();
  EXPECT_EQ(taken.Size(), 0U);
}

}  // namespace timeline_text_test
}  // namespace smdebug::profile
