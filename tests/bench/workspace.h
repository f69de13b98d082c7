// Shared by the benchmarks: work folders, handles and the clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "smdebug.h"

namespace bench {

// If there is an error, prints its message and exits.
void Check(smd_error *error);

struct FreeHook {
  void operator()(smd_hook *hook) const { smd_hook_free(hook); }
};
struct FreeTrial {
  void operator()(smd_trial *trial) const { smd_trial_free(trial); }
};
struct FreeTensor {
  void operator()(smd_tensor *tensor) const { smd_tensor_free(tensor); }
};
using HookPtr = std::unique_ptr<smd_hook, FreeHook>;
using TrialPtr = std::unique_ptr<smd_trial, FreeTrial>;
using TensorPtr = std::unique_ptr<smd_tensor, FreeTensor>;

class Timer {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Returns the median of at least one number: of an even count, the larger of the middle two.
double MedianOf(std::vector<double> numbers);

// An empty folder below SMDEBUG_BENCH_DIR, or the current folder.  The destructor removes it.
class Workspace {
 public:
  explicit Workspace(const std::string &name);
  ~Workspace();
  Workspace(const Workspace &) = delete;
  Workspace &operator=(const Workspace &) = delete;

  std::string Path(const std::string &name) const { return root_ + "/" + name; }
  void Empty() const;

 private:
  std::string root_;
};

// Removes recorded steps, so that they do not fill the disk.  The rest of the trial stays: a hook
// reports an error if its folder or its collections vanish.
void RemoveSteps(const std::string &trial);

// Records every step of every tensor: the values, or only `reductions` if given.
HookPtr OpenHook(const std::string &out_dir, const char *reductions = nullptr,
                 const std::string &worker = "worker_0", int num_workers = 1);
TrialPtr OpenTrial(const std::string &path);
smd_tensor_view ViewOf(const std::vector<float> &data, const int64_t &size);

// Writes a finished trial of float32 tensors "tensor_<i>".
void WriteTrial(const std::string &out_dir, int steps, int tensors, int64_t elements);

}  // namespace bench
