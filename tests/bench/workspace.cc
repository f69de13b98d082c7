#include "workspace.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace bench {

void Check(smd_error *error) {
  if (error == nullptr) return;
  std::fprintf(stderr, "%s\n", smd_error_message(error));
  std::exit(1);
}

Workspace::Workspace(const std::string &name) {
  const char *base = std::getenv("SMDEBUG_BENCH_DIR");
  root_ = std::string(base == nullptr ? "." : base) + "/smdebug-bench-" + name;
  Empty();
}

Workspace::~Workspace() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

void Workspace::Empty() const {
  std::filesystem::remove_all(root_);
  std::filesystem::create_directories(root_);
}

void RemoveSteps(const std::string &trial) {
  for (const char *folder : {"/events", "/index"}) {
    if (!std::filesystem::exists(trial + folder)) continue;
    for (const auto &each : std::filesystem::recursive_directory_iterator(trial + folder)) {
      if (each.is_regular_file()) std::filesystem::remove(each.path());
    }
  }
}

HookPtr OpenHook(const std::string &out_dir, const char *reductions, const std::string &worker,
                 int num_workers) {
  smd_hook_options *options = nullptr;
  smd_save_config *every_step = nullptr;
  smd_hook *hook = nullptr;
  Check(smd_hook_options_new(&options));
  Check(smd_hook_options_set(options, "out_dir", out_dir.c_str()));
  Check(smd_hook_options_set(options, "save_all", "true"));
  Check(smd_hook_options_set(options, "worker", worker.c_str()));
  Check(smd_hook_options_set(options, "num_workers", std::to_string(num_workers).c_str()));
  Check(smd_hook_options_set(options, "include_workers", "all"));
  Check(smd_save_config_new(&every_step));
  Check(smd_save_config_set(every_step, SMD_MODE_ANY, 1, 0, -1, nullptr, 0));
  Check(smd_hook_options_set_save_config(options, every_step));
  if (reductions != nullptr) {
    smd_reduction_config *config = nullptr;
    Check(smd_reduction_config_new(&config));
    Check(smd_reduction_config_add(config, reductions));
    Check(smd_hook_options_set_reduction_config(options, config));
    smd_reduction_config_free(config);
  }
  Check(smd_hook_new(options, &hook));
  smd_save_config_free(every_step);
  smd_hook_options_free(options);
  return HookPtr(hook);
}

TrialPtr OpenTrial(const std::string &path) {
  smd_trial_options *options = nullptr;
  smd_trial *trial = nullptr;
  Check(smd_trial_options_new(&options));
  Check(smd_trial_options_set(options, "end_delay_seconds", "0"));
  Check(smd_trial_open(path.c_str(), options, &trial));
  smd_trial_options_free(options);
  return TrialPtr(trial);
}

smd_tensor_view ViewOf(const std::vector<float> &data, const int64_t &size) {
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = data.data();
  view.shape = &size;
  view.ndim = 1;
  view.dtype = SMD_FLOAT32;
  return view;
}

void WriteTrial(const std::string &out_dir, int steps, int tensors, int64_t elements) {
  const HookPtr hook = OpenHook(out_dir);
  const std::vector<float> data(static_cast<size_t>(elements), 1.5F);
  const smd_tensor_view view = ViewOf(data, elements);
  std::vector<std::string> names;
  for (int i = 0; i < tensors; ++i) names.push_back("tensor_" + std::to_string(i));
  for (int step = 0; step < steps; ++step) {
    Check(smd_hook_begin_step(hook.get(), nullptr));
    for (const std::string &name : names) Check(smd_hook_save(hook.get(), name.c_str(), &view));
    Check(smd_hook_end_step(hook.get()));
  }
  Check(smd_hook_close(hook.get()));
}

double MedianOf(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

}  // namespace bench
