// Reads what NVIDIA's management library states about GPUs, if the machine has it.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "profile/system_facts.h"

namespace smdebug::profile {

// For one thread.
class GpuReader {
 public:
  virtual ~GpuReader() = default;

  // Appends utilization and memory of each GPU, in percent, its power in watts, and the activity of
  // its multiprocessors and tensor cores since the last call, in percent.  Omits what the GPU or
  // the driver does not state.
  virtual void Read(std::vector<Metric> *metrics) = 0;

  // Loads the library `name` when called, not before.  Fails with NOT_FOUND if the machine has no
  // such library or no GPU, and with UNSUPPORTED if the library has not the functions.
  static Result<std::unique_ptr<GpuReader>> Open(const char *name = "libnvidia-ml.so.1");
};

}  // namespace smdebug::profile
