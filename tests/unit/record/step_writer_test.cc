#include "record/step_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/step.h"
#include "record/tensors.h"
#include "storage/memory_store.h"

namespace smdebug::record::step_writer_test {
namespace {

using storage::MemoryStore;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class StepWriterTest : public testing::Test {
 protected:
  std::unique_ptr<StepWriter> Open(int64_t step, std::string_view worker = "worker_0") {
    auto writer = StepWriter::Open(store_, step, worker);
    EXPECT_TRUE(writer.IsOk()) << writer.GetStatus().Message();
    return *std::move(writer);
  }
  Status OpenError(int64_t step, std::string_view worker) {
    return StepWriter::Open(store_, step, worker).GetStatus();
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

TEST_F(StepWriterTest, WritesAStep) {
  const auto writer = Open(7);
  EXPECT_EQ(writer->Path(), "memory/events/000000000007/000000000007_worker_0.tfevents");
  ASSERT_TRUE(writer->AddTensor("a", Floats({1, 2}), Mode::kEval, 3, 1600000000.25).IsOk());
  ASSERT_TRUE(writer->Close().IsOk());
  const RecordedStep step = RecordedStep::Read(*store_, 7);
  EXPECT_EQ(step.index.mode, Mode::kEval);
  EXPECT_EQ(step.index.mode_step, 3);
  EXPECT_THAT(step.floats.at("a"), ElementsAre(1, 2));
  EXPECT_EQ(step.contexts.at("a").step, 7);
  EXPECT_EQ(step.contexts.at("a").mode, Mode::kEval);
  EXPECT_EQ(step.contexts.at("a").mode_step, 3);
  EXPECT_EQ(step.contexts.at("a").wall_time, 1600000000.25);
}

TEST_F(StepWriterTest, TheModeStepMayBeTheGlobalOneAndTheTimeNow) {
  const auto writer = Open(7);
  ASSERT_TRUE(writer->AddTensor("a", Floats({1}), Mode::kGlobal, -1, 0).IsOk());
  ASSERT_TRUE(writer->Close().IsOk());
  const RecordedStep step = RecordedStep::Read(*store_, 7);
  EXPECT_EQ(step.index.mode_step, 7);
  EXPECT_GT(step.contexts.at("a").wall_time, 1.6e9);
}

TEST_F(StepWriterTest, WritesTheLargestStepAndNoneBeyond) {
  const auto writer = Open(kMaxStep);
  ASSERT_TRUE(writer->AddTensor("a", Floats({1}), Mode::kTrain, kMaxStep, 1).IsOk());
  ASSERT_TRUE(writer->Close().IsOk());
  EXPECT_EQ(RecordedStep::Read(*store_, kMaxStep).index.mode_step, kMaxStep);
  EXPECT_EQ(OpenError(INT64_MAX, "worker_0").Message(),
            "step is 9223372036854775807; it must be from 0 to 9223372036854775806");
  const auto other = Open(0);
  const Status tensor = other->AddTensor("a", Floats({1}), Mode::kTrain, INT64_MAX, 1);
  EXPECT_EQ(tensor.GetCode(), Code::kInvalidArgument);
  EXPECT_THAT(tensor.Message(), HasSubstr("mode_step is 9223372036854775807"));
  const Status shape = other->AddShape({"s", "s", {2}}, Mode::kTrain, INT64_MAX);
  EXPECT_EQ(shape.GetCode(), Code::kInvalidArgument);
}

TEST_F(StepWriterTest, TheFirstCallSaysTheFilesMode) {
  const auto writer = Open(7);
  ASSERT_TRUE(writer->AddShape({"s", "s", {2}}, Mode::kPredict, 1).IsOk());
  ASSERT_TRUE(writer->AddTensor("a", Floats({1}), Mode::kTrain, 5, 1).IsOk());
  ASSERT_TRUE(writer->Close().IsOk());
  const RecordedStep step = RecordedStep::Read(*store_, 7);
  EXPECT_EQ(step.index.mode, Mode::kPredict);
  EXPECT_EQ(step.index.mode_step, 1);
  EXPECT_EQ(step.contexts.at("a").mode, Mode::kTrain);
}

TEST_F(StepWriterTest, TakesStridedTensors) {
  const auto writer = Open(0);
  const std::array<float, 6> numbers = {1, 2, 3, 4, 5, 6};
  const std::array<int64_t, 2> shape = {3, 2};
  const std::array<int64_t, 2> strides = {1, 3};
  const tensor::View transposed{numbers.data(), shape, strides, tensor::DType::kFloat32};
  ASSERT_TRUE(writer->AddTensor("t", transposed, Mode::kGlobal, 0, 1).IsOk());
  const std::array<const char *, 3> texts = {"a", "not this", "b"};
  const std::array<int64_t, 1> two = {2};
  const tensor::View every_other{texts.data(), two, two, tensor::DType::kString};
  ASSERT_TRUE(writer->AddTensor("x", every_other, Mode::kGlobal, 0, 1).IsOk());
  ASSERT_TRUE(writer->Close().IsOk());
  const RecordedStep step = RecordedStep::Read(*store_, 0);
  EXPECT_THAT(step.floats.at("t"), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(step.texts.at("x"), ElementsAre("a", "b"));
}

TEST_F(StepWriterTest, NothingAddedNothingWritten) {
  const auto writer = Open(0);
  EXPECT_TRUE(writer->Close().IsOk());
  EXPECT_THAT(store_->Files(), IsEmpty());
}

TEST_F(StepWriterTest, IsClosedOnce) {
  const auto writer = Open(0);
  ASSERT_TRUE(writer->AddTensor("a", Floats({1}), Mode::kGlobal, 0, 1).IsOk());
  ASSERT_TRUE(writer->Close().IsOk());
  EXPECT_TRUE(writer->Close().IsOk());
  EXPECT_EQ(writer->AddTensor("b", Floats({1}), Mode::kGlobal, 0, 1).GetCode(), Code::kWrongState);
  EXPECT_EQ(writer->AddShape({"b", "b", {}}, Mode::kGlobal, 0).GetCode(), Code::kWrongState);
}

// A record that is announced but cut would shift all that follow it.
TEST_F(StepWriterTest, AfterAFailureTheStepIsGivenUp) {
  const auto writer = Open(0);
  ASSERT_TRUE(writer->AddTensor("a", Floats({1}), Mode::kGlobal, 0, 1).IsOk());
  store_->SetFault([](MemoryStore::Call call, const std::string &) {
    return call == MemoryStore::Call::kAppend ? Status(Code::kNoSpace, "full") : Status::Ok();
  });
  EXPECT_EQ(writer->AddTensor("b", Floats({1}), Mode::kGlobal, 0, 1).GetCode(), Code::kNoSpace);
  store_->SetFault({});
  EXPECT_EQ(writer->AddTensor("c", Floats({1}), Mode::kGlobal, 0, 1).GetCode(), Code::kNoSpace);
  EXPECT_EQ(writer->Close().GetCode(), Code::kNoSpace);
  EXPECT_THAT(store_->Files(), IsEmpty());
}

TEST_F(StepWriterTest, ATensorThatCannotBeWrittenIsLeftOut) {
  const auto writer = Open(0);
  ASSERT_TRUE(writer->AddTensor("a", Floats({1}), Mode::kGlobal, 0, 1).IsOk());
  EXPECT_EQ(writer->AddTensor("\xff", Floats({1}), Mode::kGlobal, 0, 1).GetCode(),
            Code::kInvalidArgument);
  ASSERT_TRUE(writer->Close().IsOk());
  EXPECT_THAT(RecordedStep::Read(*store_, 0).names, ElementsAre("a"));
}

TEST_F(StepWriterTest, RefusesWhatCannotBeAFileName) {
  EXPECT_EQ(OpenError(-1, "worker_0").GetCode(), Code::kInvalidArgument);
  EXPECT_EQ(OpenError(0, "").GetCode(), Code::kInvalidArgument);
  EXPECT_EQ(OpenError(0, "../worker").GetCode(), Code::kInvalidArgument);
  EXPECT_THAT(OpenError(-1, "worker_0").Message(), HasSubstr("step is -1"));
}

TEST_F(StepWriterTest, ADeviceNameGetsItsFileForm) {
  const auto writer = Open(0, "/job:worker/replica:0");
  EXPECT_THAT(writer->Path(), HasSubstr("_job-worker_replica-0.tfevents"));
}

}  // namespace
}  // namespace smdebug::record::step_writer_test
