#include "analyze/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "analyze/trial_fixture.h"

namespace smdebug::analyze::tensor_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr tensor::Reduction kMean{tensor::ReductionKind::kMean, false};
constexpr tensor::Reduction kAbsMax{tensor::ReductionKind::kMax, true};

class TensorTest : public TrialFixture {
 protected:
  TensorTest() { PutCollections(*store_); }

  void PutWorkers() {
    PutCollections(*store_, 2, "worker_0");
    PutCollections(*store_, 2, "worker_1");
  }
  Tensor Find(const std::string &name = "a") {
    auto found = Tensor::Find(Shared(), name);
    EXPECT_TRUE(found.IsOk()) << found.GetStatus().Message();
    return *std::move(found);
  }
  static std::vector<float> Floats(Result<tensor::Value> value) {
    EXPECT_TRUE(value.IsOk()) << value.GetStatus().Message();
    if (!value.IsOk()) return {};
    std::vector<float> numbers(value->size / sizeof(float));
    std::memcpy(numbers.data(), value->data.get(), value->size);
    return numbers;
  }
  std::vector<float> Value(int64_t step, Mode mode = Mode::kGlobal,
                           const std::string &worker = "") {
    return Floats(Find().Value(step, mode, worker));
  }
  Status ValueError(int64_t step, Mode mode = Mode::kGlobal, const std::string &worker = "") {
    return Find().Value(step, mode, worker).GetStatus();
  }
};

// ---- where it was saved ------------------------------------------------------------------

TEST_F(TensorTest, IsFoundOnceItWasSaved) {
  const Status status = Tensor::Find(Shared(), "a").GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kTensorUnavailable);
  EXPECT_EQ(*status.Detail("tensor"), "a");
  PutStep(0);
  EXPECT_EQ(Find().Name(), "a");
}

TEST_F(TensorTest, HasStepsOfItsOwn) {
  PutStep(0, Mode::kTrain, 0);
  StepFiles(1, Mode::kTrain, 1).Add("b", {1}).Put(*store_);
  PutStep(2, Mode::kEval, 0);
  PutStep(3, Mode::kTrain, 2);
  EXPECT_THAT(Take(Find().Steps(Mode::kGlobal, false)), ElementsAre(0, 2, 3));
  EXPECT_THAT(Take(Find().Steps(Mode::kTrain, false)), ElementsAre(0, 2));
  EXPECT_THAT(Take(Find().Steps(Mode::kEval, false)), ElementsAre(0));
  EXPECT_THAT(Take(Find().Steps(Mode::kPredict, false)), IsEmpty());
}

TEST_F(TensorTest, IncompleteStepsAreShownIfAskedFor) {
  PutWorkers();
  PutStep(0, "worker_0");
  PutStep(0, "worker_1");
  PutStep(1, "worker_1");
  EXPECT_THAT(Take(Find().Steps(Mode::kGlobal, false)), ElementsAre(0));
  EXPECT_THAT(Take(Find().Steps(Mode::kGlobal, true)), ElementsAre(0, 1));
}

TEST_F(TensorTest, KnowsTheStepsUpToOne) {
  for (const int64_t step : {0, 10, 20, 30}) PutStep(step);
  const auto previous = [&](int64_t step, int64_t count) {
    return Take(Find().PreviousSteps(step, count, Mode::kGlobal));
  };
  EXPECT_THAT(previous(20, 2), ElementsAre(10, 20));
  EXPECT_THAT(previous(25, 1), ElementsAre(20));
  EXPECT_THAT(previous(25, 0), ElementsAre(0, 10, 20)) << "0 is all";
  EXPECT_THAT(previous(25, 100), ElementsAre(0, 10, 20));
  EXPECT_THAT(previous(-1, 5), IsEmpty());
}

TEST_F(TensorTest, KnowsWhoSavedIt) {
  PutWorkers();
  PutStep(0, "worker_1");
  PutStep(0, "worker_0");
  PutStep(1, "worker_1");
  EXPECT_THAT(Take(Find().Workers(0, Mode::kGlobal)), ElementsAre("worker_0", "worker_1"));
  EXPECT_THAT(Take(Find().Workers(1, Mode::kGlobal)), ElementsAre("worker_1"));
  EXPECT_EQ(Find().Workers(2, Mode::kGlobal).GetStatus().GetCode(), Code::kValueUnavailable);
}

// ---- values ------------------------------------------------------------------------------

TEST_F(TensorTest, HasItsValueByEitherNumber) {
  PutStep(0, Mode::kTrain, 0);
  PutStep(1, Mode::kEval, 0);
  PutStep(2, Mode::kTrain, 1);
  EXPECT_THAT(Value(2), ElementsAre(2));
  EXPECT_THAT(Value(1, Mode::kTrain), ElementsAre(2));
  EXPECT_THAT(Value(0, Mode::kEval), ElementsAre(1));
}

// A step whose index file has the number 0.5 for the record, which holds another, to tell them
// apart.  Its event file need not exist.
StepFiles StepWithNumber(int64_t step, const std::string &name = "a") {
  StepFiles files(step);
  files.Add(name, {7});
  files.Index().tensors[0].number = {0.5, tensor::DType::kFloat32, 2, 1};
  return files;
}

TEST_F(TensorTest, ANumberOfTheIndexNeedsNoEventFile) {
  StepWithNumber(0).PutIndex(*store_);
  StepWithNumber(1, "smdebug/reductions/mean/a").PutIndex(*store_);
  store_->SetReadsAtOnce(32);
  EXPECT_THAT(Value(0), ElementsAre(0.5F));
  EXPECT_THAT(Take(Find().Shape(0, Mode::kGlobal, "")), ElementsAre(1, 1));
  for (const int64_t step : {0, 1}) {
    const auto mean = Find().Reduction(step, Mode::kGlobal, "", kMean);
    EXPECT_EQ(Take(tensor::ToDouble(Take(mean))), 0.5) << step;
  }
  std::vector<RecordPlace> places;
  Expect(Find().AddPlaceToRead(0, Mode::kGlobal, &places));
  EXPECT_THAT(places, IsEmpty());
  EXPECT_THAT(waits_, IsEmpty());
}

TEST_F(TensorTest, NumbersComeFromTheirRecordsIfTheIndexIsNotToBeUsed) {
  Expect(options_.Set("index_numbers", "false"));
  StepWithNumber(0).Put(*store_);
  EXPECT_THAT(Value(0), ElementsAre(7));
  EXPECT_THAT(Take(Find().Shape(0, Mode::kGlobal, "")), ElementsAre(1));
  std::vector<RecordPlace> places;
  Expect(Find().AddPlaceToRead(0, Mode::kGlobal, &places));
  EXPECT_EQ(places.size(), 1U);
}

TEST_F(TensorTest, OfSeveralWorkersTheFirstThatHasItUnlessOneIsNamed) {
  PutWorkers();
  StepFiles(0, "worker_1").Add("a", {1}).Put(*store_);
  StepFiles(0, "worker_0").Add("a", {0}).Put(*store_);
  StepFiles(1, "worker_1").Add("a", {11}).Put(*store_);
  EXPECT_THAT(Value(0), ElementsAre(0));
  EXPECT_THAT(Value(0, Mode::kGlobal, "worker_1"), ElementsAre(1));
  EXPECT_THAT(Value(1), ElementsAre(11));
  const Status status = ValueError(1, Mode::kGlobal, "worker_0");
  EXPECT_EQ(status.GetCode(), Code::kWorkerUnknown);
  EXPECT_EQ(*status.Detail("worker"), "worker_0");
}

TEST_F(TensorTest, AWorkerThatIsLateIsLookedFor) {
  PutWorkers();
  PutStep(0, "worker_0");
  const Tensor tensor = Find();
  PutStep(0, "worker_1");
  EXPECT_TRUE(tensor.Value(0, Mode::kGlobal, "worker_1").IsOk());
}

TEST_F(TensorTest, WhatIsKnownIsReadWithoutLookingForMore) {
  PutStep(0);
  const Tensor tensor = Find();
  FailAt(Call::kList, "index", Code::kIo);
  EXPECT_THAT(Floats(tensor.Value(0, Mode::kGlobal, "")), ElementsAre(0));
}

TEST_F(TensorTest, ValuesOutliveTheTrial) {
  StepFiles(0).Add("a", std::vector<float>(10'000, 7)).Put(*store_);
  auto value = Find().Value(0, Mode::kGlobal, "");
  trial_.reset();
  EXPECT_EQ(Floats(std::move(value)), std::vector<float>(10'000, 7));
}

TEST_F(TensorTest, AnEventFileMayHaveAnotherNameThanUsual) {
  StepFiles files(0);
  files.Add("a", {5});
  files.Index().event_file_name = "events/elsewhere/x.tfevents";
  files.PutIndex(*store_);
  store_->Put("events/elsewhere/x.tfevents", files.Events());
  EXPECT_THAT(Value(0), ElementsAre(5));
}

TEST_F(TensorTest, ARecordOfAnotherTensorIsCorrupt) {
  StepFiles files(0);
  files.Add("b", {5});
  files.Index().tensors[0].name = "a";
  files.Put(*store_);
  const Status status = ValueError(0);
  EXPECT_EQ(status.GetCode(), Code::kCorruptData);
  EXPECT_THAT(status.Message(), HasSubstr("holds 'b' where the index says 'a'"));
}

TEST_F(TensorTest, AFlippedBitIsCorrupt) {
  StepFiles files(0);
  files.Add("a", {5});
  files.Events()[70] ^= 1;
  files.Put(*store_);
  EXPECT_EQ(ValueError(0).GetCode(), Code::kCorruptData);
}

// ---- why there is none -------------------------------------------------------------------

TEST_F(TensorTest, AtAStepThatIsThereItMayBeMissing) {
  PutStep(0);
  StepFiles(1).Add("b", {1}).Put(*store_);
  const Status status = ValueError(1);
  EXPECT_EQ(status.GetCode(), Code::kValueUnavailable);
  EXPECT_EQ(*status.Detail("tensor"), "a");
  EXPECT_EQ(*status.Detail("step"), "1");
  EXPECT_EQ(*status.Detail("mode"), "GLOBAL");
}

TEST_F(TensorTest, AStepMayHaveBeenPassedOver) {
  PutStep(0);
  PutStep(10);
  EXPECT_EQ(ValueError(5).GetCode(), Code::kStepUnavailable);
}

TEST_F(TensorTest, AStepMayStillCome) {
  PutStep(0);
  EXPECT_EQ(ValueError(5).GetCode(), Code::kStepNotYet);
  EXPECT_TRUE(ValueError(5).IsRetryable());
  PutStep(5);
  EXPECT_THAT(Value(5), ElementsAre(5));
}

TEST_F(TensorTest, AfterTheEndNoStepWillCome) {
  PutStep(0);
  PutOldEndMarker();
  EXPECT_EQ(ValueError(5).GetCode(), Code::kStepUnavailable);
}

// ---- reductions and shapes ---------------------------------------------------------------

TEST_F(TensorTest, AReductionIsTheOneSaved) {
  StepFiles(0)
      .Add("a", {1, 2, 3})
      .Add("smdebug/reductions/mean/a", {77})
      .Add("smdebug/reductions/abs_max/a", {3})
      .Put(*store_);
  EXPECT_THAT(Floats(Find().Reduction(0, Mode::kGlobal, "", kMean)), ElementsAre(77));
  EXPECT_THAT(Take(Find().Reductions(0, Mode::kGlobal, "")),
              testing::UnorderedElementsAre(kMean, kAbsMax));
}

TEST_F(TensorTest, OrItIsComputedFromTheValue) {
  StepFiles(0).Add("a", {-4, 2, 3}).Put(*store_);
  EXPECT_THAT(Floats(Find().Reduction(0, Mode::kGlobal, "", kAbsMax)), ElementsAre(4));
  EXPECT_THAT(Take(Find().Reductions(0, Mode::kGlobal, "")), IsEmpty()) << "the saved ones only";
}

TEST_F(TensorTest, WithReductionsOnlyThereIsNoValue) {
  StepFiles(0).Add("smdebug/reductions/mean/a", {77}).Put(*store_);
  const Status status = ValueError(0);
  EXPECT_EQ(status.GetCode(), Code::kValueUnavailable);
  EXPECT_EQ(*status.Detail("has_reductions"), "1");
  EXPECT_THAT(status.Message(), HasSubstr("only reductions were saved"));
  EXPECT_EQ(Find().Reduction(0, Mode::kGlobal, "", kAbsMax).GetStatus().GetCode(),
            Code::kValueUnavailable);
  EXPECT_EQ(Find().Shape(0, Mode::kGlobal, "").GetStatus().GetCode(), Code::kShapeUnavailable);
}

TEST_F(TensorTest, AShapeIsTheOneSavedOrTheValues) {
  StepFiles(0).AddShape("a", {2, 3}).Put(*store_);
  StepFiles(1).Add("a", {1, 2, 3}).Put(*store_);
  StepFiles(2).Add("a", {1, 2, 3}).AddShape("a", {3, 1}).Put(*store_);
  EXPECT_THAT(Take(Find().Shape(0, Mode::kGlobal, "")), ElementsAre(2, 3));
  EXPECT_THAT(Take(Find().Shape(1, Mode::kGlobal, "")), ElementsAre(3));
  EXPECT_THAT(Take(Find().Shape(2, Mode::kGlobal, "")), ElementsAre(3, 1));
  EXPECT_THAT(Value(2), ElementsAre(1, 2, 3)) << "beside its shape";
  EXPECT_EQ(ValueError(0).GetCode(), Code::kValueUnavailable);
  EXPECT_EQ(*ValueError(0).Detail("has_reductions"), "0");
  EXPECT_EQ(Take(Find().OriginalName()), "a_original");
}

// ---- an index whose event file is not there ----------------------------------------------

class MissingEventFileTest : public TensorTest {
 protected:
  MissingEventFileTest() {
    files_.Add("a", {5});
    files_.PutIndex(*store_);
  }
  StepFiles files_{0};
};

TEST_F(MissingEventFileTest, ItIsWaitedFor) {
  WhileWaiting({[] {}, [this] { files_.PutEvents(*store_); }});
  EXPECT_THAT(Value(0), ElementsAre(5));
  EXPECT_THAT(waits_, ElementsAre(milliseconds(50), milliseconds(100))) << "and soon found";
}

TEST_F(MissingEventFileTest, NotForEver) {
  options_.missing_file_retries = 3;
  const Status status = ValueError(0);
  EXPECT_EQ(status.GetCode(), Code::kValueUnavailable);
  EXPECT_EQ(*status.Detail("path"), files_.EventName());
  EXPECT_EQ(std::accumulate(waits_.begin(), waits_.end(), Clock::Duration::zero()), 3 * seconds(2));
}

TEST_F(MissingEventFileTest, NotOnceItsWorkerHasGoneOn) {
  PutStep(1);
  Expect(TheTrial().Refresh());
  EXPECT_EQ(ValueError(0).GetCode(), Code::kValueUnavailable);
  EXPECT_THAT(waits_, IsEmpty());
}

TEST_F(MissingEventFileTest, AlsoIfAnotherWorkerIsAhead) {
  PutWorkers();
  PutStep(1, "worker_1");
  PutStep(2, "worker_1");
  WhileWaiting([this] { files_.PutEvents(*store_); });
  Expect(TheTrial().Refresh());
  EXPECT_THAT(Value(0), ElementsAre(5));
}

TEST_F(MissingEventFileTest, NotWhenItsWorkerIsBetweenOthers) {
  PutWorkers();
  PutStep(1, "worker_0");
  PutStep(2, "worker_1");
  Expect(TheTrial().Refresh());
  EXPECT_EQ(ValueError(0).GetCode(), Code::kValueUnavailable);
  EXPECT_THAT(waits_, IsEmpty());
}

TEST_F(MissingEventFileTest, NotAfterTheJobsEnd) {
  PutOldEndMarker();
  EXPECT_EQ(ValueError(0).GetCode(), Code::kValueUnavailable);
  EXPECT_THAT(waits_, IsEmpty());
}

TEST_F(MissingEventFileTest, TheWaitCanBeCancelled) {
  WhileWaiting([this] { TheTrial().Cancel(); });
  EXPECT_EQ(ValueError(0).GetCode(), Code::kCancelled);
}

}  // namespace
}  // namespace smdebug::analyze::tensor_test
