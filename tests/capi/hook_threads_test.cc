// Many threads use one hook at once: they save, ask, flush, end and discard steps, close, while
// the queue blocks, drops and spills, and callbacks call back.  For the thread sanitizer, too.
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "expect.h"
}

namespace {

constexpr int kSavers = 3;
constexpr int kSteps = 24;
constexpr int64_t kSmall = 100;
constexpr int64_t kLarge = 50'000;
constexpr unsigned kAlarmSeconds = 100;

struct Job {
  std::atomic<smd_hook *> hook{nullptr};
  std::atomic<bool> is_over{false};
  std::atomic<int> borrowed{0};
  std::atomic<int> released{0};
  std::mutex log_mutex;
  std::vector<float> numbers = std::vector<float>(kLarge, 1.5F);
};

void Ask(Job &job) {
  smd_hook *hook = job.hook;
  if (hook == nullptr) return;
  EXPECT(smd_hook_last_step(hook, SMD_MODE_TRAIN) >= -1);
  EXPECT(smd_hook_mode(hook) == SMD_MODE_TRAIN);
  EXPECT(smd_hook_count(hook, "bytes_queued") >= 0);
  EXPECT(smd_hook_wants(hook, "w0") >= 0 && smd_hook_saves_step(hook) >= 0);
}

void Release(void *user_data) {
  Job &job = *static_cast<Job *>(user_data);
  ++job.released;
  Ask(job);
}

void TakeLine(void *user_data, smd_log_level level, const char *message) {
  Job &job = *static_cast<Job *>(user_data);
  EXPECT(level != SMD_LOG_OFF && message[0] != '\0');
  const std::lock_guard lock(job.log_mutex);
  Ask(job);
}

// Steps are dropped, discarded, ended and the hook closed by other threads.
void Allow(smd_error *error) {
  const smd_code code = smd_error_code(error);
  EXPECT(code == SMD_OK || code == SMD_WRONG_STATE || code == SMD_STEP_DROPPED ||
         code == SMD_TIMEOUT);
  smd_error_free(error);
}

void SaveAlways(Job &job, int saver) {
  const std::string name = "w" + std::to_string(saver);
  for (int64_t i = 0; !job.is_over; ++i) {
    const int64_t count = i % 4 == 0 ? kLarge : kSmall;
    smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
    view.data = job.numbers.data();
    view.shape = &count;
    view.ndim = 1;
    view.dtype = SMD_FLOAT32;
    if (i % 3 == 0) {
      Allow(smd_hook_save(job.hook, name.c_str(), &view));
    } else {
      ++job.borrowed;
      Allow(smd_hook_save_owned(job.hook, name.c_str(), &view, Release, &job));
    }
    std::this_thread::yield();
  }
}

void AskAlways(Job &job) {
  while (!job.is_over) {
    {
      const std::lock_guard lock(job.log_mutex);
      Ask(job);
    }
    std::this_thread::yield();
  }
}

void FlushAlways(Job &job) {
  while (!job.is_over) {
    Allow(smd_hook_flush(job.hook, 20));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void TakeSteps(Job &job) {
  const float loss = 0.5F;
  const int64_t one = 1;
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = &loss;
  view.shape = &one;
  view.ndim = 1;
  view.dtype = SMD_FLOAT32;
  for (int step = 0; step < kSteps; ++step) {
    int64_t number = -1;
    EXPECT_OK(smd_hook_begin_step(job.hook, &number));
    EXPECT(number == step);
    Allow(smd_hook_save_scalar(job.hook, "loss", &view, 0));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Allow(step % 4 == 3 ? smd_hook_discard_step(job.hook) : smd_hook_end_step(job.hook));
  }
}

smd_hook *Open(Job &job, const std::string &path, const char *policy, const std::string &spill) {
  smd_hook_options *options = nullptr;
  smd_save_config *every_step = nullptr;
  smd_hook *hook = nullptr;
  EXPECT_OK(smd_hook_options_new(&options));
  EXPECT_OK(smd_hook_options_set(options, "out_dir", path.c_str()));
  EXPECT_OK(smd_hook_options_set(options, "save_all", "true"));
  EXPECT_OK(smd_hook_options_set(options, "queue_bytes", "400000"));
  EXPECT_OK(smd_hook_options_set(options, "queue_policy", policy));
  EXPECT_OK(smd_hook_options_set(options, "spill_dir", spill.c_str()));
  EXPECT_OK(smd_save_config_new(&every_step));
  EXPECT_OK(smd_save_config_set(every_step, SMD_MODE_ANY, 1, 0, -1, nullptr, 0));
  EXPECT_OK(smd_hook_options_set_save_config(options, every_step));
  EXPECT_OK(smd_hook_options_set_log(options, SMD_LOG_DEBUG, TakeLine, &job, nullptr));
  EXPECT_OK(smd_hook_new(options, &hook));
  smd_save_config_free(every_step);
  smd_hook_options_free(options);
  EXPECT_OK(smd_hook_set_mode(hook, SMD_MODE_TRAIN));
  return hook;
}

// Whatever was recorded can be read, and no discarded step is there.
void CheckTrial(const std::string &path, int64_t written) {
  smd_trial *trial = open_trial(path.c_str());
  smd_integers *steps = nullptr;
  EXPECT_OK(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  EXPECT(static_cast<int64_t>(smd_integers_count(steps)) == written);
  smd_tensor *tensor = nullptr;
  for (size_t i = 0; i < smd_integers_count(steps); ++i) {
    const int64_t step = smd_integers_get(steps, i);
    EXPECT(step >= kSteps || step % 4 != 3);
    smd_value *value = nullptr;
    if (tensor == nullptr) EXPECT_OK(smd_trial_tensor(trial, "scalar/loss", &tensor));
    EXPECT_OK(smd_tensor_value(tensor, step, SMD_MODE_GLOBAL, nullptr, &value));
    smd_value_free(value);
  }
  smd_tensor_free(tensor);
  smd_integers_free(steps);
  smd_trial_free(trial);
}

void Run(const char *policy) {
  const std::string path = fresh_folder("hook-threads");
  const std::string spill = path + "-spill";
  Job job;
  job.hook = Open(job, path, policy, spill);
  std::vector<std::thread> threads;
  for (int i = 0; i < kSavers; ++i) threads.emplace_back(SaveAlways, std::ref(job), i);
  threads.emplace_back(AskAlways, std::ref(job));
  threads.emplace_back(FlushAlways, std::ref(job));
  TakeSteps(job);
  EXPECT_OK(smd_hook_begin_step(job.hook, nullptr));
  std::thread second([&job] { Allow(smd_hook_close(job.hook)); });
  Allow(smd_hook_close(job.hook));
  second.join();
  job.is_over = true;
  for (std::thread &thread : threads) thread.join();
  EXPECT(job.released == job.borrowed);
  const int64_t written = smd_hook_count(job.hook, "steps_written");
  smd_hook_free(job.hook);
  CheckTrial(path, written);
  remove_folder(path.c_str());
  remove_folder(spill.c_str());
}

}  // namespace

int main() {
  alarm(kAlarmSeconds);
  for (const char *policy : {"block", "drop", "spill"}) Run(policy);
  return 0;
}
