#include "profile/file_names.h"

#include <gtest/gtest.h>

#include "profile/leftovers.h"
#include "profile/profiler_options.h"

namespace smdebug::profile {
namespace file_names_test {

TEST(FileNamesTest, AreThoseOfTheOriginal) {
  EXPECT_EQ(TimelineName(1'706'745'596'693'122, "314-algo-1"),
            "framework/pevents/2024013123/1706745596693122_314-algo-1_pythontimeline.json");
  EXPECT_EQ(SystemName(1'706'745'540, "algo-1"),
            "system/incremental/2024013123/1706745540.algo-1.json");
  EXPECT_EQ(SystemName(60, "algo-1"), "system/incremental/1970010100/0000000060.algo-1.json");
}

TEST(FileNamesTest, OfOpenFilesNameTheirNode) {
  EXPECT_EQ(TimelineTemporaryName(5, "3-host"), "framework/3-host_5_pythontimeline.json.tmp");
  EXPECT_EQ(NodeOfTimeline("3-host_5_pythontimeline.json.tmp"), "3-host");
  EXPECT_EQ(NodeOfSystem("algo-1_5_system.json.tmp"), "algo-1");
  for (const char *other : {"", ".tmp", "x.tmp", "_5_pythontimeline.json.tmp",
                            "a_b_pythontimeline.json.tmp", "a/b_5_pythontimeline.json.tmp",
                            "3-host_pythontimeline.json.tmp", "3_5_model_timeline.json.tmp"}) {
    EXPECT_FALSE(NodeOfTimeline(other)) << other;
  }
  EXPECT_FALSE(NodeOfSystem("host_5_system.json.tmp")) << "readers would skip it";
}

TEST(FileNamesTest, RefuseNodesThatLeaveTheFolder) {
  for (const char *bad : {"", "a/b", "../x", "a b", "a\nb", "\xc3\xa9"}) {
    EXPECT_EQ(CheckNode(bad).GetCode(), Code::kInvalidConfig) << bad;
  }
  EXPECT_FALSE(CheckNode(std::string_view("a\0b", 3)).IsOk());
  EXPECT_FALSE(CheckNode(std::string(201, 'a')).IsOk());
  EXPECT_TRUE(CheckNode("0_algo-1.local").IsOk());
  EXPECT_EQ(NodeInNames("0_algo_1"), "0-algo-1");
  EXPECT_TRUE(CheckNode(DefaultNode()).IsOk()) << DefaultNode();
  EXPECT_EQ(DefaultNode().find('_'), std::string::npos) << "readers split names there";
  EXPECT_TRUE(IsSystemNode(DefaultSystemNode()));
  for (const char *bad : {"algo-", "algo-x", "host", "algo-1/..", "algo-12345678901"}) {
    EXPECT_FALSE(IsSystemNode(bad)) << bad;
  }
}

TEST(LeftoversTest, KeepTheCompleteLines) {
  const std::string begin =
      "[\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": "
      "{\"start_time_since_epoch_in_micros\": 1000}}";
  const std::string event = "{\"name\": \"e\", \"pid\": 0, \"ph\": \"X\", \"ts\": 10, \"dur\": 5}";
  const auto torn = CompleteTimeline(begin + ",\n" + event + ",\n{\"name\": \"t");
  ASSERT_TRUE(torn);
  EXPECT_EQ(torn->text, begin + ",\n" + event + "\n]");
  EXPECT_EQ(torn->stamp, 1015);
  const auto whole = CompleteTimeline(begin + ",\n" + event + "\n]");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->text, torn->text);
  EXPECT_FALSE(CompleteTimeline(begin)) << "no event";
  for (const char *bad : {"", "[", "{}", "[\n[]", "[\n1,\n2", "[\n{\"ph\": 1}\n]"}) {
    EXPECT_FALSE(CompleteTimeline(bad)) << bad;
  }
}

TEST(LeftoversTest, KeepTheCompleteSamples) {
  const std::string line = "{\"Type\":\"cpu\",\"Timestamp\":1706745585.5}\n";
  const auto torn = CompleteSystemFile(line + line + "{\"Type\":\"cp");
  ASSERT_TRUE(torn);
  EXPECT_EQ(torn->text, line + line);
  EXPECT_EQ(torn->stamp, 1706745540);
  for (const char *bad : {"", "\n", "{}\n", "{\"Timestamp\":\"x\"}\n", "{\"Timestamp\":-1}\n",
                          "{\"Timestamp\":1e300}\n", "{\"Timestamp\":1}"}) {
    EXPECT_FALSE(CompleteSystemFile(bad)) << bad;
  }
}

TEST(ProfilerOptionsTest, AreSetByName) {
  ProfilerOptions options;
  EXPECT_TRUE(options.Set("node", "0_algo-1").IsOk());
  EXPECT_EQ(*options.Get("node"), "0-algo-1");
  EXPECT_TRUE(options.Set("sample_milliseconds", "500").IsOk());
  EXPECT_EQ(*options.Get("sample_milliseconds"), "500");
  EXPECT_TRUE(options.Set("rotate_seconds", "1.5").IsOk());
  EXPECT_EQ(*options.Get("rotate_seconds"), "1.5");
  EXPECT_TRUE(options.Set("s3_region", "eu-west-1").IsOk());
  for (const auto &[name, value] : std::vector<std::pair<const char *, const char *>>{
           {"node", "../x"},
           {"system_node", "host"},
           {"sample_milliseconds", "300"},
           {"rotate_bytes", "0"},
           {"rotate_bytes", "many"},
           {"rotate_seconds", "nan"},
           {"rotate_seconds", "1e9"},
           {"buffer_bytes", "-1"},
           {"sample_gpus", "perhaps"},
           {"update_seconds", "-1"},
           {"close_seconds", "-1"},
           {"buffer_bytes", "99999999999999999999"}}) {
    EXPECT_EQ(options.Set(name, value).GetCode(), Code::kInvalidConfig) << name << " " << value;
  }
  const Status unknown = options.Set("rotate_byte", "1");
  EXPECT_EQ(unknown.GetCode(), Code::kInvalidArgument);
  EXPECT_NE(unknown.Message().find("rotate_bytes"), std::string::npos);
  EXPECT_EQ(options.Get("none").GetStatus().GetCode(), Code::kInvalidArgument);
}

}  // namespace file_names_test
}  // namespace smdebug::profile
