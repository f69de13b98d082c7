#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tables/runs.h"

namespace smdebug::tables::profile_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char *kTimeline = R"([
{"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": 1706745580000000}},
{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "Forward"}},
{"name": "f", "pid": 1, "ph": "X", "ts": 100, "dur": 50, "args": {"step_num": "0", "pid": 314}},
{"name": "f", "pid": 1, "ph": "X", "ts": 200, "dur": 50, "args": {"step_num": "1", "pid": 314}},
{"name": "g", "pid": 1, "ph": "X", "ts": 300, "dur": 50}
])";
constexpr const char *kMetrics =
    R"({"Type":"cpu","Name":"cpu0","Dimension":"CPUUtilization","Value":50.5,"NodeId":"algo-1","Timestamp":1706745590.5}
{"Type":"memory","Name":null,"Dimension":"Used","Value":2,"NodeId":"algo-1","Timestamp":1706745591}
)";

class ProfileTest : public testing::Test {
 protected:
  ProfileTest() { Put("a"); }

  void Put(const std::string &trial) {
    const auto write = [&](const char *name, const char *text) {
      runs_.Folder().Write(trial + name, text);
    };
    write("/framework/pevents/2024013123/1706745580000350_314-algo-1_pythontimeline.json",
          kTimeline);
    write("/system/incremental/2024013123/1706745540.algo-1.json", kMetrics);
  }
  std::vector<std::string> Scan(Table table, const std::vector<std::string> &options) {
    return Rows::Of(table, runs_.Path(), options, &log_);
  }

  Runs runs_;
  std::vector<std::string> log_;
};

TEST_F(ProfileTest, ReturnsEventsAndSamples) {
  EXPECT_THAT(Scan(Table::kProfileEvents, {}),
              ElementsAre("a|algo-1-314|PythontimelineMetrics|Forward|f|0|1706745580000100|50|314|-"
                          "|1|{\"step_num\": \"0\", \"pid\": 314}",
                          "a|algo-1-314|PythontimelineMetrics|Forward|f|1|1706745580000200|50|314|-"
                          "|1|{\"step_num\": \"1\", \"pid\": 314}",
                          "a|algo-1-314|PythontimelineMetrics|Forward|g|-|1706745580000300|50|1|-"
                          "|1|-"));
  EXPECT_THAT(Scan(Table::kSystemMetrics, {}),
              ElementsAre("a|algo-1|cpu|cpu0|CPUUtilization|50.5|1706745590500000",
                          "a|algo-1|memory|-|Used|2|1706745591000000"));
}

TEST_F(ProfileTest, ConditionsNarrowEvents) {
  const std::vector<std::string> columns = {"column", "name", "column", "step"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), columns.begin(), columns.end());
    return Scan(Table::kProfileEvents, more);
  };
  EXPECT_THAT(with({}), ElementsAre("f|0", "f|1", "g|-"));
  EXPECT_THAT(with({"first", "1"}), ElementsAre("f|1"));
  EXPECT_THAT(with({"tensor", "g"}), ElementsAre("g|-"));
  EXPECT_THAT(with({"regex", "^f"}), ElementsAre("f|0", "f|1"));
  EXPECT_THAT(with({"worker", "algo-2-314"}), IsEmpty());
  EXPECT_THAT(with({"file", "horovod_timeline.json"}), IsEmpty());
  EXPECT_THAT(with({"file", "pythontimeline.json"}), SizeIs(3));
  EXPECT_THAT(with({"time_first", "1706745580000251", "time_end", "1706745580000301"}),
              ElementsAre("g|-"));
  EXPECT_THAT(with({"time_end", "-9223372036854775808"}), IsEmpty());
}

TEST_F(ProfileTest, FindsProfilesBelowFoldersAndNotInTrials) {
  runs_.PutTrial("job/debug-output", 1);
  Put("job/profiler-output");
  EXPECT_THAT(Scan(Table::kSystemMetrics, {"column", "trial", "tensor", "cpu0"}),
              ElementsAre("a", "job/profiler-output"));
  const Status none =
      Rows::Of(Rows::RequestFor(Table::kSystemMetrics, runs_.Path() + "/job/debug-output", {}))
          .GetStatus();
  EXPECT_EQ(none.GetCode(), Code::kNotFound);
  EXPECT_THAT(none.Message(), HasSubstr("no profiler folder"));
}

TEST_F(ProfileTest, DamageIsLoggedOrFails) {
  const std::string name = "a/system/incremental/2024013123/1706745600.algo-1.json";
  runs_.Folder().Write(name, std::string(kMetrics) + "x\ny\n" + kMetrics);
  EXPECT_THAT(Scan(Table::kSystemMetrics, {}), SizeIs(6));
  EXPECT_THAT(
      log_,
      ElementsAre(HasSubstr(name + ": line 3 is not a metric; skipped, and so were 1 others")));
  const Status failed =
      Rows::Of(Rows::RequestFor(Table::kSystemMetrics, runs_.Path(), {"damage", "fail"}))
          .GetStatus();
  EXPECT_EQ(failed.GetCode(), Code::kCorruptData);
}

TEST_F(ProfileTest, BatchesAreBounded) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += kMetrics;
  runs_.Folder().Write("a/system/incremental/2024013123/1706745540.algo-1.json", text);
  const auto stream =
      OpenScan(Rows::RequestFor(Table::kSystemMetrics, runs_.Path(), {"batch_rows", "100"}));
  ASSERT_TRUE(stream.IsOk());
  size_t rows = 0;
  while (true) {
    const auto batch = (*stream)->Next();
    ASSERT_TRUE(batch.IsOk());
    if (!*batch) break;
    EXPECT_LE((*batch)->rows, 356U);
    rows += (*batch)->rows;
  }
  EXPECT_EQ(rows, 2000U);
}

}  // namespace
}  // namespace smdebug::tables::profile_test
