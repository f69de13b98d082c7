// What rules see of a profile: samples of the machine, and spans of time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "profile_rules/name_table.h"

namespace smdebug::profile_rules {

enum class Metric : uint8_t {
  kOther,
  kCpuUse,       // percent of a core
  kIoWait,       // percent of a core
  kGpuUse,       // percent
  kGpuMemory,    // percent
  kHostMemory,   // percent
  kNetwork,      // bytes each second, of the job
  kDiskTraffic,  // operations or bytes each second
  kResident,     // bytes of the process that samples
  kCoreWait,     // percent of the time in which its main thread waits for a core
};
inline constexpr size_t kMetricCount = 10;

// Returns, for example, "CPUUtilization".
std::string_view MetricName(Metric metric);
Metric MetricOf(std::string_view type, std::string_view name, std::string_view dimension);

struct Sample {
  double time = 0;  // seconds since 1970
  double value = 0;
  NameId node = 0;
  NameId name = 0;
  Metric metric = Metric::kOther;
};

// What a span of time is spent on.
enum class Category : uint8_t {
  kStep,
  kDataWait,
  kForward,
  kBackward,
  kOptimizer,
  kCommunication,
  kCheckpoint,
  kHost,        // other named work of the main thread
  kDevice,      // work of an accelerator
  kBackground,  // threads that the main one does not wait for, details, and set-up
};
inline constexpr size_t kCategoryCount = 10;

// Returns, for example, "data wait".
std::string_view CategoryName(Category category);
enum class FileType : uint8_t { kPython, kDetailed, kHorovod, kDataParallel };
FileType FileTypeOf(std::string_view name);

// `name` is that of an event, `phase` that of its row.
Category CategoryOf(std::string_view phase, std::string_view name, FileType type);

struct Span {
  double start = 0;      // microseconds since 1970
  double duration = 0;   // microseconds
  int64_t step = -1;     // negative: none
  int64_t process = -1;  // of the arguments; negative: none
  NameId worker = 0;
  NameId phase = 0;
  NameId name = 0;
  Category category = Category::kHost;
  FileType file_type = FileType::kPython;
  bool is_asynchronous = false;  // not of the main thread, which may work meanwhile
  bool names_step = false;       // the name has "Step:ModeKeys", as rules of the original ask for
  // Of the set-up of a data loader; negative: unknown.
  int8_t pins_memory = -1;
  int32_t loader_workers = -1;

  double End() const { return start + duration; }
};

}  // namespace smdebug::profile_rules
