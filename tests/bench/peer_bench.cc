// Compares recording with the machine's limits, in turns.  Prints JSON: median seconds by name, of
// the library and of the peer.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "workspace.h"

namespace {

using bench::Check;
using bench::MedianOf;
using bench::Timer;

constexpr size_t kMiB = size_t{1} << 20;

// The seconds of the library and of its peer.
struct Times {
  std::vector<double> ours;
  std::vector<double> peers;

  void Print(const char *name) const {
    std::printf(",\n \"%s\": %.4g, \"%s, peer\": %.4g", name, MedianOf(ours), name,
                MedianOf(peers));
  }
};

class Tensors {
 public:
  Tensors(size_t count, size_t bytes) : bytes_(bytes), elements_(static_cast<int64_t>(bytes / 4)) {
    for (size_t i = 0; i < count; ++i) {
      names_.push_back("gradient/layer_" + std::to_string(i));
      tensors_.emplace_back(bytes / 4, 1.5F);
    }
  }

  size_t Count() const { return names_.size(); }
  size_t Bytes() const { return bytes_; }
  const char *Name(size_t i) const { return names_[i].c_str(); }
  const float *Data(size_t i) const { return tensors_[i].data(); }
  smd_tensor_view View(size_t i) const { return bench::ViewOf(tensors_[i], elements_); }

 private:
  const size_t bytes_;
  const int64_t elements_;
  std::vector<std::string> names_;
  std::vector<std::vector<float>> tensors_;
};

void SaveBorrowed(smd_hook *hook, const Tensors &tensors, size_t i) {
  const smd_tensor_view view = tensors.View(i);
  Check(smd_hook_save(hook, tensors.Name(i), &view));
}

void SaveOwned(smd_hook *hook, const Tensors &tensors, size_t i) {
  const smd_tensor_view view = tensors.View(i);
  Check(smd_hook_save_owned(
      hook, tensors.Name(i), &view, [](void *) {}, nullptr));
}

// Compares the cost of a call on the training thread with a copy of the tensor.  A step has 16
// tensors, and the queue is empty before it.
template <class Save>
void CompareWithMemcpy(const char *name, Save save) {
  constexpr int kRounds = 100;
  const bench::Workspace workspace("memcpy");
  const Tensors tensors(16, kMiB);
  std::vector<std::vector<float>> copies(tensors.Count(), std::vector<float>(kMiB / 4));
  const bench::HookPtr hook = bench::OpenHook(workspace.Path("trial"));
  Times times;
  for (int round = 0; round < kRounds; ++round) {
    Check(smd_hook_begin_step(hook.get(), nullptr));
    for (size_t i = 0; i < tensors.Count(); ++i) {
      const Timer timer;
      save(hook.get(), tensors, i);
      times.ours.push_back(timer.Seconds());
    }
    Check(smd_hook_end_step(hook.get()));
    Check(smd_hook_flush(hook.get(), -1));
    for (size_t i = 0; i < tensors.Count(); ++i) {
      const Timer timer;
      std::memcpy(copies[i].data(), tensors.Data(i), kMiB);
      asm volatile("" ::"r"(copies[i].data()) : "memory");
      times.peers.push_back(timer.Seconds());
    }
  }
  times.Print(name);
}

double Record(smd_hook *hook, const Tensors &tensors, int steps) {
  const Timer timer;
  for (int step = 0; step < steps; ++step) {
    Check(smd_hook_begin_step(hook, nullptr));
    for (size_t i = 0; i < tensors.Count(); ++i) SaveBorrowed(hook, tensors, i);
    Check(smd_hook_end_step(hook));
  }
  Check(smd_hook_flush(hook, -1));
  return timer.Seconds();
}

double Write(const bench::Workspace &workspace, const Tensors &tensors, int steps) {
  const Timer timer;
  for (int step = 0; step < steps; ++step) {
    const std::string path = workspace.Path(std::to_string(step));
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (size_t i = 0; i < tensors.Count(); ++i) {
      const auto size = static_cast<ssize_t>(tensors.Bytes());
      if (write(file, tensors.Data(i), tensors.Bytes()) != size) std::perror("write");
    }
    close(file);
  }
  return timer.Seconds();
}

// Writes the same tensors to new files each time, so that the system must allocate pages for both.
void CompareWithWrite(const char *name, size_t bytes, size_t count, int steps, int rounds) {
  const Tensors tensors(count, bytes);
  const bench::Workspace written("written");
  const bench::Workspace recorded("recorded");
  const bench::HookPtr hook = bench::OpenHook(recorded.Path("trial"));
  Times times;
  for (int round = 0; round < rounds; ++round) {
    written.Empty();
    bench::RemoveSteps(recorded.Path("trial"));
    times.peers.push_back(Write(written, tensors, steps));
    written.Empty();
    times.ours.push_back(Record(hook.get(), tensors, steps));
  }
  times.Print(name);
}

}  // namespace

int main() {
  std::printf("{\"version\": 1");
  CompareWithMemcpy("save borrowed", SaveBorrowed);
  CompareWithMemcpy("save owned", SaveOwned);
  CompareWithWrite("record 1 MiB", kMiB, 16, 16, 11);
  CompareWithWrite("record 128 MiB", 128 * kMiB, 1, 4, 11);
  std::printf("}\n");
}
