#include "profile/system_facts.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/strings.h"
#include "profile/gpu_reader.h"

namespace smdebug::profile {
namespace system_facts_test {

double ValueOf(const std::vector<Metric> &metrics, std::string_view name,
               std::string_view dimension = "") {
  for (const Metric &each : metrics) {
    if (each.name == name && each.dimension == dimension) return each.value;
  }
  ADD_FAILURE() << "no " << name << " " << dimension;
  return -1;
}

TEST(SystemFactsTest, ComputeSharesOfCpus) {
  SystemCounters before;
  SystemCounters after;
  before.cpus =
      ParseCpus("cpu  9 9 9 9 9\ncpu0 100 0 0 800 100 0 0 0 50 0\ncpu1 1 1 1 1 1\nintr 5");
  after.cpus = ParseCpus("cpu0 130 0 10 850 110 0 0 0 99 0\ncpu1 1 1 1 1 1\ncpu2 5 5 5 5 5\n");
  ASSERT_EQ(before.cpus.size(), 2U);
  const std::vector<Metric> metrics = MetricsBetween(before, after, 1);
  EXPECT_DOUBLE_EQ(ValueOf(metrics, "cpu0", "CPUUtilization"), 40);
  EXPECT_DOUBLE_EQ(ValueOf(metrics, "cpu0", "I/OWaitPercentage"), 10);
  EXPECT_DOUBLE_EQ(ValueOf(metrics, "cpu1", "CPUUtilization"), 0) << "no tick has passed";
  EXPECT_EQ(metrics[2].name, "cpu0") << "cpu2 is new, so nothing is known of it";
}

TEST(SystemFactsTest, CountDisksAndNetworksOnce) {
  SystemCounters counters;
  ParseDisks(
      "   8       0 sda 10 0 4 0 20 0 8 0 0 0 0\n"
      "   8       1 sda1 10 0 4 0 20 0 8 0 0 0 0\n"
      " 259       0 nvme0n1 1 0 2 0 3 0 4 0 0 0 0\n"
      " 259       1 nvme0n1p1 1 0 2 0 3 0 4 0 0 0 0\n"
      "   7       0 loop0 9 9 9 9 9 9 9 9 9 9 9\n 253 0 dm-0 9 9 9 9 9 9 9\n vda\n",
      &counters);
  EXPECT_EQ(counters.disk_operations, 34U);
  EXPECT_EQ(counters.disk_bytes_read, 6 * 512U);
  EXPECT_EQ(counters.disk_bytes_written, 12 * 512U);
  ParseNetwork(
      "Inter-|   Receive  |  Transmit\n face |bytes\n"
      "    lo: 99 0 0 0 0 0 0 0 99 0 0 0 0 0 0 0\n"
      "  eth0:1000 0 0 0 0 0 0 0 500 0 0 0 0 0 0 0\n",
      &counters);
  EXPECT_EQ(counters.network_bytes_received, 1000U);
  EXPECT_EQ(counters.network_bytes_sent, 500U);
  SystemCounters later = counters;
  later.disk_operations += 3;
  later.disk_bytes_read += 1024;
  later.disk_bytes_written += 512;
  later.network_bytes_received += 100;
  later.network_bytes_sent = 0;
  const std::vector<Metric> metrics = MetricsBetween(counters, later, 0.5);
  EXPECT_DOUBLE_EQ(ValueOf(metrics, "ReceiveBytesPerSecond", "Algorithm"), 200);
  EXPECT_DOUBLE_EQ(ValueOf(metrics, "TransmitBytesPerSecond", "Algorithm"), 0) << "it was reset";
  EXPECT_DOUBLE_EQ(ValueOf(metrics, "IOPS", ""), 6);
  EXPECT_DOUBLE_EQ(ValueOf(metrics, "ReadThroughputInBytesPerSecond", ""), 2048);
  EXPECT_DOUBLE_EQ(ValueOf(metrics, "WriteThroughputInBytesPerSecond", ""), 1024);
}

TEST(SystemFactsTest, MemoryMayBeUnknown) {
  EXPECT_DOUBLE_EQ(*ParseMemory("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n"), 75);
  EXPECT_FALSE(ParseMemory(""));
  EXPECT_FALSE(ParseMemory("MemTotal: 0 kB\nMemAvailable: 0 kB\n"));
  EXPECT_FALSE(ParseMemory("MemTotal: many kB\nMemAvailable: 5 kB\n"));
}

TEST(SystemFactsTest, TheProcessHasMemoryAndWaitsForCores) {
  SystemCounters before;
  before.core_wait = ParseCoreWait("893826 2000000000 2\n");
  SystemCounters after;
  after.core_wait = ParseCoreWait("993826 2100000000 9\n");
  after.resident_bytes = ParseResident("9000 250 99 1 0 5 0\n", 4096);
  const std::vector<Metric> metrics = MetricsBetween(before, after, 0.5);
  EXPECT_DOUBLE_EQ(ValueOf(metrics, "CoreWaitPercentage"), 20);
  EXPECT_DOUBLE_EQ(ValueOf(metrics, "ResidentBytes"), 250 * 4096.0);
  for (const char *text : {"", "7", "x 7", "1 -7"}) {
    EXPECT_FALSE(ParseCoreWait(text)) << text;
    EXPECT_FALSE(ParseResident(text, 4096)) << text;
  }
  EXPECT_FALSE(ParseResident("1 18446744073709551615", 4096)) << "more than there are numbers for";
}

TEST(SystemFactsTest, SkipWhatTheyDoNotUnderstand) {
  SystemCounters counters;
  for (const char *text : {"", "\n\n", "cpu", "cpu0", "cpu0 1 2 3", "cpux 1 2 3 4 5", ":",
                           "a:", "cpu0 99999999999999999999999 1 1 1 1", "8 0", "8 0 sda x y z"}) {
    EXPECT_TRUE(ParseCpus(text).empty()) << text;
    ParseDisks(text, &counters);
    ParseNetwork(text, &counters);
  }
  EXPECT_EQ(counters.disk_operations, 0U);
  EXPECT_TRUE(ReadSystem("/missing").cpus.empty());
}

TEST(SystemFactsTest, LinesAreThoseOfTheOriginal) {
  std::string lines;
  AppendSystemLines(
      {{"cpu", "cpu0", "I/OWaitPercentage", 2.345}, {"memory", "MemoryUsedPercent", "", 40}},
      "algo-1", 1706745585.5, &lines);
  EXPECT_EQ(lines, R"({"Type":"cpu","Name":"cpu0","Dimension":"I/OWaitPercentage","Value":2.35,)"
                   R"("NodeId":"algo-1","Timestamp":1706745585.500000})"
                   "\n"
                   R"({"Type":"memory","Name":"MemoryUsedPercent","Dimension":"","Value":40.00,)"
                   R"("NodeId":"algo-1","Timestamp":1706745585.500000})"
                   "\n");
}

TEST(SystemFactsTest, OfThisMachineMakeSense) {
  const SystemCounters counters = ReadSystem("/proc");
  ASSERT_TRUE(counters.memory_percent);
  EXPECT_GT(*counters.memory_percent, 0);
  EXPECT_LE(*counters.memory_percent, 100);
  ASSERT_TRUE(counters.resident_bytes);
  EXPECT_GT(*counters.resident_bytes, 100'000U);
}

TEST(GpuReaderTest, SaysWhyThereAreNone) {
  const auto missing = GpuReader::Open("libno-such-library.so.9");
  EXPECT_EQ(missing.GetStatus().GetCode(), Code::kNotFound);
  EXPECT_NE(missing.GetStatus().Message().find("libno-such-library.so.9"), std::string::npos);
  EXPECT_EQ(GpuReader::Open("libc.so.6").GetStatus().GetCode(), Code::kUnsupported);
}

}  // namespace system_facts_test
}  // namespace smdebug::profile
