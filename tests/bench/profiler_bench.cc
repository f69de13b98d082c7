// Measures recording of a profile through the C interface, and prints a figure a line:
//   event_ns           processor time of the calling thread for an event
//   written_per_s      events a second, from the first call until all are written
//   sampler_share      of a core, for sampling the machine every 500 ms
// usage: smdebug_profiler_bench FOLDER [SECONDS]: how long the sampler is measured (20)
#include <smdebug.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

void Must(smd_error *error) {
  if (error == nullptr) return;
  std::fprintf(stderr, "%s\n", smd_error_message(error));
  std::exit(1);
}

double Now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

smd_profiler *Open(const std::string &folder, const char *name, const char *value) {
  smd_profiler_options *options = nullptr;
  smd_profiler *profiler = nullptr;
  Must(smd_profiler_options_new(&options));
  Must(smd_profiler_options_set(options, "out_dir", folder.c_str()));
  Must(smd_profiler_options_set(options, name, value));
  Must(smd_profiler_new(options, &profiler));
  smd_profiler_options_free(options);
  return profiler;
}

void MeasureEvents(const std::string &folder) {
  constexpr int64_t kEvents = 1'000'000;
  constexpr double kNanoseconds = 1e9;
  smd_profiler *profiler = Open(folder, "buffer_bytes", "1073741824");
  const int64_t begin = smd_profiler_now(profiler);
  const double wall = Now(CLOCK_MONOTONIC);
  const double used = Now(CLOCK_THREAD_CPUTIME_ID);
  for (int64_t i = 0; i < kEvents; ++i) {
    Must(smd_profiler_event(profiler, "Forward", "Forward", i / 10, begin + i, 90, nullptr));
  }
  const double spent = Now(CLOCK_THREAD_CPUTIME_ID) - used;
  Must(smd_profiler_close(profiler));
  const double taken = Now(CLOCK_MONOTONIC) - wall;
  if (smd_profiler_count(profiler, "events_written") != kEvents) std::exit(1);
  smd_profiler_free(profiler);
  std::printf("event_ns %.0f\n", spent / kEvents * kNanoseconds);
  std::printf("written_per_s %.0f\n", kEvents / taken);
}

void MeasureSampler(const std::string &folder, unsigned seconds) {
  smd_profiler *profiler = Open(folder, "sample_milliseconds", "500");
  sleep(1);
  const double wall = Now(CLOCK_MONOTONIC);
  const double used = Now(CLOCK_PROCESS_CPUTIME_ID);
  sleep(seconds);
  const double share = (Now(CLOCK_PROCESS_CPUTIME_ID) - used) / (Now(CLOCK_MONOTONIC) - wall);
  Must(smd_profiler_close(profiler));
  smd_profiler_free(profiler);
  std::printf("sampler_share %.6f\n", share);
}

}  // namespace

int main(int count, char **arguments) {
  if (count < 2) return 2;
  const std::string folder = arguments[1];
  MeasureEvents(folder + "/events");
  MeasureSampler(folder + "/samples",
                 count > 2 ? static_cast<unsigned>(std::atoi(arguments[2])) : 20);
  return 0;
}
