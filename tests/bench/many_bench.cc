// Compares reading small values with one pread() for each, in turns.  Prints JSON: median seconds a
// value by name, of the library and of the peer.
//
// usage: smdebug_many_bench FOLDER TENSORS STEPS: a trial of tensors "gradient/layer_<i>"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "workspace.h"

namespace {

using bench::Check;
using bench::MedianOf;
using bench::TensorPtr;
using bench::Timer;
using bench::TrialPtr;

constexpr int kRounds = 9;

struct Run {
  std::string folder;
  int tensors;
  int steps;

  double Values() const { return static_cast<double>(tensors) * steps; }
};

int OpenEvents(const Run &run, int step) {
  std::array<char, 96> name{};
  std::snprintf(name.data(), name.size(), "/events/%012d/%012d_worker_0.tfevents", step, step);
  const int file = open((run.folder + name.data()).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) std::perror(name.data());
  return file;
}

void ReadRecord(int file, off_t size, off_t offset) {
  static std::vector<char> bytes;
  bytes.resize(static_cast<size_t>(size));
  if (pread(file, bytes.data(), bytes.size(), offset) != size) std::perror("pread");
}

off_t RecordSize(const Run &run) {
  struct stat facts {};
  const int file = OpenEvents(run, 0);
  fstat(file, &facts);
  close(file);
  return facts.st_size / run.tensors;
}

// A new trial, so that no file is open.
struct Opened {
  explicit Opened(const Run &run) : trial(bench::OpenTrial(run.folder)) {
    smd_integers *steps = nullptr;
    Check(smd_trial_steps(trial.get(), SMD_MODE_GLOBAL, 0, &steps));
    smd_integers_free(steps);
    for (int i = 0; i < run.tensors; ++i) {
      smd_tensor *tensor = nullptr;
      Check(
          smd_trial_tensor(trial.get(), ("gradient/layer_" + std::to_string(i)).c_str(), &tensor));
      tensors.emplace_back(tensor);
    }
  }
  TrialPtr trial;
  std::vector<TensorPtr> tensors;
};

double ReadMany(const Run &run) {
  const Opened opened(run);
  const Timer timer;
  for (const TensorPtr &tensor : opened.tensors) {
    smd_values *values = nullptr;
    Check(smd_tensor_values(tensor.get(), 0, INT64_MAX, SMD_MODE_GLOBAL, nullptr, &values));
    if (smd_values_count(values) != static_cast<size_t>(run.steps)) std::abort();
    smd_values_free(values);
  }
  return timer.Seconds();
}

double PreadEach(const Run &run) {
  const off_t size = RecordSize(run);
  const Timer timer;
  for (int tensor = 0; tensor < run.tensors; ++tensor) {
    for (int step = 0; step < run.steps; ++step) {
      const int file = OpenEvents(run, step);
      ReadRecord(file, size, tensor * size);
      close(file);
    }
  }
  return timer.Seconds();
}

double ReadSingly(const Run &run) {
  const Opened opened(run);
  const Timer timer;
  for (int step = 0; step < run.steps; ++step) {
    for (const TensorPtr &tensor : opened.tensors) {
      smd_value *value = nullptr;
      Check(smd_tensor_value(tensor.get(), step, SMD_MODE_GLOBAL, nullptr, &value));
      smd_value_free(value);
    }
  }
  return timer.Seconds();
}

double PreadInOpenFile(const Run &run) {
  const off_t size = RecordSize(run);
  const Timer timer;
  for (int step = 0; step < run.steps; ++step) {
    const int file = OpenEvents(run, step);
    for (int tensor = 0; tensor < run.tensors; ++tensor) ReadRecord(file, size, tensor * size);
    close(file);
  }
  return timer.Seconds();
}

void Compare(const char *name, const Run &run, double ours(const Run &), double peer(const Run &)) {
  std::vector<double> our_times;
  std::vector<double> peer_times;
  for (int i = 0; i < kRounds; ++i) {
    our_times.push_back(ours(run));
    peer_times.push_back(peer(run));
  }
  std::printf(",\n \"%s\": %.4g, \"%s, peer\": %.4g", name, MedianOf(our_times) / run.Values(),
              name, MedianOf(peer_times) / run.Values());
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const Run run{argv[1], std::atoi(argv[2]), std::atoi(argv[3])};
  std::printf("{\"version\": 1");
  Compare("values", run, ReadMany, PreadEach);
  Compare("value", run, ReadSingly, PreadInOpenFile);
  std::printf("}\n");
}
