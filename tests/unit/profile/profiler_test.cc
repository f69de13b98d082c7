#include "profile/profiler.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/strings.h"
#include "storage/memory_store.h"
#include "storage/temporary_folder.h"

namespace smdebug::profile {
namespace profiler_test {

using storage::MemoryStore;

constexpr int64_t kTime = 1'706'745'596'000'000;

// A clock whose wall time jumps.
class JumpingClock final : public Clock {
 public:
  double WallSeconds() override { return wall; }
  Duration Monotonic() override { return monotonic; }
  void WaitFor(CondVar &condition, Mutex &mutex, Duration time) override SMD_REQUIRES(mutex) {
    condition.WaitFor(mutex, time);
  }

  double wall = 1'706'745'596;
  Duration monotonic = std::chrono::seconds(100);
};

Event At(int64_t begin_us, std::string_view name = "step") {
  Event event;
  event.name = name;
  event.phase = "Step:ModeKeys.TRAIN";
  event.step = 1;
  event.begin_us = begin_us;
  event.duration_us = 10;
  return event;
}

// Returns all files below the folder, by their names in it.
std::map<std::string, std::string> FilesIn(const storage::TemporaryFolder &folder) {
  std::map<std::string, std::string> files;
  for (const auto &each : std::filesystem::recursive_directory_iterator(folder.Path())) {
    if (!each.is_regular_file()) continue;
    const std::string name = std::filesystem::relative(each.path(), folder.Path());
    files[name] = folder.Read(name);
  }
  return files;
}

// Returns how many events a timeline file has, other than those that name phases.
int EventsIn(const std::string &text) {
  const auto document = JsonDocument::Parse(text);
  EXPECT_TRUE(document.IsOk()) << document.GetStatus().Message();
  int count = 0;
  if (document.IsOk()) {
    for (const JsonValue &each : document->Root().Items()) count += *each.Find("ph")->Text() != "M";
  }
  return count;
}

std::shared_ptr<Profiler> Open(const ProfilerOptions &options) {
  auto opened = Profiler::Open(options);
  EXPECT_TRUE(opened.IsOk()) << opened.GetStatus().Message();
  return *opened;
}

Deadline Soon() { return Deadline::After(Clock::System(), std::chrono::seconds(20)); }

class ProfilerTest : public testing::Test {
 protected:
  ProfilerTest() {
    options_.store = store_;
    options_.node = "7-algo-1";
    options_.logger = Logger(LogLevel::kInfo, [this](LogLevel, const std::string &line) {
      const MutexLock lock(mutex_);
      lines_.push_back(line);
    });
  }

  int EventsInTimelines() const {
    int count = 0;
    for (const auto &[name, text] : store_->Files()) {
      if (name.ends_with("_pythontimeline.json")) count += EventsIn(text);
    }
    return count;
  }
  std::vector<std::string> Lines() {
    const MutexLock lock(mutex_);
    return lines_;
  }

  const std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  Mutex mutex_;
  std::vector<std::string> lines_ SMD_GUARDED_BY(mutex_);
  ProfilerOptions options_;
};

TEST_F(ProfilerTest, NamesFilesByTheirLastEvent) {
  const auto profiler = Open(options_);
  EXPECT_TRUE(profiler->Add(At(kTime)).IsOk());
  EXPECT_TRUE(profiler->Add(At(kTime - 500)).IsOk());
  EXPECT_TRUE(profiler->Flush(Soon()).IsOk());
  EXPECT_EQ(store_->Files().count(
                "framework/pevents/2024013123/1706745596000010_7-algo-1_pythontimeline.json"),
            1U);
  // The clock of the caller was set back by a day.
  EXPECT_TRUE(profiler->Add(At(kTime - 86'400'000'000)).IsOk());
  EXPECT_TRUE(profiler->Close().IsOk());
  EXPECT_TRUE(profiler->Close().IsOk());
  EXPECT_EQ(store_->Files().count(
                "framework/pevents/2024013023/1706659196000010_7-algo-1_pythontimeline.json"),
            1U);
  EXPECT_EQ(store_->Files().count("framework/training_job_end.ts"), 1U);
  EXPECT_EQ(store_->Files().count("system/training_job_end.ts"), 0U) << "nothing was sampled";
  EXPECT_EQ(profiler->Add(At(kTime)).GetCode(), Code::kWrongState);
  EXPECT_EQ(profiler->Flush(Soon()).GetCode(), Code::kWrongState);
}

TEST_F(ProfilerTest, WritesNothingWithoutEvents) {
  Open(options_);
  EXPECT_TRUE(store_->Files().empty());
}

TEST_F(ProfilerTest, NeverReplacesAFile) {
  for (int i = 0; i < 3; ++i) {
    const auto profiler = Open(options_);
    EXPECT_TRUE(profiler->Add(At(kTime)).IsOk());
  }
  EXPECT_EQ(EventsInTimelines(), 3) << "closing without end marks writes all events";
  EXPECT_EQ(store_->Files().size(), 3U);
}

TEST_F(ProfilerTest, RefusesWhatReadersCouldNotRead) {
  const auto profiler = Open(options_);
  const auto refused = [&](auto change) {
    Event event = At(kTime);
    change(&event);
    const Status status = profiler->Add(event);
    EXPECT_EQ(status.GetCode(), Code::kInvalidArgument);
    EXPECT_FALSE(status.Message().empty());
  };
  const std::string long_text(5000, 'x');
  const std::string long_args = R"({"a": ")" + std::string(70'000, 'x') + "\"}";
  refused([](Event *event) { event->name = ""; });
  refused([](Event *event) { event->phase = ""; });
  refused([&](Event *event) { event->name = long_text; });
  refused([](Event *event) { event->begin_us = -1; });
  refused([](Event *event) { event->begin_us = INT64_MAX; });
  refused([](Event *event) { event->duration_us = -1; });
  refused([](Event *event) { event->duration_us = INT64_MAX; });
  refused([](Event *event) { event->args = "[]"; });
  refused([](Event *event) { event->args = "{\"a\": NaN}"; });
  refused([&](Event *event) { event->args = long_args; });
  EXPECT_TRUE(profiler->Close().IsOk());
  EXPECT_EQ(EventsInTimelines(), 0);
}

TEST_F(ProfilerTest, KeepsAllEventsOfThreads) {
  constexpr int kThreads = 8;
  constexpr int kEvents = 5000;
  options_.rotate_bytes = 100'000;
  const auto profiler = Open(options_);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kEvents; ++j) {
        EXPECT_TRUE(profiler->Add(At(profiler->Now())).IsOk());
        if (j % 1000 == 0) {
          EXPECT_TRUE(profiler->Flush(Soon()).IsOk());
        }
      }
    });
  }
  for (std::thread &each : threads) each.join();
  EXPECT_TRUE(profiler->Close().IsOk());
  EXPECT_EQ(profiler->Count("events_written"), kThreads * kEvents);
  EXPECT_EQ(profiler->Count("events_dropped"), 0);
  EXPECT_EQ(EventsInTimelines(), kThreads * kEvents);
  for (const auto &[name, text] : store_->Files()) EXPECT_LT(text.size(), 110'000U) << name;
  EXPECT_GT(profiler->Count("files_written"), 10);
}

TEST_F(ProfilerTest, CountsWhatTheBufferCannotHold) {
  options_.buffer_bytes = 1000;
  const auto profiler = Open(options_);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(profiler->Add(At(kTime + i)).IsOk());
  EXPECT_TRUE(profiler->Close().IsOk());
  const int64_t dropped = profiler->Count("events_dropped");
  EXPECT_GT(dropped, 50);
  EXPECT_EQ(profiler->Count("events_written") + dropped, 100);
  ASSERT_FALSE(Lines().empty());
  EXPECT_NE(Lines()[0].find("dropped"), std::string::npos);
}

TEST_F(ProfilerTest, LosesNothingWhileTheDiskIsFull) {
  std::atomic<bool> is_full{true};
  store_->SetFault([&](MemoryStore::Call call, const std::string &name) {
    const bool fails = is_full && call == MemoryStore::Call::kCommit;
    return fails ? Status(Code::kNoSpace, StrCat(name, ": no space")) : Status::Ok();
  });
  const auto profiler = Open(options_);
  EXPECT_TRUE(profiler->Add(At(kTime)).IsOk());
  EXPECT_EQ(profiler->Flush(Soon()).GetCode(), Code::kNoSpace);
  EXPECT_TRUE(profiler->Add(At(kTime + 1)).IsOk()) << "the job continues";
  is_full = false;
  EXPECT_TRUE(profiler->Close().IsOk());
  EXPECT_EQ(EventsInTimelines(), 2);
  int errors = 0;
  for (const std::string &line : Lines()) errors += line.find("no space") != std::string::npos;
  EXPECT_EQ(errors, 1) << "a repeated error is logged once";
}

TEST_F(ProfilerTest, SamplesTheMachine) {
  options_.sample_milliseconds = 100;
  options_.samples_gpus = false;
  const auto profiler = Open(options_);
  const auto second = Open(options_);
  const Deadline end = Soon();
  while (profiler->Count("samples") < 3 && !end.IsOver(Clock::System())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(second->Count("samples"), 0) << "one process of a machine samples";
  EXPECT_TRUE(second->Close().IsOk());
  EXPECT_TRUE(profiler->Flush(Soon()).IsOk());
  EXPECT_TRUE(profiler->Close().IsOk());
  EXPECT_GE(profiler->Count("samples"), 3);
  int lines = 0;
  for (const auto &[name, text] : store_->Files()) {
    if (!name.starts_with("system/incremental/")) continue;
    EXPECT_TRUE(name.ends_with(".algo-1.json")) << name;
    for (const std::string &line : SplitList(text, '\n')) {
      EXPECT_TRUE(JsonDocument::Parse(line).IsOk()) << line;
      ++lines;
    }
  }
  EXPECT_GE(lines, 18) << "six metrics of three samples";
  EXPECT_EQ(store_->Files().count("system/training_job_end.ts"), 1U);
}

TEST_F(ProfilerTest, TimeNeverDecreases) {
  JumpingClock clock;
  options_.clock = &clock;
  const auto profiler = Open(options_);
  const int64_t before = profiler->Now();
  clock.wall = 5;
  clock.monotonic += std::chrono::seconds(1);
  EXPECT_EQ(profiler->Now(), before + 1'000'000);
}

TEST(ProfilerFolderTest, RefusesPathsThatItCannotUse) {
  ProfilerOptions options;
  EXPECT_EQ(Profiler::Open(options).GetStatus().GetCode(), Code::kInvalidArgument);
  options.out_dir = "gs://bucket/run";
  EXPECT_EQ(Profiler::Open(options).GetStatus().GetCode(), Code::kUnsupported);
}

// What a killed process had flushed is completed by the next one, and readers see it.
TEST(ProfilerFolderTest, AKillLosesOnlyTheLastSecond) {
  const storage::TemporaryFolder folder;
  ProfilerOptions options;
  options.out_dir = folder.Path();
  options.node = "0-algo-1";
  options.logger = Logger(LogLevel::kOff, {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto opened = Profiler::Open(options);
    for (int i = 0; i < 100; ++i) {
      if (!(*opened)->Add(At(kTime + i)).IsOk()) _exit(1);
    }
    while (true) pause();
  }
  const Deadline end = Soon();
  std::map<std::string, std::string> files;
  while (files.empty() && !end.IsOver(Clock::System())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    files = FilesIn(folder);
    std::erase_if(files, [](const auto &file) { return file.second.empty(); });
  }
  ASSERT_EQ(files.size(), 1U);
  EXPECT_TRUE(files.begin()->first.ends_with(".tmp")) << files.begin()->first;
  {
    const auto beside = Open(options);
    EXPECT_EQ(FilesIn(folder).size(), 1U) << "its process lives";
  }
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  const auto next = Open(options);
  files = FilesIn(folder);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files.begin()->first,
            "framework/pevents/2024013123/1706745596000109_0-algo-1_pythontimeline.json");
  EXPECT_EQ(EventsIn(files.begin()->second), 100);
}

TEST(ProfilerFolderTest, WritesAsIntoMemory) {
  const storage::TemporaryFolder folder;
  ProfilerOptions options;
  options.out_dir = folder.Path("new/folder");
  options.node = "0-algo-1";
  options.rotate_bytes = 1024;
  const auto profiler = Open(options);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(profiler->Add(At(kTime + i)).IsOk());
  EXPECT_TRUE(profiler->Close().IsOk());
  int events = 0;
  for (const auto &[name, text] : FilesIn(folder)) {
    EXPECT_FALSE(name.ends_with(".tmp")) << name;
    if (name.ends_with(".json")) events += EventsIn(text);
  }
  EXPECT_EQ(events, 50);
}

TEST(ProfilerFolderTest, ARemovedFolderDoesNotBlockLaterEvents) {
  const storage::TemporaryFolder folder;
  ProfilerOptions options;
  options.out_dir = folder.Path("profile");
  options.logger = Logger(LogLevel::kOff, {});
  const auto profiler = Open(options);
  EXPECT_TRUE(profiler->Add(At(kTime)).IsOk());
  const Deadline end = Soon();
  while (profiler->Count("bytes_written") == 0 && !end.IsOver(Clock::System())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::filesystem::remove_all(folder.Path("profile"));
  EXPECT_EQ(profiler->Flush(Soon()).GetCode(), Code::kNotFound);
  EXPECT_TRUE(profiler->Add(At(kTime + 1)).IsOk());
  EXPECT_TRUE(profiler->Close().IsOk());
  EXPECT_EQ(profiler->Count("events_dropped"), 1);
  EXPECT_EQ(profiler->Count("files_written"), 1);
}

}  // namespace profiler_test
}  // namespace smdebug::profile
