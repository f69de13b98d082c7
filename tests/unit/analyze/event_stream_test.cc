#include "analyze/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/trial_files.h"
#include "format/tfrecord.h"
#include "storage/temporary_folder.h"

namespace smdebug::analyze::event_stream_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EventStreamTest : public testing::Test {
 protected:
  EventStream Open(std::string_view events) {
    folder_.Write("x.tfevents", events);
    auto stream = EventStream::Open(folder_.Path("x.tfevents"));
    EXPECT_TRUE(stream.IsOk()) << stream.GetStatus().Message();
    return *std::move(stream);
  }
  // Names up to the end, or to the failure that `failure_` then holds.
  std::vector<std::string> Names(EventStream stream) {
    std::vector<std::string> names;
    while (true) {
      auto next = stream.Next();
      failure_ = next.GetStatus();
      if (!next.IsOk() || !*next) return names;
      names.push_back((*next)->name);
    }
  }

  storage::TemporaryFolder folder_;
  Status failure_;
};

TEST_F(EventStreamTest, GivesOneTensorAfterTheOther) {
  StepFiles step(4, Mode::kTrain, 2);
  step.Add("a", {1}).Add("b", std::vector<float>(10'000)).Add("c", {3});
  EXPECT_THAT(Names(Open(step.Events())), ElementsAre("a", "b", "c"));
  EXPECT_TRUE(failure_.IsOk());
}

TEST_F(EventStreamTest, AnEmptyFileHoldsNone) {
  EXPECT_THAT(Names(Open("")), ElementsAre());
  EXPECT_TRUE(failure_.IsOk());
}

TEST_F(EventStreamTest, EventsWithoutATensorArePassedOver) {
  // A version line, as TensorBoard's files begin with: field 3 of an event.
  const std::string version =
      "\x1a\x0d"
      "brain.Event:2";
  std::string record(AsText(format::RecordHeader(version.size())));
  record += version;
  record += AsText(format::RecordFooter(format::kConstantFooter));
  StepFiles step(0);
  step.Add("a", {1});
  EXPECT_THAT(Names(Open(record + step.Events() + record)), ElementsAre("a"));
  EXPECT_TRUE(failure_.IsOk()) << failure_.Message();
}

TEST_F(EventStreamTest, WhatComesBeforeAFaultIsRight) {
  StepFiles step(0);
  step.Add("a", {1}).Add("b", {2});
  const std::string whole = step.Events();
  const size_t second = step.Index().tensors[1].start;
  for (const size_t size : {second + 1, second + 12, whole.size() - 1}) {
    EXPECT_THAT(Names(Open(whole.substr(0, size))), ElementsAre("a")) << size;
    EXPECT_EQ(failure_.GetCode(), Code::kCorruptData) << size;
    EXPECT_THAT(failure_.Message(), HasSubstr(folder_.Path("x.tfevents"))) << size;
  }
  std::string flipped = whole;
  flipped[second + 2] ^= 1;
  EXPECT_THAT(Names(Open(flipped)), ElementsAre("a"));
  EXPECT_THAT(failure_.Message(), HasSubstr("record at " + std::to_string(second)));
}

TEST_F(EventStreamTest, AMissingFileIsNotFound) {
  EXPECT_EQ(EventStream::Open(folder_.Path("none")).GetStatus().GetCode(), Code::kNotFound);
  EXPECT_EQ(EventStream::Open("no-such-file-here").GetStatus().GetCode(), Code::kNotFound);
}

}  // namespace
}  // namespace smdebug::analyze::event_stream_test
