// The names of a step's tensors in the order of recording.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/trial_fixture.h"

namespace smdebug::analyze::recorded_names_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RecordedNamesTest : public TrialFixture {
 protected:
  RecordedNamesTest() { PutCollections(*store_); }

  std::vector<std::string> Recorded(int64_t step, Mode mode = Mode::kGlobal) {
    return Take(TheTrial().RecordedNames(step, mode));
  }
};

TEST_F(RecordedNamesTest, AnEmptyRunHasNone) {
  EXPECT_THAT(Recorded(0), IsEmpty());
  EXPECT_THAT(Recorded(-1), IsEmpty());
  EXPECT_THAT(Recorded(INT64_MAX, Mode::kEval), IsEmpty());
}

TEST_F(RecordedNamesTest, AreInTheOrderOfRecording) {
  StepFiles(0, Mode::kTrain, 0).Add("c", {1}).Add("a", {1}).Add("b", {1}).Put(*store_);
  StepFiles(1, Mode::kEval, 0).Add("b", {1}).Add("a", {1}).Put(*store_);
  EXPECT_THAT(Recorded(0), ElementsAre("c", "a", "b"));
  EXPECT_THAT(Recorded(0, Mode::kEval), ElementsAre("b", "a"));
  EXPECT_THAT(Recorded(1), ElementsAre("b", "a"));
  EXPECT_THAT(Recorded(1, Mode::kTrain), IsEmpty());
}

TEST_F(RecordedNamesTest, AReductionHasThePlaceOfItsTensor) {
  StepFiles(0)
      .Add("b", {1})
      .Add("smdebug/reductions/min/w", {1})
      .Add("a", {1})
      .Add("smdebug/reductions/max/w", {1})
      .Put(*store_);
  EXPECT_THAT(Recorded(0), ElementsAre("b", "w", "a"));
}

TEST_F(RecordedNamesTest, ShapesWithoutRecordsComeLast) {
  StepFiles(0).AddShape("a", {2}).Add("c", {1}).AddShape("c", {1}).Add("b", {1}).Put(*store_);
  StepFiles(1).AddShape("b", {2}).AddShape("a", {2}).Put(*store_);
  EXPECT_THAT(Recorded(0), ElementsAre("c", "b", "a"));
  EXPECT_THAT(Recorded(1), ElementsAre("a", "b"));
}

TEST_F(RecordedNamesTest, OtherWorkersAddTheirOwn) {
  PutCollections(*store_, 2, "worker_0");
  PutCollections(*store_, 2, "worker_1");
  StepFiles(0, "worker_1").Add("x", {1}).Add("a", {1}).Add("b", {1}).Put(*store_);
  StepFiles(0, "worker_0").Add("b", {1}).Add("a", {1}).Put(*store_);
  EXPECT_THAT(Recorded(0), ElementsAre("b", "a", "x"));
}

TEST_F(RecordedNamesTest, AStepOfOneWorkerOnlyCounts) {
  PutCollections(*store_, 2, "worker_0");
  PutCollections(*store_, 2, "worker_1");
  StepFiles(3, "worker_1").Add("b", {1}).Add("a", {1}).Put(*store_);
  EXPECT_THAT(Recorded(3), ElementsAre("b", "a"));
}

TEST_F(RecordedNamesTest, NamesThatDifferByAPrefixAndLongNamesAreKept) {
  const std::string name(64 * 1024, 'n');
  StepFiles(0).Add("ab", {1}).Add(name, {1}).Add("a", {1}).Add("a/b", {1}).Put(*store_);
  EXPECT_THAT(Recorded(0), ElementsAre("ab", name, "a", "a/b"));
}

TEST_F(RecordedNamesTest, ADamagedIndexIsAnErrorThatNamesTheFile) {
  StepFiles(0).Add("b", {1}).Add("a", {1}).Put(*store_);
  StepFiles damaged(1);
  damaged.Add("b", {1}).Add("a", {1}).PutEvents(*store_);
  store_->Put(damaged.IndexName(), damaged.IndexText().substr(0, 40));
  const Status status = TheTrial().RecordedNames(0, Mode::kGlobal).GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kCorruptData);
  EXPECT_THAT(status.Message(), HasSubstr(damaged.IndexName()));
}

TEST_F(RecordedNamesTest, DamagedEventsDoNotChangeTheNames) {
  StepFiles damaged(0);
  damaged.Add("b", {1}).Add("a", {1});
  damaged.Events()[20] ^= 1;
  damaged.Put(*store_);
  EXPECT_THAT(Recorded(0), ElementsAre("b", "a"));
}

TEST_F(RecordedNamesTest, FailsIfTheTrialCannotBeRead) {
  FailAt(Call::kList, "", Code::kIo);
  EXPECT_EQ(TheTrial().RecordedNames(0, Mode::kGlobal).GetStatus().GetCode(), Code::kIo);
}

}  // namespace
}  // namespace smdebug::analyze::recorded_names_test
