// Several threads save into one hook while others read the trial.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "expect.h"
}

namespace {

constexpr int kSavers = 4;
constexpr int kSteps = 30;

void SaveSome(smd_hook *hook, int saver) {
  const smd_tensor_view view = example_view();
  for (int i = 0; i < 20; ++i) {
    const std::string name = "w" + std::to_string(saver) + "_" + std::to_string(i);
    EXPECT_OK(smd_hook_save(hook, name.c_str(), &view));
  }
}

void ReadUntilEnd(smd_trial *trial, const std::atomic<bool> &is_written) {
  size_t seen = 0;
  do {
    smd_integers *steps = nullptr;
    EXPECT_OK(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
    EXPECT(smd_integers_count(steps) >= seen);
    seen = smd_integers_count(steps);
    smd_integers_free(steps);
    if (seen == 0) continue;
    smd_tensor *tensor = nullptr;
    smd_value *value = nullptr;
    smd_values *values = nullptr;
    EXPECT_OK(smd_trial_tensor(trial, "w1_7", &tensor));
    EXPECT_OK(
        smd_tensor_value(tensor, static_cast<int64_t>(seen) - 1, SMD_MODE_GLOBAL, nullptr, &value));
    EXPECT(smd_value_nbytes(value) == sizeof example_data);
    EXPECT_OK(smd_tensor_values(tensor, 0, INT64_MAX, SMD_MODE_GLOBAL, nullptr, &values));
    EXPECT(smd_values_count(values) >= seen);
    smd_values_free(values);
    smd_value_free(value);
    smd_tensor_free(tensor);
  } while (!is_written || seen < kSteps);
}

}  // namespace

int main() {
  const std::string path = fresh_folder("threads");
  smd_hook *hook = open_hook(path.c_str());
  EXPECT_OK(smd_hook_export_collections(hook));
  smd_trial *trial = open_trial(path.c_str());
  std::atomic<bool> is_written{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) readers.emplace_back(ReadUntilEnd, trial, std::cref(is_written));
  for (int step = 0; step < kSteps; ++step) {
    EXPECT_OK(smd_hook_begin_step(hook, nullptr));
    std::vector<std::thread> savers;
    for (int i = 0; i < kSavers; ++i) savers.emplace_back(SaveSome, hook, i);
    for (std::thread &saver : savers) saver.join();
    EXPECT_OK(smd_hook_end_step(hook));
  }
  EXPECT_OK(smd_hook_close(hook));
  is_written = true;
  for (std::thread &reader : readers) reader.join();
  smd_hook_free(hook);
  smd_trial_free(trial);
  remove_folder(path.c_str());
  return 0;
}
