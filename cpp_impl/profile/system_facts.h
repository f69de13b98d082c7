// What the kernel counts about the machine, and what changed between two readings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smdebug::profile {

// One line of a system file.
struct Metric {
  std::string type;
  std::string name;
  std::string dimension;
  double value = 0;
};

struct CpuTimes {
  std::string name;  // "cpu0"
  uint64_t total = 0;
  uint64_t idle = 0;  // without waits for input and output
  uint64_t io_wait = 0;
};

struct SystemCounters {
  std::vector<CpuTimes> cpus;
  std::optional<double> memory_percent;
  uint64_t disk_operations = 0;
  uint64_t disk_bytes_read = 0;
  uint64_t disk_bytes_written = 0;
  uint64_t network_bytes_received = 0;
  uint64_t network_bytes_sent = 0;
  // Of this process.
  std::optional<uint64_t> resident_bytes;
  std::optional<uint64_t> core_wait;  // nanoseconds in which the main thread waited for a core
};

// Parse the files of /proc.  Lines that they do not understand are skipped.
std::vector<CpuTimes> ParseCpus(std::string_view stat);
std::optional<double> ParseMemory(std::string_view meminfo);
void ParseDisks(std::string_view diskstats, SystemCounters *out);
void ParseNetwork(std::string_view dev, SystemCounters *out);
std::optional<uint64_t> ParseResident(std::string_view statm, uint64_t page_size);
std::optional<uint64_t> ParseCoreWait(std::string_view schedstat);

// Reads the files below `proc`.  What cannot be read stays empty.
SystemCounters ReadSystem(const std::string &proc);

// Returns the metrics of the time between two readings, `seconds` apart.  A counter that decreased
// counts as unchanged.
std::vector<Metric> MetricsBetween(const SystemCounters &before, const SystemCounters &after,
                                   double seconds);

// Appends the lines of a system file.
void AppendSystemLines(const std::vector<Metric> &metrics, std::string_view node, double timestamp,
                       std::string *out);

}  // namespace smdebug::profile
