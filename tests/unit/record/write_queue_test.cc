#include "record/write_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "base/fake_clock.h"
#include "format/paths.h"
#include "record/gate.h"
#include "storage/memory_store.h"
#include "storage/temporary_folder.h"

namespace smdebug::record::write_queue_test {
namespace {

using std::chrono::seconds;
using storage::MemoryStore;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Call = MemoryStore::Call;

// The thread is the real one; a gate in the store says when it goes on, and time is the
// test's.
class WriteQueueTest : public testing::Test {
 protected:
  ~WriteQueueTest() override {
    gate_->Open();
    clock_.SetOnWait([](Clock::Duration) { std::this_thread::yield(); });
    queue_.reset();
  }

  WriteQueue &Queue() {
    if (!queue_) {
      queue_ = std::make_unique<WriteQueue>(
          store_, "worker_0", options_, clock_,
          Logger(LogLevel::kDebug, [log = log_](LogLevel, const std::string &line) {
            const std::lock_guard lock(log->mutex);
            log->lines.push_back(line);
          }));
    }
    return *queue_;
  }

  static std::shared_ptr<Step> NewStep(int64_t number) {
    auto step = std::make_shared<Step>();
    step->global_step = number;
    step->mode_step = number;
    return step;
  }
  static Batch BatchOf(size_t size, char letter = 'x') {
    auto bytes = std::make_shared<const std::string>(size, letter);
    Batch batch;
    batch.records.push_back({"tensor", size});
    batch.Add({bytes, AsBytes(*bytes)});
    return batch;
  }
  Status Save(int64_t step, size_t size = 10) {
    return Queue().Seal(NewStep(step), BatchOf(size, static_cast<char>('a' + step)));
  }
  // With the machine's own time, as the thread must really come to its end.
  void FlushReally() {
    clock_.SetOnWait([](Clock::Duration) { std::this_thread::yield(); });
    const Status status = Queue().Flush(Deadline::Never());
    EXPECT_TRUE(status.IsOk()) << status.Message();
  }
  void HoldUpTheStore() {
    store_->SetFault([gate = gate_](Call call, const std::string &) {
      if (call == Call::kAppend) gate->Pass();
      return Status::Ok();
    });
  }
  void FailAt(Call failing, Code code) {
    store_->SetFault([failing, code](Call call, const std::string &name) {
      return call == failing ? Status(code, name + ": as set") : Status::Ok();
    });
  }
  std::vector<int64_t> Written() const {
    std::vector<int64_t> steps;
    for (const auto &[name, text] : store_->Files()) {
      if (name.starts_with("index/")) steps.push_back(format::ParseStepFileName(name)->step);
    }
    return steps;
  }
  std::vector<std::string> Log() {
    const std::lock_guard lock(log_->mutex);
    return log_->lines;
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::shared_ptr<Gate> gate_ = Gate::Closed();
  FakeClock clock_;
  QueueOptions options_;
  struct LogLines {
    std::mutex mutex;
    std::vector<std::string> lines;
  };
  // Shared, since the thread may be left behind.
  std::shared_ptr<LogLines> log_ = std::make_shared<LogLines>();
  std::unique_ptr<WriteQueue> queue_;
};

// ---- writing -----------------------------------------------------------------------------

TEST_F(WriteQueueTest, WritesStepsInOrder) {
  std::vector<std::string> committed;
  store_->SetFault([&](Call call, const std::string &name) {
    if (call == Call::kCommit) committed.push_back(name);
    return Status::Ok();
  });
  ASSERT_TRUE(Save(0).IsOk());
  ASSERT_TRUE(Save(1).IsOk());
  Queue().PutFile("last", "text");
  FlushReally();
  EXPECT_THAT(committed, ElementsAre(format::EventFileName(0, "worker_0"),
                                     format::IndexFileName(0, "worker_0"),
                                     format::EventFileName(1, "worker_0"),
                                     format::IndexFileName(1, "worker_0"), "last"));
}

TEST_F(WriteQueueTest, SeveralWritersKeepTheOrderOfTheIndexFiles) {
  store_->SetWritesAtOnce(3);
  // The event file of step 0 is held up until that of step 1 has its name.
  std::mutex mutex;
  std::vector<std::string> indexes;
  store_->SetFault([&, gate = gate_](Call call, const std::string &name) {
    if (call != Call::kCommit) return Status::Ok();
    if (name == format::EventFileName(0, "worker_0")) gate->Pass();
    if (name == format::EventFileName(1, "worker_0")) gate->Open();
    const std::lock_guard lock(mutex);
    if (name.starts_with("index/")) indexes.push_back(name);
    return Status::Ok();
  });
  for (int64_t step = 0; step < 20; ++step) ASSERT_TRUE(Save(step).IsOk());
  FlushReally();
  ASSERT_THAT(indexes, SizeIs(20));
  for (int64_t step = 0; step < 20; ++step) {
    EXPECT_EQ(indexes[static_cast<size_t>(step)], format::IndexFileName(step, "worker_0"));
  }
}

TEST_F(WriteQueueTest, AStepMayComeInManyBatches) {
  const auto step = NewStep(0);
  ASSERT_TRUE(Queue().Push(step, BatchOf(3, 'a')).IsOk());
  ASSERT_TRUE(Queue().Push(step, BatchOf(2, 'b')).IsOk());
  EXPECT_THAT(Written(), IsEmpty());
  ASSERT_TRUE(Queue().Seal(step, BatchOf(1, 'c')).IsOk());
  FlushReally();
  EXPECT_EQ(store_->Files().at(format::EventFileName(0, "worker_0")), "aaabbc");
}

TEST_F(WriteQueueTest, AChecksumIsTheSameWhicheverThreadComputesIt) {
  options_.capacity = 1000;
  HoldUpTheStore();
  const auto step = NewStep(4);
  std::string text;
  Batch first;
  first.records.push_back({"tensor", 950});
  for (const auto &[size, letter] : {std::pair{800, 'a'}, {100, 'b'}, {50, 'c'}}) {
    text += std::string(static_cast<size_t>(size), letter);
    const auto bytes = std::make_shared<const std::string>(size, letter);
    Batch batch = std::exchange(first, {});
    batch.Add({bytes, AsBytes(*bytes)});
    ASSERT_TRUE(Queue().Push(step, std::move(batch)).IsOk());
  }
  gate_->Open();
  ASSERT_TRUE(Queue().Seal(step, {}).IsOk());
  FlushReally();
  const std::string name = format::IndexFileName(4, "worker_0");
  const auto index = format::IndexFromJson(store_->Files().at(name), name);
  ASSERT_TRUE(index.IsOk());
  EXPECT_EQ(index->tensors[0].crc32c, Crc32c(AsBytes(text)));
  EXPECT_EQ(store_->Files().at(format::EventFileName(4, "worker_0")), text);
}

TEST_F(WriteQueueTest, ASmallFileThatFailedIsRetriedAfterTheNextStep) {
  bool fails = true;
  store_->SetFault([&](Call call, const std::string &name) {
    const bool hits = fails && call == Call::kCommit && name == "small";
    return hits ? Status(Code::kNetwork, "as set") : Status::Ok();
  });
  Queue().PutFile("small", "text");
  FlushReally();
  EXPECT_EQ(Queue().TakeError().GetCode(), Code::kNetwork);
  fails = false;
  ASSERT_TRUE(Save(0).IsOk());
  FlushReally();
  EXPECT_EQ(store_->Files().at("small"), "text");
}

TEST_F(WriteQueueTest, AndBeforeTheNextSmallFile) {
  std::atomic<int> failures = 1;
  store_->SetFault([&](Call call, const std::string &) {
    return call == Call::kCommit && failures-- > 0 ? Status(Code::kNetwork, "no") : Status::Ok();
  });
  Queue().PutFile("collections", "old");
  FlushReally();
  Queue().PutFile("end", "");
  FlushReally();
  EXPECT_EQ(store_->Files().at("collections"), "old");
}

// ---- files that nothing depends on --------------------------------------------------------

TEST_F(WriteQueueTest, AnOptionalFileGoesToItsOwnFolder) {
  const auto other = std::make_shared<MemoryStore>();
  Queue().PutOptionalFile(other, "file", "text");
  FlushReally();
  EXPECT_EQ(other->Files().at("file"), "text");
  EXPECT_THAT(store_->Files(), IsEmpty());
}

TEST_F(WriteQueueTest, AnOptionalFileThatCannotBeWrittenIsOneLineInTheLogAndNoError) {
  const auto other = std::make_shared<MemoryStore>();
  other->SetFault(
      [](Call, const std::string &name) { return Status(Code::kNoSpace, name + ": full"); });
  for (const char *name : {"first", "second"}) Queue().PutOptionalFile(other, name, "text");
  FlushReally();
  EXPECT_TRUE(Queue().TakeError().IsOk());
  EXPECT_THAT(Log(), ElementsAre(HasSubstr("first: skipped: first: full")));
  other->SetFault(nullptr);
  Queue().PutOptionalFile(other, "third", "text");
  FlushReally();
  EXPECT_THAT(other->Files(), SizeIs(1)) << "a skipped file is not tried again";
}

TEST_F(WriteQueueTest, AnOptionalFileIsSkippedIfThereIsNoRoom) {
  options_.capacity = 100;
  HoldUpTheStore();
  ASSERT_TRUE(Save(0, 80).IsOk());
  const auto other = std::make_shared<MemoryStore>();
  Queue().PutOptionalFile(other, "file", std::string(30, 'x'));
  EXPECT_THAT(Log(), ElementsAre(HasSubstr("file: skipped: the queue is full")));
  gate_->Open();
  FlushReally();
  EXPECT_THAT(other->Files(), IsEmpty());
  EXPECT_EQ(Queue().Counts().bytes_queued, 0);
}

TEST_F(WriteQueueTest, CountsWhatItWrote) {
  ASSERT_TRUE(Save(0, 10).IsOk());
  ASSERT_TRUE(Save(1, 20).IsOk());
  FlushReally();
  const QueueCounts counts = Queue().Counts();
  EXPECT_EQ(counts.steps_written, 2);
  EXPECT_EQ(counts.tensors_written, 2);
  EXPECT_EQ(counts.bytes_written, 30);
  EXPECT_EQ(counts.bytes_queued, 0);
  EXPECT_EQ(counts.steps_dropped + counts.steps_failed, 0);
}

TEST_F(WriteQueueTest, AStepOfNothingIsNoStep) {
  ASSERT_TRUE(Queue().Seal(NewStep(0), {}).IsOk());
  FlushReally();
  EXPECT_THAT(store_->Files(), IsEmpty());
  EXPECT_EQ(Queue().Counts().steps_written, 0);
}

TEST_F(WriteQueueTest, AStepOfShapesIsWritten) {
  const auto step = NewStep(0);
  step->shapes.push_back({"w", "w", {2}});
  ASSERT_TRUE(Queue().Seal(step, {}).IsOk());
  FlushReally();
  EXPECT_THAT(Written(), ElementsAre(0));
}

TEST_F(WriteQueueTest, BorrowedMemoryIsReleasedBeforeAFlushReturns) {
  const auto owner = std::make_shared<const std::string>("text");
  Batch batch;
  batch.records.push_back({"tensor", 4});
  batch.Add({owner, AsBytes(*owner)});
  ASSERT_TRUE(Queue().Seal(NewStep(0), std::move(batch)).IsOk());
  FlushReally();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(WriteQueueTest, ADroppedStepLeavesNothing) {
  const auto step = NewStep(0);
  ASSERT_TRUE(Queue().Push(step, BatchOf(10)).IsOk());
  Queue().Drop(*step);
  Queue().Drop(*step);
  ASSERT_TRUE(Queue().Seal(step, BatchOf(10)).IsOk());
  ASSERT_TRUE(Save(1).IsOk());
  FlushReally();
  EXPECT_THAT(Written(), ElementsAre(1));
  EXPECT_EQ(Queue().Counts().steps_failed, 1);
  EXPECT_TRUE(Queue().TakeError().IsOk()) << "who gave it up knows why";
}

// ---- when the store is slow --------------------------------------------------------------

TEST_F(WriteQueueTest, DropPolicyDropsAtOnce) {
  options_.capacity = 25;
  options_.policy = QueuePolicy::kDrop;
  HoldUpTheStore();
  ASSERT_TRUE(Save(0).IsOk());
  ASSERT_TRUE(Save(1).IsOk());
  EXPECT_EQ(Queue().Counts().bytes_queued, 20);
  const Status dropped = Save(2);
  EXPECT_EQ(dropped.GetCode(), Code::kStepDropped);
  EXPECT_THAT(dropped.Message(), HasSubstr("step 2 is not recorded"));
  EXPECT_EQ(*dropped.Detail("step"), "2");
  gate_->Open();
  FlushReally();
  ASSERT_TRUE(Save(3).IsOk());
  FlushReally();
  EXPECT_THAT(Written(), ElementsAre(0, 1, 3));
  EXPECT_EQ(Queue().Counts().steps_dropped, 1);
  EXPECT_TRUE(Queue().TakeError().IsOk()) << "it was reported where it happened";
}

TEST_F(WriteQueueTest, ADroppedStepIsReportedOnceAndLeavesNothing) {
  options_.capacity = 25;
  options_.policy = QueuePolicy::kDrop;
  HoldUpTheStore();
  const auto step = NewStep(0);
  ASSERT_TRUE(Queue().Push(step, BatchOf(20)).IsOk());
  EXPECT_EQ(Queue().Push(step, BatchOf(20)).GetCode(), Code::kStepDropped);
  EXPECT_TRUE(Queue().Push(step, BatchOf(20)).IsOk());
  EXPECT_TRUE(Queue().Seal(step, BatchOf(20)).IsOk());
  gate_->Open();
  FlushReally();
  EXPECT_THAT(store_->Files(), IsEmpty());
  EXPECT_EQ(Queue().Counts().steps_dropped, 1);
}

TEST_F(WriteQueueTest, ManyDroppedStepsAreOneLogLine) {
  options_.capacity = 15;
  options_.policy = QueuePolicy::kDrop;
  HoldUpTheStore();
  for (int64_t step = 0; step < 10; ++step) {
    EXPECT_EQ(Save(step).IsOk(), step == 0);
  }
  EXPECT_THAT(Log(), ElementsAre(HasSubstr("step 1 is not recorded")));
}

TEST_F(WriteQueueTest, BlockPolicyWaitsForRoom) {
  options_.capacity = 15;
  HoldUpTheStore();
  ASSERT_TRUE(Save(0).IsOk());
  std::vector<Clock::Duration> waits;
  clock_.SetOnWait([&](Clock::Duration time) {
    waits.push_back(time);
    gate_->Open();
    std::this_thread::yield();
  });
  EXPECT_TRUE(Save(1).IsOk());
  ASSERT_FALSE(waits.empty());
  EXPECT_EQ(waits.front(), seconds(5));
  FlushReally();
  EXPECT_THAT(Written(), ElementsAre(0, 1));
}

TEST_F(WriteQueueTest, WaitsNoLongerThanItMay) {
  options_.capacity = 15;
  options_.block_time = seconds(3);
  HoldUpTheStore();
  ASSERT_TRUE(Save(0).IsOk());
  const auto before = clock_.Monotonic();
  EXPECT_EQ(Save(1).GetCode(), Code::kStepDropped);
  EXPECT_EQ(clock_.Monotonic() - before, seconds(3));
}

// One larger than the queue passes alone, and so does the little that ends its step.
TEST_F(WriteQueueTest, ABatchLargerThanTheQueueIsNoReasonToDropItsStep) {
  options_.capacity = 1000;
  options_.policy = QueuePolicy::kDrop;
  HoldUpTheStore();
  const auto step = NewStep(0);
  ASSERT_TRUE(Queue().Push(step, BatchOf(5000)).IsOk());
  ASSERT_TRUE(Queue().Seal(step, BatchOf(100)).IsOk());
  EXPECT_EQ(Save(1, 100).GetCode(), Code::kStepDropped);
  gate_->Open();
  FlushReally();
  EXPECT_THAT(Written(), ElementsAre(0));
  EXPECT_EQ(Queue().Counts().bytes_queued, 0);
}

class SpillingQueueTest : public WriteQueueTest {
 protected:
  SpillingQueueTest() {
    options_.capacity = 15;
    options_.policy = QueuePolicy::kSpill;
    options_.spill_folder = folder_.Path("spill");
    HoldUpTheStore();
  }
  size_t Parked() const {
    std::error_code error;
    const std::filesystem::directory_iterator all(folder_.Path("spill"), error);
    return static_cast<size_t>(std::count_if(begin(all), end(all), [](const auto &entry) {
      return entry.path().extension() == ".spill";
    }));
  }

  storage::TemporaryFolder folder_;
};

TEST_F(SpillingQueueTest, WhatHasNoRoomWaitsInFilesAndKeepsItsPlace) {
  for (int64_t step = 0; step < 5; ++step) ASSERT_TRUE(Save(step).IsOk()) << step;
  EXPECT_EQ(Parked(), 4U);
  EXPECT_LE(Queue().Counts().bytes_queued, 15);
  gate_->Open();
  FlushReally();
  EXPECT_THAT(Written(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(store_->Files().at(format::EventFileName(3, "worker_0")), "dddddddddd");
  EXPECT_EQ(Parked(), 0U);
}

TEST_F(SpillingQueueTest, TheFilesAreBoundedToo) {
  options_.spill_capacity = 25;
  for (int64_t step = 0; step < 3; ++step) ASSERT_TRUE(Save(step).IsOk()) << step;
  EXPECT_EQ(Save(3).GetCode(), Code::kStepDropped);
}

TEST_F(SpillingQueueTest, AFolderThatCannotBeUsedIsAnErrorAndTheStepIsDropped) {
  folder_.Write("spill", "is a file");
  ASSERT_TRUE(Save(0).IsOk());
  EXPECT_EQ(Save(1).GetCode(), Code::kStepDropped);
  EXPECT_FALSE(Queue().TakeError().IsOk());
}

TEST_F(SpillingQueueTest, NothingIsLeftInTheFolderAtTheEnd) {
  for (int64_t step = 0; step < 3; ++step) ASSERT_TRUE(Save(step).IsOk());
  EXPECT_EQ(Parked(), 2U);
  EXPECT_EQ(Queue().Stop(Deadline::After(clock_, seconds(1))).GetCode(), Code::kTimeout);
  gate_->Open();
  queue_.reset();
  // The thread that was left behind ends by itself.
  while (Parked() > 0) std::this_thread::yield();
}

// ---- when the store fails ----------------------------------------------------------------

TEST_F(WriteQueueTest, AnErrorIsReportedOnceAndTheNextStepIsWritten) {
  FailAt(Call::kCommit, Code::kNoSpace);
  ASSERT_TRUE(Save(0).IsOk());
  FlushReally();
  const Status error = Queue().TakeError();
  EXPECT_EQ(error.GetCode(), Code::kNoSpace);
  EXPECT_TRUE(Queue().TakeError().IsOk());
  store_->SetFault({});
  ASSERT_TRUE(Save(1).IsOk());
  FlushReally();
  EXPECT_TRUE(Queue().TakeError().IsOk());
  EXPECT_THAT(Written(), ElementsAre(1));
  EXPECT_EQ(Queue().Counts().steps_failed, 1);
  EXPECT_EQ(Queue().Counts().steps_written, 1);
}

TEST_F(WriteQueueTest, ReportsTheFirstOfManyErrors) {
  FailAt(Call::kCreate, Code::kPermission);
  ASSERT_TRUE(Save(0).IsOk());
  FlushReally();
  FailAt(Call::kCreate, Code::kNoSpace);
  ASSERT_TRUE(Save(1).IsOk());
  FlushReally();
  EXPECT_EQ(Queue().TakeError().GetCode(), Code::kPermission);
  EXPECT_TRUE(Queue().TakeError().IsOk());
  EXPECT_EQ(Queue().Counts().steps_failed, 2);
}

TEST_F(WriteQueueTest, EqualErrorsAreOneLogLineUntilItWorksAgain) {
  FailAt(Call::kAppend, Code::kNoSpace);
  for (int64_t step = 0; step < 5; ++step) ASSERT_TRUE(Save(step).IsOk());
  FlushReally();
  EXPECT_THAT(Log(), SizeIs(1));
  store_->SetFault({});
  ASSERT_TRUE(Save(5).IsOk());
  FlushReally();
  FailAt(Call::kAppend, Code::kNoSpace);
  ASSERT_TRUE(Save(6).IsOk());
  FlushReally();
  EXPECT_THAT(Log(), SizeIs(2));
}

TEST_F(WriteQueueTest, AFailureInTheMiddleOfAStepLeavesNothingOfIt) {
  const auto step = NewStep(0);
  ASSERT_TRUE(Queue().Push(step, BatchOf(10)).IsOk());
  FlushReally();
  FailAt(Call::kAppend, Code::kIo);
  ASSERT_TRUE(Queue().Push(step, BatchOf(10)).IsOk());
  FlushReally();
  store_->SetFault({});
  ASSERT_TRUE(Queue().Push(step, BatchOf(10)).IsOk());
  ASSERT_TRUE(Queue().Seal(step, BatchOf(10)).IsOk());
  FlushReally();
  EXPECT_THAT(store_->Files(), IsEmpty());
  EXPECT_EQ(Queue().TakeError().GetCode(), Code::kIo);
  EXPECT_EQ(Queue().Counts().steps_failed, 1);
}

// ---- the end -----------------------------------------------------------------------------

TEST_F(WriteQueueTest, StopWritesWhatWaits) {
  ASSERT_TRUE(Save(0).IsOk());
  clock_.SetOnWait([](Clock::Duration) { std::this_thread::yield(); });
  EXPECT_TRUE(Queue().Stop(Deadline::Never()).IsOk());
  EXPECT_THAT(Written(), ElementsAre(0));
  EXPECT_TRUE(Queue().Stop(Deadline::Never()).IsOk());
}

TEST_F(WriteQueueTest, NoThreadIsStartedForNothing) {
  EXPECT_TRUE(Queue().Flush(Deadline::Never()).IsOk());
  EXPECT_TRUE(Queue().Stop(Deadline::Never()).IsOk());
}

TEST_F(WriteQueueTest, AFlushEndsInTime) {
  HoldUpTheStore();
  ASSERT_TRUE(Save(0).IsOk());
  const auto before = clock_.Monotonic();
  const Status status = Queue().Flush(Deadline::After(clock_, seconds(7)));
  EXPECT_EQ(status.GetCode(), Code::kTimeout);
  EXPECT_THAT(status.Message(), HasSubstr("10 bytes still wait"));
  EXPECT_EQ(clock_.Monotonic() - before, seconds(7));
}

TEST_F(WriteQueueTest, ADeadStoreDelaysNobody) {
  HoldUpTheStore();
  ASSERT_TRUE(Save(0).IsOk());
  ASSERT_TRUE(Save(1).IsOk());
  gate_->AwaitArrivals(1);
  const auto before = clock_.Monotonic();
  EXPECT_EQ(Queue().Stop(Deadline::After(clock_, seconds(30))).GetCode(), Code::kTimeout);
  EXPECT_EQ(clock_.Monotonic() - before, seconds(30));
  EXPECT_EQ(Queue().Counts().steps_failed, 1) << "the other may still be written";
  EXPECT_TRUE(Queue().Stop(Deadline::After(clock_, seconds(30))).IsOk());
  queue_.reset();
  EXPECT_EQ(clock_.Monotonic() - before, seconds(30)) << "neither a second time nor at the end";
}

TEST_F(WriteQueueTest, WithoutStopQueuedStepsAreDropped) {
  HoldUpTheStore();
  const auto borrowed = std::make_shared<const std::string>("text");
  ASSERT_TRUE(Save(0).IsOk());
  gate_->AwaitArrivals(1);
  Batch batch;
  batch.Add({borrowed, AsBytes(*borrowed)});
  ASSERT_TRUE(Queue().Push(NewStep(1), std::move(batch)).IsOk());
  clock_.SetOnWait([this](Clock::Duration) {
    gate_->Open();
    std::this_thread::yield();
  });
  queue_.reset();
  EXPECT_EQ(borrowed.use_count(), 1);
  EXPECT_THAT(Written(), ElementsAre(0));
}

}  // namespace
}  // namespace smdebug::record::write_queue_test
