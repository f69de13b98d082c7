// Compares the cost of reading with a plain pread() of the same bytes.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include "workspace.h"

namespace {

using bench::Check;

constexpr int64_t kMiB = int64_t{1} << 20;

void Refresh(smd_trial *trial) {
  smd_integers *steps = nullptr;
  Check(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  smd_integers_free(steps);
}

// range(0): steps of 100 tensors of 64 bytes.
void Open(benchmark::State &state) {
  const bench::Workspace workspace("open");
  const auto steps = static_cast<int>(state.range(0));
  bench::WriteTrial(workspace.Path("trial"), steps, 100, 16);
  for (auto _ : state) {
    const bench::TrialPtr trial = bench::OpenTrial(workspace.Path("trial"));
    Refresh(trial.get());
  }
  state.SetItemsProcessed(state.iterations() * steps * 100);
}
BENCHMARK(Open)->Name("open")->UseRealTime()->Unit(benchmark::kMillisecond)->Arg(2000);

// range(0): bytes of a value; range(1): values per step.
void ReadValues(benchmark::State &state) {
  const bench::Workspace workspace("read");
  const auto tensors = static_cast<int>(state.range(1));
  constexpr int kSteps = 16;
  bench::WriteTrial(workspace.Path("trial"), kSteps, tensors, state.range(0) / 4);
  const bench::TrialPtr trial = bench::OpenTrial(workspace.Path("trial"));
  Refresh(trial.get());
  std::vector<bench::TensorPtr> handles;
  for (int i = 0; i < tensors; ++i) {
    smd_tensor *tensor = nullptr;
    Check(smd_trial_tensor(trial.get(), ("tensor_" + std::to_string(i)).c_str(), &tensor));
    handles.emplace_back(tensor);
  }
  for (auto _ : state) {
    for (int step = 0; step < kSteps; ++step) {
      for (const bench::TensorPtr &tensor : handles) {
        smd_value *value = nullptr;
        Check(smd_tensor_value(tensor.get(), step, SMD_MODE_GLOBAL, nullptr, &value));
        smd_value_free(value);
      }
    }
  }
  const int64_t values = state.iterations() * kSteps * tensors;
  state.SetItemsProcessed(values);
  state.SetBytesProcessed(values * state.range(0));
}
BENCHMARK(ReadValues)
    ->Name("read")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond)
    ->Args({1 << 10, 100})
    ->Args({kMiB, 8});

// Reads the same bytes into allocated memory.
void Pread(benchmark::State &state) {
  const bench::Workspace workspace("pread");
  const auto size = static_cast<size_t>(state.range(0));
  std::vector<char> data(size, 3);
  constexpr int kFiles = 16;
  for (int i = 0; i < kFiles; ++i) {
    const int file =
        open(workspace.Path(std::to_string(i)).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (int64_t j = 0; j < state.range(1); ++j) {
      if (write(file, data.data(), size) != state.range(0)) state.SkipWithError("short write");
    }
    close(file);
  }
  for (auto _ : state) {
    for (int i = 0; i < kFiles; ++i) {
      const int file = open(workspace.Path(std::to_string(i)).c_str(), O_RDONLY);
      for (int64_t j = 0; j < state.range(1); ++j) {
        if (pread(file, data.data(), size, j * state.range(0)) != state.range(0)) {
          state.SkipWithError("short read");
        }
      }
      close(file);
    }
  }
  state.SetBytesProcessed(state.iterations() * kFiles * state.range(0) * state.range(1));
}
BENCHMARK(Pread)->Name("pread")->UseRealTime()->Unit(benchmark::kMillisecond)->Args({kMiB, 8});

// Refreshes the trial of a running job without new steps; range(0): its steps.
void RefreshUnchanged(benchmark::State &state) {
  const bench::Workspace workspace("refresh");
  bench::WriteTrial(workspace.Path("trial"), static_cast<int>(state.range(0)), 1, 16);
  unlink(workspace.Path("trial/training_job_end.ts").c_str());
  const bench::TrialPtr trial = bench::OpenTrial(workspace.Path("trial"));
  Refresh(trial.get());
  sleep(4);  // until the folders' times prove that nothing is new
  Check(smd_trial_refresh(trial.get()));
  for (auto _ : state) Check(smd_trial_refresh(trial.get()));
}
BENCHMARK(RefreshUnchanged)
    ->Name("refresh_unchanged")
    ->Unit(benchmark::kMicrosecond)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10000);

}  // namespace
