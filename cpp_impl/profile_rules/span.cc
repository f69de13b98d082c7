#include "profile_rules/span.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/strings.h"

namespace smdebug::profile_rules {
namespace {

struct Known {
  std::string_view part;  // in lower case
  Category category;
};

// The first that is part of a phase or, if none is, of a name decides.
constexpr std::array kKnown = {
    Known{"dataloaderiterinitialize", Category::kBackground},
    Known{"dataloaderworker", Category::kBackground},
    Known{"submoduleinternal", Category::kBackground},
    Known{"cpu_functions", Category::kBackground},
    Known{"gpu_functions", Category::kDevice},
    Known{"/device:", Category::kDevice},
    Known{"/host:", Category::kBackground},
    Known{"dataloaderiter", Category::kDataWait},
    Known{"dataiterator", Category::kDataWait},
    Known{"datawait", Category::kDataWait},
    Known{"data_wait", Category::kDataWait},
    Known{"data wait", Category::kDataWait},
    Known{"checkpoint", Category::kCheckpoint},
    Known{"torch.save", Category::kCheckpoint},
    Known{"allreduce", Category::kCommunication},
    Known{"all_reduce", Category::kCommunication},
    Known{"allgather", Category::kCommunication},
    Known{"all_gather", Category::kCommunication},
    Known{"reduce_scatter", Category::kCommunication},
    Known{"reducescatter", Category::kCommunication},
    Known{"alltoall", Category::kCommunication},
    Known{"all_to_all", Category::kCommunication},
    Known{"broadcast", Category::kCommunication},
    Known{"barrier", Category::kCommunication},
    Known{"collective", Category::kCommunication},
    Known{"communication", Category::kCommunication},
    Known{"nccl", Category::kCommunication},
    Known{"gloo", Category::kCommunication},
    Known{"optimizer", Category::kOptimizer},
    Known{"forward", Category::kForward},
    Known{"backward", Category::kBackward},
};

// "Backward(post-forward)" is not a forward pass.
Category ByName(std::string_view text, Category otherwise) {
  const std::string lower = ToLower(text);
  if (lower.starts_with("backward")) {
    return lower.starts_with("backward-submodule") ? Category::kBackground : Category::kBackward;
  }
  const auto known = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known &each) {
    return lower.find(each.part) != std::string::npos;
  });
  return known == kKnown.end() ? otherwise : known->category;
}

}  // namespace

std::string_view MetricName(Metric metric) {
  constexpr std::array<std::string_view, kMetricCount> kNames = {"other",
                                                                 "CPUUtilization",
                                                                 "I/OWaitPercentage",
                                                                 "GPUUtilization",
                                                                 "GPUMemoryUtilization",
                                                                 "MemoryUsedPercent",
                                                                 "Network",
                                                                 "Disk",
                                                                 "ResidentBytes",
                                                                 "CoreWaitPercentage"};
  return kNames[static_cast<size_t>(metric)];
}

Metric MetricOf(std::string_view type, std::string_view name, std::string_view dimension) {
  if (dimension == "CPUUtilization") return Metric::kCpuUse;
  if (dimension == "I/OWaitPercentage") return Metric::kIoWait;
  if (dimension == "GPUUtilization") return Metric::kGpuUse;
  if (dimension == "GPUMemoryUtilization") return Metric::kGpuMemory;
  if (name == "MemoryUsedPercent") return Metric::kHostMemory;
  if (name == "ResidentBytes") return Metric::kResident;
  if (name == "CoreWaitPercentage") return Metric::kCoreWait;
  if (dimension == "Algorithm") return Metric::kNetwork;
  return type == "i/o" ? Metric::kDiskTraffic : Metric::kOther;
}

std::string_view CategoryName(Category category) {
  constexpr std::array<std::string_view, kCategoryCount> kNames = {
      "step",          "data wait",  "forward", "backward", "optimizer",
      "communication", "checkpoint", "host",    "device",   "background"};
  return kNames[static_cast<size_t>(category)];
}

Category CategoryOf(std::string_view phase, std::string_view name, FileType type) {
  if (phase.starts_with("Step")) return Category::kStep;
  if (type == FileType::kHorovod || type == FileType::kDataParallel) {
    return Category::kCommunication;
  }
  const Category by_phase = ByName(phase, Category::kStep);
  if (by_phase == Category::kStep) return ByName(name, Category::kHost);
  const bool is_kernel = by_phase == Category::kDevice;
  const bool is_exchange = is_kernel && ByName(name, by_phase) == Category::kCommunication;
  return is_exchange ? Category::kCommunication : by_phase;
}

FileType FileTypeOf(std::string_view name) {
  if (name == "DetailedframeworkMetrics") return FileType::kDetailed;
  if (name == "HorovodMetrics") return FileType::kHorovod;
  return name == "SMDataParallelMetrics" ? FileType::kDataParallel : FileType::kPython;
}

}  // namespace smdebug::profile_rules
