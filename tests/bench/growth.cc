// Measures how cost grows with sizes and counts.  Each run makes one measurement, so that the
// memory of the process belongs to it.  Prints a name and a number per line.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "workspace.h"

namespace {

using bench::Check;
using bench::MedianOf;
using bench::Timer;

void PrintFigure(const char *name, double value) { std::printf("%s %.9g\n", name, value); }

std::vector<std::string> Names(int tensors) {
  std::vector<std::string> names;
  for (int i = 0; i < tensors; ++i) names.push_back("gradient/layer_" + std::to_string(i));
  return names;
}

struct Shape {
  int64_t bytes;
  int tensors;
  int64_t steps;
  int workers;
};

// The hooks of all workers of a job, in this process.
class Job {
 public:
  Job(std::string folder, const Shape &shape)
      : shape_(shape),
        names_(Names(shape.tensors)),
        elements_(shape.bytes / 4),
        data_(static_cast<size_t>(elements_), 1.5F) {
    for (int i = 0; i < shape.workers; ++i) {
      hooks_.push_back(
          bench::OpenHook(folder, nullptr, "worker_" + std::to_string(i), shape.workers));
    }
  }

  // Records a step with all workers, and returns when it is written.
  void Step() {
    const smd_tensor_view view = bench::ViewOf(data_, elements_);
    for (const bench::HookPtr &hook : hooks_) {
      Check(smd_hook_begin_step(hook.get(), nullptr));
      for (const std::string &name : names_) Check(smd_hook_save(hook.get(), name.c_str(), &view));
      Check(smd_hook_end_step(hook.get()));
    }
  }
  void Flush() {
    for (const bench::HookPtr &hook : hooks_) Check(smd_hook_flush(hook.get(), -1));
  }
  void Close() {
    for (const bench::HookPtr &hook : hooks_) Check(smd_hook_close(hook.get()));
  }

 private:
  const Shape shape_;
  const std::vector<std::string> names_;
  const int64_t elements_;
  const std::vector<float> data_;
  std::vector<bench::HookPtr> hooks_;
};

void Record(const std::string &folder, const Shape &shape) {
  Job job(folder, shape);
  const Timer timer;
  for (int64_t step = 0; step < shape.steps; ++step) job.Step();
  job.Flush();
  PrintFigure("record", timer.Seconds());
  job.Close();
}

size_t CountSteps(smd_trial *trial) {
  smd_integers *steps = nullptr;
  Check(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  const size_t count = smd_integers_count(steps);
  smd_integers_free(steps);
  return count;
}

size_t CountNames(smd_trial *trial) {
  smd_strings *names = nullptr;
  Check(smd_trial_tensor_names(trial, -1, SMD_MODE_GLOBAL, nullptr, nullptr, &names));
  const size_t count = smd_strings_count(names);
  smd_strings_free(names);
  return count;
}

double Allocated() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

// "VmHWM" is the peak resident memory, "VmRSS" the current one.
double Resident(const char *which) {
  double kilobytes = 0;
  char line[256];
  std::FILE *status = std::fopen("/proc/self/status", "r");
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr) {
    if (std::strncmp(line, which, std::strlen(which)) == 0) {
      kilobytes = std::atof(line + std::strlen(which) + 1);
    }
  }
  if (status != nullptr) std::fclose(status);
  return kilobytes * 1024;
}

void Open(const std::string &folder) {
  const double allocated = Allocated();
  const double resident = Resident("VmRSS");
  const Timer timer;
  const bench::TrialPtr trial = bench::OpenTrial(folder);
  PrintFigure("steps", static_cast<double>(CountSteps(trial.get())));
  PrintFigure("names", static_cast<double>(CountNames(trial.get())));
  PrintFigure("open", timer.Seconds());
  PrintFigure("allocated", Allocated() - allocated);
  PrintFigure("resident", Resident("VmRSS") - resident);
  PrintFigure("peak", Resident("VmHWM") - resident);
}

// Reads the values of the first `shape.tensors` tensors at the first `shape.steps` steps.
void Read(const std::string &folder, const Shape &shape) {
  const bench::TrialPtr trial = bench::OpenTrial(folder);
  CountSteps(trial.get());
  std::vector<bench::TensorPtr> tensors;
  for (const std::string &name : Names(shape.tensors)) {
    smd_tensor *tensor = nullptr;
    Check(smd_trial_tensor(trial.get(), name.c_str(), &tensor));
    tensors.emplace_back(tensor);
  }
  const std::string worker = "worker_" + std::to_string(shape.workers - 1);
  const Timer timer;
  for (int64_t step = 0; step < shape.steps; ++step) {
    for (const bench::TensorPtr &tensor : tensors) {
      smd_value *value = nullptr;
      Check(smd_tensor_value(tensor.get(), step, SMD_MODE_GLOBAL, worker.c_str(), &value));
      smd_value_free(value);
    }
  }
  PrintFigure("read", timer.Seconds());
}

// Measures the cost of a refresh while the job runs.
void Refresh(const std::string &folder, const Shape &shape) {
  Job job(folder, shape);
  for (int64_t step = 0; step < shape.steps; ++step) job.Step();
  job.Flush();
  const bench::TrialPtr trial = bench::OpenTrial(folder);
  CountSteps(trial.get());
  const auto refresh = [&] {
    const Timer timer;
    Check(smd_trial_refresh(trial.get()));
    return timer.Seconds();
  };
  for (const int added : {1, 10}) {
    std::vector<double> seconds;
    for (int round = 0; round < 7; ++round) {
      for (int i = 0; i < added; ++i) job.Step();
      job.Flush();
      seconds.push_back(refresh());
    }
    PrintFigure(added == 1 ? "new_1" : "new_10", MedianOf(seconds));
  }
  PrintFigure("recent", MedianOf({refresh(), refresh(), refresh()}));
  sleep(4);  // until the folders' times prove that nothing is new
  refresh();
  std::vector<double> seconds;
  for (int i = 0; i < 1000; ++i) seconds.push_back(refresh());
  PrintFigure("unchanged", MedianOf(seconds));
  job.Close();
}

int File(const std::string &name, int flags) {
  const int file = open(name.c_str(), flags, 0666);
  if (file < 0) std::exit(1);
  return file;
}

// Reads and writes the same bytes and files without the library.
void Plain(const std::string &folder, const Shape &shape) {
  std::vector<char> data(static_cast<size_t>(shape.bytes), 3);
  const auto path = [&](int64_t step) { return folder + "/plain_" + std::to_string(step); };
  const Timer writing;
  for (int64_t step = 0; step < shape.steps; ++step) {
    const int file = File(path(step), O_WRONLY | O_CREAT | O_TRUNC);
    for (int i = 0; i < shape.tensors; ++i) {
      if (write(file, data.data(), data.size()) != shape.bytes) std::exit(1);
    }
    close(file);
  }
  PrintFigure("write", writing.Seconds());
  const Timer reading;
  for (int64_t step = 0; step < shape.steps; ++step) {
    const int file = File(path(step), O_RDONLY);
    for (int64_t i = 0; i < shape.tensors; ++i) {
      if (pread(file, data.data(), data.size(), i * shape.bytes) != shape.bytes) std::exit(1);
    }
    close(file);
  }
  PrintFigure("pread", reading.Seconds());
  for (int64_t step = 0; step < shape.steps; ++step) unlink(path(step).c_str());
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 7) {
    std::fprintf(stderr,
                 "usage: %s record|open|read|refresh|plain FOLDER BYTES TENSORS STEPS WORKERS\n",
                 argv[0]);
    return 2;
  }
  const std::string what = argv[1];
  const std::string folder = argv[2];
  const Shape shape{std::atoll(argv[3]), std::atoi(argv[4]), std::atoll(argv[5]),
                    std::atoi(argv[6])};
  if (what == "record") Record(folder, shape);
  if (what == "open") Open(folder);
  if (what == "read") Read(folder, shape);
  if (what == "refresh") Refresh(folder, shape);
  if (what == "plain") Plain(folder, shape);
  return 0;
}
