#include "profile/system_facts.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/small_file.h"
#include "base/strings.h"
#include "profile/json_text.h"

namespace smdebug::profile {
namespace {

constexpr uint64_t kSector = 512;  // in the kernel's counters, whatever the disk has

template <class Use>
void ForEachLine(std::string_view text, Use use) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string_view TakeWord(std::string_view *line) {
  line->remove_prefix(std::min(line->find_first_not_of(" \t"), line->size()));
  const std::string_view word = line->substr(0, line->find_first_of(" \t"));
  line->remove_prefix(word.size());
  return word;
}

// Returns the numbers at the beginning of the line.
std::vector<uint64_t> Numbers(std::string_view line) {
  std::vector<uint64_t> numbers;
  while (true) {
    const std::string_view word = TakeWord(&line);
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (word.empty() || error != std::errc() || end != word.data() + word.size()) return numbers;
    numbers.push_back(number);
  }
}

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }

// Returns true for a whole disk: a part, or a device made of others, would be counted twice.
bool IsWholeDisk(std::string_view name) {
  for (const std::string_view each : {"loop", "ram", "zram", "dm-", "md", "sr", "fd"}) {
    if (name.starts_with(each)) return false;
  }
  if (name.empty() || !IsDigit(name.back())) return !name.empty();
  const size_t stem = name.find_last_not_of("0123456789") + 1;
  // nvme0n1 and mmcblk0 are disks; nvme0n1p1, mmcblk0p1 and sda1 are parts.
  const bool has_numbered_disks = name.starts_with("nvme") || name.starts_with("mmcblk");
  return has_numbered_disks && stem > 0 && name[stem - 1] != 'p';
}

uint64_t Grown(uint64_t before, uint64_t after) { return after > before ? after - before : 0; }

void AddCpus(const SystemCounters &before, const SystemCounters &after,
             std::vector<Metric> *metrics) {
  std::vector<Metric> waits;
  for (const CpuTimes &now : after.cpus) {
    const auto same = [&](const CpuTimes &each) { return each.name == now.name; };
    const auto was = std::find_if(before.cpus.begin(), before.cpus.end(), same);
    if (was == before.cpus.end()) continue;
    const auto total = static_cast<double>(Grown(was->total, now.total));
    const auto share = [&](uint64_t part) {
      return total > 0 ? std::clamp(100 * static_cast<double>(part) / total, 0.0, 100.0) : 0.0;
    };
    const uint64_t io_wait = Grown(was->io_wait, now.io_wait);
    const double unused = share(Grown(was->idle, now.idle) + io_wait);
    metrics->push_back({"cpu", now.name, "CPUUtilization", total > 0 ? 100 - unused : 0});
    waits.push_back({"cpu", now.name, "I/OWaitPercentage", share(io_wait)});
  }
  metrics->insert(metrics->end(), waits.begin(), waits.end());
}

void AddProcess(const SystemCounters &before, const SystemCounters &after, double seconds,
                std::vector<Metric> *metrics) {
  if (after.resident_bytes) {
    metrics->push_back(
        {"process", "ResidentBytes", "", static_cast<double>(*after.resident_bytes)});
  }
  if (!before.core_wait || !after.core_wait || seconds <= 0) return;
  const double wait = static_cast<double>(Grown(*before.core_wait, *after.core_wait)) / 1e9;
  metrics->push_back(
      {"process", "CoreWaitPercentage", "", std::clamp(100 * wait / seconds, 0.0, 100.0)});
}

void AppendFixed(std::string *out, double number, int digits) {
  std::array<char, 64> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), number,
                                     std::chars_format::fixed, digits);
  if (written.ec == std::errc())
    out->append(text.data(), written.ptr);
  else
    out->append("0");
}

}  // namespace

std::vector<CpuTimes> ParseCpus(std::string_view stat) {
  std::vector<CpuTimes> cpus;
  ForEachLine(stat, [&](std::string_view line) {
    const std::string_view name = TakeWord(&line);
    if (!name.starts_with("cpu") || name.size() < 4 || !ParseInt(name.substr(3))) return;
    const std::vector<uint64_t> times = Numbers(line);
    if (times.size() < 5) return;
    CpuTimes cpu;
    cpu.name = name;
    // The time of guests, from the ninth on, is part of the first two.
    for (size_t i = 0; i < std::min<size_t>(times.size(), 8); ++i) cpu.total += times[i];
    cpu.idle = times[3];
    cpu.io_wait = times[4];
    cpus.push_back(std::move(cpu));
  });
  return cpus;
}

std::optional<double> ParseMemory(std::string_view meminfo) {
  uint64_t total = 0;
  std::optional<uint64_t> available;
  ForEachLine(meminfo, [&](std::string_view line) {
    const std::string_view name = TakeWord(&line);
    const std::vector<uint64_t> numbers = Numbers(line);
    if (numbers.empty()) return;
    if (name == "MemTotal:") total = numbers[0];
    if (name == "MemAvailable:") available = numbers[0];
  });
  if (total == 0 || !available) return std::nullopt;
  const auto used = static_cast<double>(Grown(*available, total));
  return 100 * used / static_cast<double>(total);
}

void ParseDisks(std::string_view diskstats, SystemCounters *out) {
  ForEachLine(diskstats, [&](std::string_view line) {
    TakeWord(&line);
    TakeWord(&line);
    if (!IsWholeDisk(TakeWord(&line))) return;
    const std::vector<uint64_t> counts = Numbers(line);
    if (counts.size() < 7) return;
    out->disk_operations += counts[0] + counts[4];
    out->disk_bytes_read += counts[2] * kSector;
    out->disk_bytes_written += counts[6] * kSector;
  });
}

void ParseNetwork(std::string_view dev, SystemCounters *out) {
  ForEachLine(dev, [&](std::string_view line) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || Trim(line.substr(0, colon)) == "lo") return;
    const std::vector<uint64_t> counts = Numbers(line.substr(colon + 1));
    if (counts.size() < 9) return;
    out->network_bytes_received += counts[0];
    out->network_bytes_sent += counts[8];
  });
}

std::optional<uint64_t> ParseResident(std::string_view statm, uint64_t page_size) {
  const std::vector<uint64_t> pages = Numbers(statm);
  if (pages.size() < 2 || page_size == 0 || pages[1] > UINT64_MAX / page_size) return std::nullopt;
  return pages[1] * page_size;
}

std::optional<uint64_t> ParseCoreWait(std::string_view schedstat) {
  const std::vector<uint64_t> times = Numbers(schedstat);
  if (times.size() < 2) return std::nullopt;
  return times[1];
}

SystemCounters ReadSystem(const std::string &proc) {
  SystemCounters counters;
  const auto read = [&](const char *name) {
    auto text = ReadSmallFile(proc + name);
    return text.IsOk() ? *std::move(text) : std::string();
  };
  counters.cpus = ParseCpus(read("/stat"));
  counters.memory_percent = ParseMemory(read("/meminfo"));
  ParseDisks(read("/diskstats"), &counters);
  ParseNetwork(read("/net/dev"), &counters);
  const int64_t page_size = ::sysconf(_SC_PAGESIZE);
  counters.resident_bytes =
      ParseResident(read("/self/statm"), static_cast<uint64_t>(std::max<int64_t>(0, page_size)));
  counters.core_wait = ParseCoreWait(read("/self/schedstat"));
  return counters;
}

std::vector<Metric> MetricsBetween(const SystemCounters &before, const SystemCounters &after,
                                   double seconds) {
  std::vector<Metric> metrics;
  AddCpus(before, after, &metrics);
  if (after.memory_percent) {
    metrics.push_back({"memory", "MemoryUsedPercent", "", *after.memory_percent});
  }
  const auto rate = [&](uint64_t was, uint64_t now) {
    return seconds > 0 ? static_cast<double>(Grown(was, now)) / seconds : 0;
  };
  metrics.push_back({"i/o", "IOPS", "", rate(before.disk_operations, after.disk_operations)});
  metrics.push_back({"i/o", "ReadThroughputInBytesPerSecond", "",
                     rate(before.disk_bytes_read, after.disk_bytes_read)});
  metrics.push_back({"i/o", "WriteThroughputInBytesPerSecond", "",
                     rate(before.disk_bytes_written, after.disk_bytes_written)});
  metrics.push_back({"network", "ReceiveBytesPerSecond", "Algorithm",
                     rate(before.network_bytes_received, after.network_bytes_received)});
  metrics.push_back({"network", "TransmitBytesPerSecond", "Algorithm",
                     rate(before.network_bytes_sent, after.network_bytes_sent)});
  AddProcess(before, after, seconds, &metrics);
  return metrics;
}

void AppendSystemLines(const std::vector<Metric> &metrics, std::string_view node, double timestamp,
                       std::string *out) {
  for (const Metric &each : metrics) {
    out->append(R"({"Type":)");
    AppendQuoted(out, each.type);
    out->append(R"(,"Name":)");
    AppendQuoted(out, each.name);
    out->append(R"(,"Dimension":)");
    AppendQuoted(out, each.dimension);
    out->append(R"(,"Value":)");
    AppendFixed(out, each.value, 2);
    out->append(R"(,"NodeId":)");
    AppendQuoted(out, node);
    out->append(R"(,"Timestamp":)");
    AppendFixed(out, timestamp, 6);
    out->append("}\n");
  }
}

}  // namespace smdebug::profile
