#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "profile/json_cursor.h"
#include "profile/profile_files.h"
#include "profile/read_system.h"
#include "profile/read_timeline.h"
#include "storage/memory_store.h"

namespace smdebug::profile::read_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kHead =
    R"({"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": 1000}},
)";

// "phase|name|start|duration|step|pid" of each event.
std::vector<std::string> Timeline(const std::string &text, Damage *damage = nullptr,
                                  TimelineState *state = nullptr) {
  TimelineState fresh;
  TimelineFileReader reader{TextPieces(text), state != nullptr ? state : &fresh};
  std::vector<std::string> events;
  TimelineEvent event;
  while (true) {
    const auto is_there = reader.Next(&event);
    EXPECT_TRUE(is_there.IsOk());
    if (!is_there.IsOk() || !*is_there) break;
    events.push_back(StrCat(event.phase, "|", event.name, "|", static_cast<int64_t>(event.start),
                            "|", static_cast<int64_t>(event.duration), "|", event.step.value_or(-1),
                            "|", event.pid.value_or(-1)));
  }
  if (damage != nullptr) *damage = reader.Damages();
  return events;
}

std::vector<double> Values(const std::string &text, Damage *damage) {
  SystemFileReader reader{TextPieces(text)};
  std::vector<double> values;
  SystemEvent event;
  while (true) {
    const auto is_there = reader.Next(&event);
    if (!is_there.IsOk() || !*is_there) break;
    values.push_back(event.value);
  }
  *damage = reader.Damages();
  return values;
}

std::string Line(const std::string &value) {
  return StrCat(R"({"Type":"cpu","Name":"cpu0","Dimension":"d","Value":)", value,
                R"(,"NodeId":"algo-1","Timestamp":1706745590.003})");
}

double NumberOf(std::string_view text) {
  double number = -1;
  JsonCursor cursor(text);
  EXPECT_TRUE(cursor.Number(&number)) << text;
  return number;
}

TEST(JsonCursor, NumbersAreThoseOfTheCLibrary) {
  for (const char *const text :
       {"0 ", "-0 ", "1706745590.003 ", "71.65 ", "-3.5e-3 ", "9007199254740993 ",
        "123456789012345678 ", "12345678901234567890123 ", "0.1234567890123456789 ", "1e308 ",
        "5e-324 ", "1e-400 "}) {
    EXPECT_EQ(NumberOf(text), std::strtod(text, nullptr)) << text;
  }
  EXPECT_TRUE(std::isnan(NumberOf("NaN ")));
  EXPECT_EQ(NumberOf("-Infinity "), -HUGE_VAL);
  EXPECT_EQ(NumberOf("1e999 "), HUGE_VAL);
}

TEST(JsonCursor, RefusesWhatIsNoNumber) {
  for (const char *const text : {"01 ", "+1 ", "1. ", ".5 ", "-x ", "nan ", "Inf ", "\"1\" "}) {
    double number = 0;
    EXPECT_FALSE(JsonCursor(text).Number(&number)) << text;
  }
}

TEST(JsonCursor, DecodesTexts) {
  JsonText text;
  EXPECT_TRUE(JsonCursor(R"("a\"\\\/\b\n\u0041\u00e9\ud83d\ude00\ud800x")").Text(&text));
  EXPECT_EQ(text.view, "a\"\\/\b\nA\u00e9\U0001F600\uFFFDx");
  EXPECT_TRUE(JsonCursor("\"a\xff\"").Text(&text));
  EXPECT_EQ(text.view, "a\uFFFD");
  for (const char *const bad : {R"("\x")", R"("\u12g4")", "\"a\nb\""}) {
    EXPECT_FALSE(JsonCursor(bad).Text(&text)) << bad;
  }
}

TEST(JsonCursor, ValuesNestOnlySoDeep) {
  std::string_view raw;
  EXPECT_TRUE(JsonCursor(std::string(60, '[') + std::string(60, ']')).Value(&raw));
  EXPECT_FALSE(JsonCursor(std::string(100000, '[')).Value(&raw));
}

TEST(JsonCursor, TextsOfEachLengthEndWhereTheyEnd) {
  for (size_t length = 0; length < 40; ++length) {
    const std::string plain(length, 'x');
    for (const std::string &special :
         {std::string("\\n"), std::string("\xC3\xA9"), std::string()}) {
      const std::string json = StrCat("\"", plain, special, "y\" ");
      JsonCursor cursor(json);
      JsonText text;
      ASSERT_TRUE(cursor.Text(&text));
      EXPECT_EQ(text.view, StrCat(plain, special == "\\n" ? "\n" : special, "y"));
      EXPECT_EQ(cursor.Rest(), " ");
      JsonCursor cut(std::string_view(json).substr(0, json.size() - 2));
      EXPECT_FALSE(cut.Text(&text));
      EXPECT_TRUE(cut.RanOut());
    }
  }
}

TEST(JsonCursor, TellsEachByteAtEachPlace) {
  for (int byte = 1; byte < 256; ++byte) {
    if (byte == '\\') continue;
    for (size_t place = 0; place < 18; ++place) {
      const std::string before(place, '~');
      const std::string json =
          StrCat("\"", before, std::string(1, static_cast<char>(byte)), "\"\\\"", before);
      JsonText text;
      ASSERT_EQ(JsonCursor(json).Text(&text), byte >= ' ') << byte << " at " << place;
      if (byte < ' ') continue;
      const std::string one = byte < 0x80 ? std::string(1, static_cast<char>(byte)) : "\uFFFD";
      ASSERT_EQ(text.view, StrCat(before, byte == '"' ? "" : one)) << byte << " at " << place;
    }
  }
}

TEST(JsonCursor, StaysWhenAnotherKeyIsNext) {
  JsonCursor cursor(R"( "a" : 1)");
  EXPECT_FALSE(cursor.Key(R"("b")"));
  EXPECT_FALSE(cursor.Key(R"("a": 1, "more")"));
  ASSERT_TRUE(cursor.Key(R"("a")"));
  EXPECT_EQ(cursor.Rest(), " 1");
  JsonCursor without(R"("a" 1)");
  EXPECT_FALSE(without.Key(R"("a")"));
  EXPECT_EQ(without.Offset(), 0U);
}

TEST(ReadSystem, MembersMayHaveAnyOrder) {
  Damage damage;
  EXPECT_THAT(
      Values(StrCat(R"({"Timestamp":1,"NodeId":"algo-1","Value":5,"Name":null,"Extra":[1],)",
                    R"("Dimension":"d","Type":"cpu"})", "\n", Line("6"), "\n",
                    R"({"Type":"cpu","Name":"a","Dimension":"d","Value":7,"NodeId":"algo-1",)",
                    R"("Timestamp":1,"Extra":1})", "\n"),
             &damage),
      ElementsAre(5, 6, 7));
  EXPECT_EQ(damage.count, 0U);
}

TEST(ReadTimeline, MembersMayHaveAnyOrder) {
  const std::string text = StrCat(
      "[\n", kHead,
      R"({"args": {"step_num": "4", "pid": 9}, "ts": 5, "dur": 2, "ph": "X", "pid": 0,)",
      R"( "name": "a"},)", "\n", R"({"name": "b", "pid": 0, "ph": "X", "ts": 6, "dur": 3},)", "\n",
      R"({"name": "c", "pid": 0, "ph": "X", "ts": 7, "dur": 4, "args": null},)", "\n",
      R"({"name": "d", "pid": 0, "tid": 3, "ph": "X", "ts": 8, "dur": 5, "args": {"step_num": "5"},)",
      R"( "more": 1},)", "\n",
      R"({"name": "e", "pid": 0, "tid": 3, "ph": "X", "ts": 9, "dur": 6, "args": {"pid": "8"}})",
      "\n]");
  Damage damage;
  EXPECT_THAT(Timeline(text, &damage),
              ElementsAre("Unknown|a|1005|2|4|9", "Unknown|b|1006|3|-1|0", "Unknown|c|1007|4|-1|0",
                          "Unknown|d|1008|5|5|0", "Unknown|e|1009|6|-1|8"));
  EXPECT_EQ(damage.count, 0U);
}

TEST(ReadSystem, SkipsAndCountsWhatIsNoMetric) {
  Damage damage;
  const std::string text = StrCat(Line("1"), "\n\nnonsense\n", Line("2.5"), "\r\n{}\n",
                                  Line("\"x\""), "\n", Line("3"), "\n");
  EXPECT_THAT(Values(text, &damage), ElementsAre(1, 2.5, 3));
  EXPECT_EQ(damage.count, 3U);
  EXPECT_EQ(damage.Describe("f.json").Message(), "f.json: line 3 is not a metric");
}

TEST(ReadSystem, ALineThatIsBeingWrittenIsNoDamage) {
  Damage damage;
  EXPECT_THAT(Values(StrCat(Line("1"), "\n", Line("2").substr(0, 30)), &damage), ElementsAre(1));
  EXPECT_EQ(damage.count, 0U);
  EXPECT_THAT(Values(StrCat(Line("1"), "\n", Line("2")), &damage), ElementsAre(1, 2));
  EXPECT_THAT(Values("", &damage), IsEmpty());
  EXPECT_EQ(damage.count, 0U);
}

TEST(ReadTimeline, ReadsWholeEventsAndPairs) {
  const std::string text =
      StrCat("[\n", kHead,
             R"({"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "Step"}},
{"name": "a", "pid": 1, "ph": "X", "ts": 5, "dur": 7, "args": {"step_num": "3", "pid": 314}},
{"name": "b", "pid": 1, "ph": "B", "ts": 10},
{"name": "c", "pid": 1, "ph": "B", "ts": 11, "tid": 5},
{"name": "b", "pid": 1, "ph": "E", "ts": 14},
{"pid": 1, "ph": "E", "ts": 19, "tid": 5, "args": {"step_num": 4}},
{"name": "i", "pid": 1, "ph": "i", "ts": 5},
{"name": "other", "pid": "p", "ph": "X", "ts": 5, "dur": 0}
])");
  Damage damage;
  EXPECT_THAT(Timeline(text, &damage),
              ElementsAre("Step|a|1005|7|3|314", "Step|b|1010|4|-1|1", "Step|c|1011|8|4|1",
                          "Unknown|other|1005|0|-1|-1"));
  EXPECT_EQ(damage.count, 0U) << damage.what;
}

TEST(ReadTimeline, APairMayLieInTwoFiles) {
  TimelineState state;
  Damage damage;
  EXPECT_THAT(Timeline(StrCat("[", kHead, R"({"name": "b", "pid": 1, "ph": "B", "ts": 10}])"),
                       &damage, &state),
              IsEmpty());
  EXPECT_THAT(Timeline(StrCat("[", kHead, R"({"pid": 1, "ph": "E", "ts": 30}])"), &damage, &state),
              ElementsAre("Unknown|b|1010|20|-1|1"));
  // Its beginning was used.
  EXPECT_THAT(Timeline(R"([{"pid": 1, "ph": "E", "ts": 40}])", &damage, &state), IsEmpty());
  EXPECT_EQ(damage.count, 0U);
}

TEST(ReadTimeline, SkipsAndCountsWhatIsBroken) {
  const std::string good = R"({"name": "a", "pid": 1, "ph": "X", "ts": 5, "dur": 7})";
  Damage damage;
  EXPECT_THAT(
      Timeline(StrCat("[\n", good, ",\n{\"name\": a},\n", good, ",\n12,\n", good, "\n]"), &damage),
      ElementsAre("Unknown|a|5|7|-1|1", "Unknown|a|5|7|-1|1", "Unknown|a|5|7|-1|1"));
  EXPECT_EQ(damage.count, 2U);
  EXPECT_EQ(damage.line, 3U);
  EXPECT_THAT(Timeline(StrCat("[\n", good, ",\n{\"name\": \"b\", \"pi"), &damage),
              ElementsAre("Unknown|a|5|7|-1|1"));
  EXPECT_EQ(damage.what, "is cut off");
  EXPECT_THAT(Timeline(StrCat("[\n", good), &damage), ElementsAre("Unknown|a|5|7|-1|1"));
  EXPECT_EQ(damage.count, 1U);
}

TEST(ReadTimeline, NamesWhatIsForeign) {
  Damage damage;
  EXPECT_THAT(Timeline(R"({"traceEvents": []})", &damage), IsEmpty());
  EXPECT_EQ(damage.Describe("f").Message(),
            "f: line 1 does not begin a timeline, which is a JSON array");
  EXPECT_THAT(Timeline("", &damage), IsEmpty());
  EXPECT_EQ(damage.what, "is empty");
  for (const char *const bad : {R"([{"name": "a", "pid": 1, "ph": "X", "ts": 1e999, "dur": 1}])",
                                R"([{"name": "a", "pid": 1, "ph": "X", "ts": 1, "dur": NaN}])",
                                R"([{"name": "a", "ph": "X", "ts": 1, "dur": 1}])",
                                R"([{"name": "a", "pid": 1, "ph": "X", "ts": 1}])"}) {
    EXPECT_THAT(Timeline(bad, &damage), IsEmpty()) << bad;
    EXPECT_EQ(damage.count, 1U) << bad;
  }
}

TEST(ReadTimeline, OpenEventsAreBounded) {
  std::string text = "[";
  for (size_t i = 0; i <= TimelineState::kMost; ++i) {
    text += R"({"name":"a","pid":1,"ph":"B","ts":1},)";
  }
  Damage damage;
  EXPECT_THAT(Timeline(text + "{}]", &damage), IsEmpty());
  EXPECT_EQ(damage.count, 1U);
}

TEST(ReadTimeline, AnEventMayCrossPieces) {
  storage::MemoryStore store;
  const std::string name(3 << 20, 'n');
  store.Put("f", StrCat(R"([{"name": ")", name, R"(", "pid": 1, "ph": "X", "ts": 1, "dur": 2}])"));
  auto file = store.Open("f");
  ASSERT_TRUE(file.IsOk());
  TimelineState state;
  TimelineFileReader reader{TextPieces(*std::move(file)), &state};
  TimelineEvent event;
  const auto is_there = reader.Next(&event);
  ASSERT_TRUE(is_there.IsOk() && *is_there);
  EXPECT_EQ(event.name, name);
}

TEST(ProfileFiles, NamesSayNodeKindAndTime) {
  const auto timeline =
      ParseTimelineFileName("framework/pevents/2024013123/1706_314-algo-1_pythontimeline.json");
  ASSERT_TRUE(timeline);
  EXPECT_EQ(timeline->node, "algo-1-314");
  EXPECT_EQ(timeline->type, "PythontimelineMetrics");
  EXPECT_EQ(timeline->stamp, 1706);
  const auto system = ParseSystemFileName("system/incremental/2024013123/1706745540.host.a.json");
  ASSERT_TRUE(system);
  EXPECT_EQ(system->node, "host.a");
  EXPECT_EQ(system->stamp, 1706745540000000);
  for (const char *const other :
       {"a/1706_n_x.json", "a/x_n_pythontimeline.json", "a/_n_pythontimeline.json", "1706_.json",
        "a/99999999999999999999_n_pythontimeline.json", ""}) {
    EXPECT_FALSE(ParseTimelineFileName(other)) << other;
  }
  for (const char *const other : {"s/170674554.algo-1.json", "s/1706745540.json", "s/1706745540",
                                  "s/1706745540.algo-1.json.tmp", "s/x706745540.algo-1.json"}) {
    EXPECT_FALSE(ParseSystemFileName(other)) << other;
  }
}

TEST(ProfileFiles, AreListedByTime) {
  storage::MemoryStore store;
  for (const char *const name :
       {"system/incremental/2024020100/1706745600.algo-1.json",
        "system/incremental/2024013123/1706745540.algo-2.json",
        "system/incremental/2024013123/1706745540.algo-1.json", "system/training_job_end.ts",
        "framework/1_pythontimeline.json.tmp"}) {
    store.Put(name, "");
  }
  const auto files = ListSystemFiles(store);
  ASSERT_TRUE(files.IsOk());
  // This store lists the files of inner folders too.
  std::vector<std::string> names;
  for (const ProfileFile &file : *files) names.push_back(file.name.substr(19));
  names.erase(std::unique(names.begin(), names.end()), names.end());
  EXPECT_THAT(names,
              ElementsAre("2024013123/1706745540.algo-1.json", "2024013123/1706745540.algo-2.json",
                          "2024020100/1706745600.algo-1.json"));
}

}  // namespace
}  // namespace smdebug::profile::read_test
