#include "analyze/many_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <new>
#include <thread>

#include "analyze/trial_fixture.h"

namespace smdebug::analyze::many_values_test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr tensor::Reduction kMean{tensor::ReductionKind::kMean, false};
constexpr tensor::Reduction kAbsMax{tensor::ReductionKind::kMax, true};

class ManyValuesTest : public TrialFixture {
 protected:
  ManyValuesTest() { PutCollections(*store_); }

  std::vector<StepValue> Read(const ValueQuery &query = {}, const std::string &name = "a") {
    return Take(ReadValues(Take2(Tensor::Find(Shared(), name)), query));
  }
  Status Error(const ValueQuery &query = {}) {
    return ReadValues(Take2(Tensor::Find(Shared(), "a")), query).GetStatus();
  }
  static Tensor Take2(Result<Tensor> tensor) {
    EXPECT_TRUE(tensor.IsOk()) << tensor.GetStatus().Message();
    return *std::move(tensor);
  }
  static std::vector<float> Floats(const Result<tensor::Value> &value) {
    EXPECT_TRUE(value.IsOk()) << value.GetStatus().Message();
    if (!value.IsOk()) return {};
    std::vector<float> numbers(value->size / sizeof(float));
    if (!numbers.empty()) std::memcpy(numbers.data(), value->data.get(), value->size);
    return numbers;
  }
  static std::vector<int64_t> StepsOf(const std::vector<StepValue> &values) {
    std::vector<int64_t> steps;
    for (const StepValue &each : values) steps.push_back(each.step);
    return steps;
  }
  // Records steps of one float each, which is the step's number.
  void PutSteps(int64_t count) {
    for (int64_t step = 0; step < count; ++step) PutStep(step);
  }
  static void ExpectAll(const std::vector<StepValue> &values, int64_t count) {
    ASSERT_THAT(values, SizeIs(static_cast<size_t>(count)));
    for (int64_t i = 0; i < count; ++i) {
      const StepValue &each = values[static_cast<size_t>(i)];
      EXPECT_EQ(each.step, i);
      EXPECT_THAT(Floats(each.value), ElementsAre(static_cast<float>(i)));
    }
  }
};

TEST_F(ManyValuesTest, AreThoseOfAllSteps) {
  for (const int64_t step : {0, 3, 7}) PutStep(step);
  const std::vector<StepValue> values = Read();
  EXPECT_THAT(StepsOf(values), ElementsAre(0, 3, 7));
  for (const StepValue &each : values) {
    EXPECT_THAT(Floats(each.value), ElementsAre(static_cast<float>(each.step)));
  }
}

// Numbers in the index differ from those in the records here, to tell them apart.
TEST_F(ManyValuesTest, NumbersOfTheIndexAreEnough) {
  using tensor::DType;
  const auto put = [&](int64_t step, DType dtype, double number, uint8_t rank) {
    StepFiles files(step);
    files.Add("a", {static_cast<float>(step)});
    files.Index().tensors[0].number = {number, dtype, rank, 1};
    files.Put(*store_);
  };
  put(0, DType::kFloat32, 0.5, 0);
  put(1, DType::kFloat64, 0.1, 2);
  put(2, DType::kInt64, -7, 1);
  // What these are says only the record.
  put(3, DType::kFloat32, std::nan(""), 1);
  put(4, DType::kFloat32, 0.1, 1);
  put(5, DType::kInt64, 0x1p60, 1);
  put(6, DType::kBFloat16, 0.5, 1);
  put(7, DType::kFloat32, 1e300, 1);
  const std::vector<StepValue> values = Read();
  ASSERT_THAT(values, SizeIs(8));
  EXPECT_THAT(Floats(values[0].value), ElementsAre(0.5F));
  EXPECT_THAT(values[0].value->shape, IsEmpty());
  EXPECT_EQ(values[1].value->dtype, DType::kFloat64);
  EXPECT_EQ(Take(tensor::ToDouble(*values[1].value)), 0.1);
  EXPECT_THAT(values[1].value->shape, ElementsAre(1, 1));
  EXPECT_EQ(values[2].value->dtype, DType::kInt64);
  EXPECT_EQ(Take(tensor::ToDouble(*values[2].value)), -7);
  for (size_t i = 3; i < 8; ++i) {
    EXPECT_THAT(Floats(values[i].value), ElementsAre(static_cast<float>(i))) << i;
  }
  const std::vector<StepValue> means = Read({0, 2, Mode::kGlobal, "", kMean});
  EXPECT_EQ(Take(tensor::ToDouble(*means[0].value)), 0.5);
  EXPECT_EQ(Take(tensor::ToDouble(*means[1].value)), 0.1);
}

TEST_F(ManyValuesTest, ARangeBeginsWithItsFirstStepAndStopsBeforeItsEnd) {
  for (const int64_t step : {0, 10, 20, 30}) PutStep(step);
  EXPECT_THAT(StepsOf(Read({10, 30})), ElementsAre(10, 20));
  EXPECT_THAT(StepsOf(Read({11, 31})), ElementsAre(20, 30));
  EXPECT_THAT(Read({30, 10}), IsEmpty());
  EXPECT_THAT(Read({INT64_MAX, INT64_MAX}), IsEmpty());
  EXPECT_THAT(Read({INT64_MIN, INT64_MIN}), IsEmpty());
  EXPECT_THAT(StepsOf(Read({INT64_MIN, 1})), ElementsAre(0));
}

TEST_F(ManyValuesTest, AreThoseOfOneMode) {
  PutStep(0, Mode::kTrain, 0);
  PutStep(1, Mode::kEval, 0);
  PutStep(2, Mode::kTrain, 1);
  const std::vector<StepValue> training = Read({0, INT64_MAX, Mode::kTrain});
  EXPECT_THAT(StepsOf(training), ElementsAre(0, 1));
  EXPECT_THAT(Floats(training[1].value), ElementsAre(2));
  EXPECT_THAT(StepsOf(Read()), ElementsAre(0, 1, 2));
  EXPECT_THAT(Read({0, INT64_MAX, Mode::kPredict}), IsEmpty());
}

TEST_F(ManyValuesTest, AreThoseOfTheWorkerOrTheFirst) {
  PutCollections(*store_, 2, "worker_0");
  PutCollections(*store_, 2, "worker_1");
  for (int64_t step = 0; step < 2; ++step) {
    StepFiles(step, "worker_1").Add("a", {1}).Put(*store_);
    StepFiles files(step, "worker_0");
    if (step == 0) files.Add("a", {0});
    files.Add("b", {9}).Put(*store_);
  }
  const std::vector<StepValue> first = Read();
  EXPECT_THAT(Floats(first[0].value), ElementsAre(0));
  EXPECT_THAT(Floats(first[1].value), ElementsAre(1));
  EXPECT_THAT(Floats(Read({0, 9, Mode::kGlobal, "worker_1"})[0].value), ElementsAre(1));
  const std::vector<StepValue> of_0 = Read({0, 9, Mode::kGlobal, "worker_0"});
  EXPECT_TRUE(of_0[0].value.IsOk());
  EXPECT_EQ(of_0[1].value.GetStatus().GetCode(), Code::kWorkerUnknown);
  const std::vector<StepValue> of_nobody = Read({0, 9, Mode::kGlobal, "nobody"});
  EXPECT_EQ(of_nobody[0].value.GetStatus().GetCode(), Code::kWorkerUnknown);
}

TEST_F(ManyValuesTest, AStepThatIsDamagedFailsAlone) {
  PutStep(0);
  StepFiles files(1);
  files.Add("a", {1});
  files.Events()[70] ^= 1;
  files.Put(*store_);
  PutStep(2);
  const std::vector<StepValue> values = Read();
  EXPECT_THAT(Floats(values[0].value), ElementsAre(0));
  EXPECT_THAT(Floats(values[2].value), ElementsAre(2));
  const Status alone = Take2(Tensor::Find(Shared(), "a")).Value(1, Mode::kGlobal, "").GetStatus();
  EXPECT_EQ(values[1].value.GetStatus().GetCode(), Code::kCorruptData);
  EXPECT_EQ(values[1].value.GetStatus().Message(), alone.Message());
}

TEST_F(ManyValuesTest, ARecordOfAnotherTensorIsCorrupt) {
  StepFiles files(0);
  files.Add("b", {5});
  files.Index().tensors[0].name = "a";
  files.Put(*store_);
  EXPECT_THAT(Read()[0].value.GetStatus().Message(), HasSubstr("holds 'b'"));
}

TEST_F(ManyValuesTest, PlacesThatCannotBeAreCorrupt) {
  for (const uint64_t start : {uint64_t{1}, uint64_t{1} << 40}) {
    StepFiles files(static_cast<int64_t>(start % 1000));
    files.Add("a", {5});
    files.Index().tensors[0].start = start;
    files.Put(*store_);
  }
  for (const StepValue &each : Read()) EXPECT_FALSE(each.value.IsOk());
}

TEST_F(ManyValuesTest, AStepWithReductionsOnlyHasNoValue) {
  PutStep(0);
  StepFiles(1).Add("smdebug/reductions/mean/a", {77}).Put(*store_);
  const std::vector<StepValue> values = Read();
  EXPECT_TRUE(values[0].value.IsOk());
  EXPECT_EQ(values[1].value.GetStatus().GetCode(), Code::kValueUnavailable);
  EXPECT_EQ(*values[1].value.GetStatus().Detail("has_reductions"), "1");
}

TEST_F(ManyValuesTest, ReductionsAreTheSavedOnesOrComputed) {
  StepFiles(0).Add("a", {1, 2}).Add("smdebug/reductions/mean/a", {77}).Put(*store_);
  StepFiles(1).Add("a", {-4, 2}).Put(*store_);
  StepFiles(2).Add("smdebug/reductions/mean/a", {78}).Put(*store_);
  const std::vector<StepValue> means = Read({0, 9, Mode::kGlobal, "", kMean});
  EXPECT_THAT(Floats(means[0].value), ElementsAre(77));
  EXPECT_THAT(Floats(means[1].value), ElementsAre(-1));
  EXPECT_THAT(Floats(means[2].value), ElementsAre(78));
  const std::vector<StepValue> largest = Read({0, 9, Mode::kGlobal, "", kAbsMax});
  EXPECT_THAT(Floats(largest[1].value), ElementsAre(4));
  EXPECT_EQ(largest[2].value.GetStatus().GetCode(), Code::kValueUnavailable);
}

TEST_F(ManyValuesTest, AReductionWithoutElementsFailsAsAlone) {
  StepFiles(0).Add("a", {}).Put(*store_);
  EXPECT_EQ(Read({0, 9, Mode::kGlobal, "", kAbsMax})[0].value.GetStatus().GetCode(),
            Code::kInvalidArgument);
}

TEST_F(ManyValuesTest, ValuesOfEverySizeAreRead) {
  const std::vector<size_t> sizes = {0, 1, 1000, 1024, 1025, 4060, 4096, 50'000};
  for (size_t i = 0; i < sizes.size(); ++i) {
    StepFiles(static_cast<int64_t>(i))
        .Add("a", std::vector<float>(sizes[i], static_cast<float>(i)))
        .Put(*store_);
  }
  const std::vector<StepValue> values = Read();
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(Floats(values[i].value), std::vector<float>(sizes[i], static_cast<float>(i)));
  }
}

TEST_F(ManyValuesTest, TextIsRead) {
  const std::vector<const char *> texts = {"one", ""};
  const std::vector<int64_t> shape = {2};
  for (int64_t step = 0; step < 2; ++step) {
    StepFiles(step).AddView("a", {texts.data(), shape, {}, tensor::DType::kString}).Put(*store_);
  }
  for (const StepValue &each : Read()) {
    ASSERT_TRUE(each.value.IsOk());
    EXPECT_THAT(*each.value->strings, ElementsAre("one", ""));
  }
}

TEST_F(ManyValuesTest, SmallValuesLieNextToEachOtherAndLiveAlone) {
  PutSteps(3);
  std::vector<StepValue> values = Read();
  EXPECT_EQ(values[0].value->data.get() + sizeof(float), values[1].value->data.get());
  const tensor::Value last = *values[2].value;
  values.clear();
  trial_.reset();
  EXPECT_THAT(Floats(last), ElementsAre(2));
}

TEST_F(ManyValuesTest, ElementsAreAlignedToTheirSize) {
  const std::vector<uint8_t> bytes = {1, 2, 3};
  const std::vector<double> numbers = {1.5};
  const std::vector<int64_t> three = {3};
  const std::vector<int64_t> one = {1};
  StepFiles(0).AddView("a", {bytes.data(), three, {}, tensor::DType::kUInt8}).Put(*store_);
  StepFiles(1).AddView("a", {numbers.data(), one, {}, tensor::DType::kFloat64}).Put(*store_);
  const std::vector<StepValue> values = Read();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(values[1].value->data.get()) % sizeof(double), 0U);
  EXPECT_EQ(*tensor::ToDouble(*values[1].value), 1.5);
}

TEST_F(ManyValuesTest, ManyStepsAreReadInThreads) {
  PutSteps(2000);
  ExpectAll(Read(), 2000);
  ExpectAll(Read({0, 700}), 700);
}

TEST_F(ManyValuesTest, NewStepsOfARunningJobAreSeen) {
  PutSteps(2);
  ExpectAll(Read(), 2);
  PutSteps(5);
  ExpectAll(Read(), 5);
  TheTrial().SetAutoRefresh(false);
  PutSteps(7);
  ExpectAll(Read(), 5);
}

// From the second call on, small files are kept.
TEST_F(ManyValuesTest, AKeptFileIsUsedWhereTheIndexHasItsChecksum) {
  PutStep(0);
  StepFiles without(1);
  without.Add("a", {1});
  without.Index().tensors[0].crc32c.reset();
  without.Put(*store_);
  for (int i = 0; i < 3; ++i) Read();
  for (int64_t step = 0; step < 2; ++step) StepFiles(step).Add("a", {50}).PutEvents(*store_);
  std::vector<StepValue> values = Read();
  EXPECT_THAT(Floats(values[0].value), ElementsAre(0));
  EXPECT_THAT(Floats(values[1].value), ElementsAre(50));
  trial_.reset();
  values = Read();
  EXPECT_EQ(values[0].value.GetStatus().GetCode(), Code::kCorruptData);
}

TEST_F(ManyValuesTest, FilesAreReadOnceForSeveralTensors) {
  for (int64_t step = 0; step < 20; ++step) {
    StepFiles(step).Add("a", {1}).Add("b", {2}).Add("c", {3}).Put(*store_);
  }
  Read();
  int reads = 0;
  store_->SetFault([&](Call call, const std::string &name) {
    if (call == Call::kRead && name.ends_with(".tfevents")) ++reads;
    return Status::Ok();
  });
  EXPECT_THAT(Floats(Read({}, "b")[19].value), ElementsAre(2));
  EXPECT_EQ(reads, 20);
  EXPECT_THAT(Floats(Read({}, "c")[19].value), ElementsAre(3));
  EXPECT_THAT(Floats(Read({}, "a")[19].value), ElementsAre(1));
  EXPECT_EQ(reads, 20);
}

TEST_F(ManyValuesTest, ManyAreRequestedFromABucketAtOnce) {
  store_->SetReadsAtOnce(32);
  PutSteps(100);
  ExpectAll(Read(), 100);
}

TEST_F(ManyValuesTest, FromABucketAStepFailsAlone) {
  store_->SetReadsAtOnce(32);
  PutSteps(3);
  StepFiles files(3);
  files.Add("a", {1});
  files.Events()[70] ^= 1;
  files.Put(*store_);
  const std::vector<StepValue> values = Read();
  EXPECT_THAT(Floats(values[2].value), ElementsAre(2));
  EXPECT_EQ(values[3].value.GetStatus().GetCode(), Code::kCorruptData);
}

TEST_F(ManyValuesTest, AMissingFileIsWaitedFor) {
  PutSteps(2);
  StepFiles files(2);
  files.Add("a", {2}).PutIndex(*store_);
  WhileWaiting({[] {}, [&] { files.PutEvents(*store_); }});
  ExpectAll(Read(), 3);
  EXPECT_THAT(waits_, ElementsAre(milliseconds(50), milliseconds(100)));
}

TEST_F(ManyValuesTest, CancellingStopsTheCall) {
  PutSteps(2);
  StepFiles files(2);
  files.Add("a", {2}).PutIndex(*store_);
  WhileWaiting([this] { TheTrial().Cancel(); });
  EXPECT_EQ(Error().GetCode(), Code::kCancelled);
}

TEST_F(ManyValuesTest, CancellingStopsTheThreads) {
  PutSteps(3000);
  Expect(TheTrial().Refresh());
  const Tensor tensor = Take2(Tensor::Find(Shared(), "a"));
  std::atomic<int> reads{0};
  store_->SetFault([&](Call call, const std::string &) {
    if (call == Call::kRead && ++reads == 1000) TheTrial().Cancel();
    return Status::Ok();
  });
  EXPECT_EQ(ReadValues(tensor, {}).GetStatus().GetCode(), Code::kCancelled);
  EXPECT_LT(reads, 2000);
}

TEST_F(ManyValuesTest, AnExceptionOfAThreadReachesTheCaller) {
  PutSteps(2000);
  Expect(TheTrial().Refresh());
  const Tensor tensor = Take2(Tensor::Find(Shared(), "a"));
  std::atomic<int> reads{0};
  store_->SetFault([&](Call call, const std::string &) -> Status {
    if (call == Call::kRead && ++reads == 700) throw std::bad_alloc();
    return Status::Ok();
  });
  EXPECT_THROW((void)ReadValues(tensor, {}), std::bad_alloc);
  store_->SetFault({});
  ExpectAll(Read(), 2000);
}

TEST_F(ManyValuesTest, ThreadsOfTheCallerMayReadTogether) {
  PutSteps(1000);
  const Tensor tensor = Take2(Tensor::Find(Shared(), "a"));
  std::vector<std::thread> callers;
  std::atomic<int> right{0};
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      for (int again = 0; again < 3; ++again) {
        const auto values = ReadValues(tensor, {});
        if (values.IsOk() && values->size() >= 1000 && values->back().value.IsOk()) ++right;
      }
    });
  }
  for (int64_t step = 1000; step < 1100; ++step) PutStep(step);
  for (std::thread &caller : callers) caller.join();
  EXPECT_EQ(right, 9);
}

}  // namespace
}  // namespace smdebug::analyze::many_values_test
