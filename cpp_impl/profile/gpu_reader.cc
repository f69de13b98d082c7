#include "profile/gpu_reader.h"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/strings.h"

namespace smdebug::profile {
namespace {

// The types of the library's binary interface, which has been stable since its version 2.
using Device = void *;
using Sample = void *;
constexpr int kSuccess = 0;

struct Utilization {
  unsigned int gpu;
  unsigned int memory;
};

struct Memory {
  unsigned long long total;  // NOLINT(google-runtime-int): the library's type
  unsigned long long free;   // NOLINT(google-runtime-int)
  unsigned long long used;   // NOLINT(google-runtime-int)
};

struct Support {
  unsigned int version;
  unsigned int is_supported;
};

struct Activity {
  unsigned int id;
  int result;
  double value;
  std::array<const char *, 3> texts;
};

// Later versions of the library have more metrics, so it may expect a longer array; it uses only
// the first `count`.
constexpr size_t kMostActivities = 512;
constexpr unsigned int kStructVersion = 1;
constexpr unsigned int kMultiprocessors = 2;
constexpr unsigned int kAnyTensor = 5;

struct Activities {
  unsigned int version;
  unsigned int count;
  Sample before;
  Sample after;
  std::array<Activity, kMostActivities> items;
};

struct Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned int *count) = nullptr;
  int (*device)(unsigned int index, Device *device) = nullptr;
  int (*utilization)(Device device, Utilization *out) = nullptr;
  int (*memory)(Device device, Memory *out) = nullptr;
  // May be missing.
  int (*power)(Device device, unsigned int *milliwatts) = nullptr;
  int (*activity_support)(Device device, Support *out) = nullptr;
  int (*make_sample)(Sample *out) = nullptr;
  int (*free_sample)(Sample sample) = nullptr;
  int (*take_sample)(Device device, Sample sample) = nullptr;
  int (*activities)(Activities *out) = nullptr;

  bool HasRequired() const {
    return init != nullptr && shutdown != nullptr && count != nullptr && device != nullptr &&
           utilization != nullptr && memory != nullptr;
  }
  bool HasActivities() const {
    return activity_support != nullptr && make_sample != nullptr && free_sample != nullptr &&
           take_sample != nullptr && activities != nullptr;
  }
};

template <class Function>
void Find(void *library, const char *name, Function *out) {
  *out = reinterpret_cast<Function>(dlsym(library, name));
}

Functions FindFunctions(void *library) {
  Functions found;
  Find(library, "nvmlInit_v2", &found.init);
  Find(library, "nvmlShutdown", &found.shutdown);
  Find(library, "nvmlDeviceGetCount_v2", &found.count);
  Find(library, "nvmlDeviceGetHandleByIndex_v2", &found.device);
  Find(library, "nvmlDeviceGetUtilizationRates", &found.utilization);
  Find(library, "nvmlDeviceGetMemoryInfo", &found.memory);
  Find(library, "nvmlDeviceGetPowerUsage", &found.power);
  Find(library, "nvmlGpmQueryDeviceSupport", &found.activity_support);
  Find(library, "nvmlGpmSampleAlloc", &found.make_sample);
  Find(library, "nvmlGpmSampleFree", &found.free_sample);
  Find(library, "nvmlGpmSampleGet", &found.take_sample);
  Find(library, "nvmlGpmMetricsGet", &found.activities);
  return found;
}

struct Gpu {
  std::string name;  // "gpu0"
  Device device = nullptr;
  Sample before = nullptr;  // NULL if the GPU states no activities
  Sample after = nullptr;
  bool has_sample = false;
};

class NvmlReader final : public GpuReader {
 public:
  explicit NvmlReader(const Functions &functions) : nvml_(functions) {}

  ~NvmlReader() override {
    for (const Gpu &each : gpus_) {
      if (each.before != nullptr) nvml_.free_sample(each.before);
      if (each.after != nullptr) nvml_.free_sample(each.after);
    }
    nvml_.shutdown();
  }

  // Returns false if there is no GPU.
  bool FindGpus() {
    unsigned int count = 0;
    if (nvml_.count(&count) != kSuccess) return false;
    for (unsigned int i = 0; i < count; ++i) {
      Gpu gpu;
      gpu.name = StrCat("gpu", i);
      if (nvml_.device(i, &gpu.device) != kSuccess) continue;
      gpus_.push_back(std::move(gpu));
      MakeSamples(&gpus_.back());
    }
    return !gpus_.empty();
  }

  void Read(std::vector<Metric> *metrics) override {
    for (Gpu &gpu : gpus_) {
      const auto add = [&](const char *dimension, double value) {
        metrics->push_back({"gpu", gpu.name, dimension, value});
      };
      Utilization used{};
      if (nvml_.utilization(gpu.device, &used) == kSuccess) add("GPUUtilization", used.gpu);
      Memory memory{};
      if (nvml_.memory(gpu.device, &memory) == kSuccess && memory.total > 0) {
        add("GPUMemoryUtilization",
            100 * static_cast<double>(memory.used) / static_cast<double>(memory.total));
      }
      unsigned int milliwatts = 0;
      if (nvml_.power != nullptr && nvml_.power(gpu.device, &milliwatts) == kSuccess) {
        add("GPUPowerInWatts", milliwatts / 1000.0);
      }
      ReadActivities(&gpu, add);
    }
  }

 private:
  void MakeSamples(Gpu *gpu) const {
    Support support{kStructVersion, 0};
    if (!nvml_.HasActivities() || nvml_.activity_support(gpu->device, &support) != kSuccess ||
        support.is_supported == 0 || nvml_.make_sample(&gpu->before) != kSuccess) {
      gpu->before = nullptr;
      return;
    }
    if (nvml_.make_sample(&gpu->after) == kSuccess) return;
    nvml_.free_sample(gpu->before);
    gpu->before = nullptr;
    gpu->after = nullptr;
  }

  template <class Add>
  void ReadActivities(Gpu *gpu, Add add) {
    if (gpu->before == nullptr || nvml_.take_sample(gpu->device, gpu->after) != kSuccess) return;
    if (gpu->has_sample) {
      activities_.version = kStructVersion;
      activities_.count = 2;
      activities_.before = gpu->before;
      activities_.after = gpu->after;
      activities_.items[0].id = kMultiprocessors;
      activities_.items[1].id = kAnyTensor;
      if (nvml_.activities(&activities_) == kSuccess) {
        if (activities_.items[0].result == kSuccess) {
          add("GPUMultiprocessorActivity", activities_.items[0].value);
        }
        if (activities_.items[1].result == kSuccess) {
          add("GPUTensorActivity", activities_.items[1].value);
        }
      }
    }
    gpu->has_sample = true;
    std::swap(gpu->before, gpu->after);
  }

  const Functions nvml_;
  std::vector<Gpu> gpus_;
  Activities activities_{};
};

}  // namespace

Result<std::unique_ptr<GpuReader>> GpuReader::Open(const char *name) {
  // Never closed: the driver may keep threads inside it.
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status(Code::kNotFound, StrCat("no GPUs are sampled: ", name, " is not installed"));
  }
  const Functions functions = FindFunctions(library);
  if (!functions.HasRequired()) {
    return Unsupported(StrCat("no GPUs are sampled: ", name, " lacks functions that are needed"));
  }
  if (const int error = functions.init(); error != kSuccess) {
    return Status(Code::kNotFound,
                  StrCat("no GPUs are sampled: the driver answers with error ", error));
  }
  auto reader = std::make_unique<NvmlReader>(functions);
  if (!reader->FindGpus()) {
    return Status(Code::kNotFound, "no GPUs are sampled: the driver states none");
  }
  return std::unique_ptr<GpuReader>(std::move(reader));
}

}  // namespace smdebug::profile
