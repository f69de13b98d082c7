// Measures the cost of a call on the training thread, and the cost of reductions.
#include <benchmark/benchmark.h>

#include <chrono>

#include "smdebug.hpp"
#include "workspace.h"

namespace {

using bench::Check;

constexpr int64_t kMiB = int64_t{1} << 20;

std::vector<std::string> Names(int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back("gradient/layer_" + std::to_string(i));
  return names;
}

// range(0): bytes of a tensor; range(1): tensors per step; range(2): steps.
void Record(benchmark::State &state) {
  const bench::Workspace workspace("record");
  const int64_t elements = state.range(0) / 4;
  const std::vector<float> data(static_cast<size_t>(elements), 1.5F);
  const smd_tensor_view view = bench::ViewOf(data, elements);
  const std::vector<std::string> names = Names(state.range(1));
  const bench::HookPtr hook = bench::OpenHook(workspace.Path("trial"));
  for (auto _ : state) {
    state.PauseTiming();
    bench::RemoveSteps(workspace.Path("trial"));
    state.ResumeTiming();
    for (int64_t step = 0; step < state.range(2); ++step) {
      Check(smd_hook_begin_step(hook.get(), nullptr));
      for (const std::string &name : names) Check(smd_hook_save(hook.get(), name.c_str(), &view));
      Check(smd_hook_end_step(hook.get()));
    }
    Check(smd_hook_flush(hook.get(), -1));
  }
  const int64_t tensors = state.iterations() * state.range(1) * state.range(2);
  state.SetItemsProcessed(tensors);
  state.SetBytesProcessed(tensors * state.range(0));
}
BENCHMARK(Record)
    ->Name("record")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond)
    ->Args({1 << 10, 100, 400});

// Measures the cost of one call on the training thread: 1,000 tensors per step, without the start
// and the end of the step, with an empty queue.
template <class Save>
void SaveSmall(benchmark::State &state, smd_hook *hook, Save save) {
  const std::vector<std::string> names = Names(1000);
  for (auto _ : state) {
    Check(smd_hook_begin_step(hook, nullptr));
    const auto begin = std::chrono::steady_clock::now();
    for (const std::string &name : names) save(name);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(time.count());
    Check(smd_hook_end_step(hook));
    Check(smd_hook_flush(hook, -1));
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}

void SaveSmallInC(benchmark::State &state) {
  const bench::Workspace workspace("small");
  const std::vector<float> data(16, 1.5F);
  const int64_t elements = 16;
  const smd_tensor_view view = bench::ViewOf(data, elements);
  const bench::HookPtr hook = bench::OpenHook(workspace.Path("trial"));
  SaveSmall(state, hook.get(), [&](const std::string &name) {
    Check(smd_hook_save(hook.get(), name.c_str(), &view));
  });
}
BENCHMARK(SaveSmallInC)->Name("save_16_floats")->UseManualTime();

void SaveSmallInCpp(benchmark::State &state) {
  const bench::Workspace workspace("small");
  const std::vector<float> data(16, 1.5F);
  smdebug::Hook hook(bench::OpenHook(workspace.Path("trial")).release());
  SaveSmall(state, hook.Get(), [&](const std::string &name) { hook.Save(name, data); });
}
BENCHMARK(SaveSmallInCpp)->Name("save_16_floats_cpp")->UseManualTime();

// Saves a tensor that no collection selects, at a step that saves other tensors.
void SaveUnselected(benchmark::State &state) {
  const bench::Workspace workspace("unwanted");
  smd_hook_options *options = nullptr;
  smd_hook *hook = nullptr;
  Check(smd_hook_options_new(&options));
  Check(smd_hook_options_set(options, "out_dir", workspace.Path("trial").c_str()));
  Check(smd_hook_new(options, &hook));
  smd_hook_options_free(options);
  const bench::HookPtr owned(hook);
  const std::vector<float> data(256, 1.5F);
  const int64_t elements = 256;
  const smd_tensor_view view = bench::ViewOf(data, elements);
  Check(smd_hook_begin_step(hook, nullptr));
  for (auto _ : state) Check(smd_hook_save(hook, "conv1/activation", &view));
}
BENCHMARK(SaveUnselected)->Name("save_unselected");

// Saves all reductions except the median of a 16 MiB tensor, without the tensor.
void Reduce(benchmark::State &state) {
  const bench::Workspace workspace("reduce");
  const bench::HookPtr hook = bench::OpenHook(
      workspace.Path("trial"),
      "min,max,mean,std,variance,sum,prod,l1,l2,abs_min,abs_max,abs_mean,abs_std,abs_variance,"
      "abs_sum,abs_prod,abs_l1,abs_l2");
  const int64_t elements = 4 * kMiB;
  std::vector<float> data(static_cast<size_t>(elements));
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 1000) * 0.002F - 1.0F;
  const smd_tensor_view view = bench::ViewOf(data, elements);
  Check(smd_hook_begin_step(hook.get(), nullptr));
  for (auto _ : state) Check(smd_hook_save(hook.get(), "weights", &view));
  state.SetBytesProcessed(state.iterations() * elements * 4);
}
BENCHMARK(Reduce)->Name("reduce_16MiB")->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
