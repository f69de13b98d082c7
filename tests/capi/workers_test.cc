// Many threads read one trial while many workers write it.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "expect.h"
}

namespace {

constexpr int kWorkers = 6;
constexpr int kReaders = 6;
constexpr int kSteps = 40;

smd_hook *OpenWorker(const std::string &folder, int worker) {
  smd_hook_options *options = nullptr;
  smd_save_config *every_step = nullptr;
  smd_hook *hook = nullptr;
  EXPECT_OK(smd_save_config_new(&every_step));
  EXPECT_OK(smd_save_config_set(every_step, SMD_MODE_ANY, 1, 0, -1, nullptr, 0));
  EXPECT_OK(smd_hook_options_new(&options));
  const std::string name = "worker_" + std::to_string(worker);
  const std::string count = std::to_string(kWorkers);
  EXPECT_OK(smd_hook_options_set(options, "out_dir", folder.c_str()));
  EXPECT_OK(smd_hook_options_set(options, "worker", name.c_str()));
  EXPECT_OK(smd_hook_options_set(options, "num_workers", count.c_str()));
  EXPECT_OK(smd_hook_options_set(options, "include_workers", "all"));
  EXPECT_OK(smd_hook_options_set(options, "save_all", "true"));
  EXPECT_OK(smd_hook_options_set_save_config(options, every_step));
  EXPECT_OK(smd_hook_new(options, &hook));
  smd_save_config_free(every_step);
  smd_hook_options_free(options);
  return hook;
}

void Write(smd_hook *hook, int worker) {
  smd_tensor_view view = example_view();
  for (int step = 0; step < kSteps; ++step) {
    const float data[6] = {static_cast<float>(worker), static_cast<float>(step)};
    view.data = data;
    EXPECT_OK(smd_hook_begin_step(hook, nullptr));
    EXPECT_OK(smd_hook_save(hook, "w", &view));
    EXPECT_OK(smd_hook_end_step(hook));
  }
  EXPECT_OK(smd_hook_flush(hook, 20000));
}

// Every step that is complete has every worker's own value.
void ReadStep(smd_tensor *tensor, int64_t step) {
  for (int worker = 0; worker < kWorkers; ++worker) {
    smd_value *value = nullptr;
    const std::string name = "worker_" + std::to_string(worker);
    EXPECT_OK(smd_tensor_value(tensor, step, SMD_MODE_GLOBAL, name.c_str(), &value));
    const auto *data = static_cast<const float *>(smd_value_data(value));
    EXPECT(static_cast<int>(data[0]) == worker && static_cast<int64_t>(data[1]) == step);
    smd_value_free(value);
  }
}

void Read(smd_trial *trial, const std::atomic<bool> &is_written) {
  size_t seen = 0;
  do {
    smd_integers *steps = nullptr;
    smd_tensor *tensor = nullptr;
    EXPECT_OK(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
    EXPECT(smd_integers_count(steps) >= seen);
    if (smd_integers_count(steps) > 0) EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
    for (; seen < smd_integers_count(steps); ++seen)
      ReadStep(tensor, smd_integers_data(steps)[seen]);
    smd_tensor_free(tensor);
    smd_integers_free(steps);
  } while (!is_written || seen < kSteps);
}

std::vector<smd_hook *> OpenWorkers(const std::string &folder) {
  std::vector<smd_hook *> hooks;
  for (int i = 0; i < kWorkers; ++i) hooks.push_back(OpenWorker(folder, i));
  for (smd_hook *hook : hooks) EXPECT_OK(smd_hook_export_collections(hook));
  return hooks;
}

void CloseWorkers(const std::vector<smd_hook *> &hooks) {
  for (smd_hook *hook : hooks) {
    EXPECT_OK(smd_hook_close(hook));
    smd_hook_free(hook);
  }
}

int32_t CountCall(void *self, smd_trial *, int64_t, smd_findings *, smd_error **) {
  ++*static_cast<int *>(self);
  return SMD_RULE_CONTINUE;
}

void Evaluate(smd_rule_set *set, smd_trial *trial, uint32_t flags) {
  smd_findings *found = nullptr;
  EXPECT_OK(smd_rule_set_evaluate(set, trial, 0, -1, flags, &found));
  smd_findings_free(found);
}

// A rule evaluates a step that one of the workers has written only if it is asked to.
void EvaluateIncompleteSteps() {
  const std::string folder = fresh_folder("incomplete");
  const std::vector<smd_hook *> hooks = OpenWorkers(folder);
  record_steps(hooks[0], 2);
  EXPECT_OK(smd_hook_flush(hooks[0], 20000));
  smd_trial *trial = open_trial(folder.c_str());
  smd_rule_set *set = nullptr;
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  int calls = 0;
  ops.invoke = CountCall;
  EXPECT_OK(smd_rule_set_new(nullptr, &set));
  EXPECT_OK(smd_rule_set_add_function(set, "Own", &ops, &calls, SMD_ACTION_WARN));
  Evaluate(set, trial, 0);
  EXPECT(calls == 0);
  Evaluate(set, trial, SMD_EVALUATE_INCOMPLETE);
  EXPECT(calls == 2);
  smd_rule_set_free(set);
  smd_trial_free(trial);
  CloseWorkers(hooks);
  remove_folder(folder.c_str());
}

}  // namespace

int main() {
  const std::string folder = fresh_folder("workers");
  const std::vector<smd_hook *> hooks = OpenWorkers(folder);
  smd_trial *trial = open_trial(folder.c_str());
  std::atomic<bool> is_written{false};
  std::vector<std::thread> readers;
  std::vector<std::thread> writers;
  for (int i = 0; i < kReaders; ++i) readers.emplace_back(Read, trial, std::cref(is_written));
  for (int i = 0; i < kWorkers; ++i) writers.emplace_back(Write, hooks[static_cast<size_t>(i)], i);
  for (std::thread &writer : writers) writer.join();
  is_written = true;
  for (std::thread &reader : readers) reader.join();
  CloseWorkers(hooks);
  smd_trial_free(trial);
  remove_folder(folder.c_str());
  EvaluateIncompleteSteps();
  return 0;
}
