#include "analyze/tensorboard_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/trial_fixture.h"

namespace smdebug::analyze::tensorboard_export_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

class TensorboardExportTest : public TrialFixture {
 protected:
  TensorboardExportTest() { PutCollections(*store_); }

  storage::MemoryStore board_;
};

TEST_F(TensorboardExportTest, AFileForEachMode) {
  PutStep(0, Mode::kTrain, 0);
  PutStep(1, Mode::kEval, 0);
  PutStep(2, Mode::kTrain, 1);
  PutOldEndMarker();
  Expect(ExportTensorboard(TheTrial(), board_));
  EXPECT_THAT(board_.Files(), ElementsAre(Key("EVAL/events.out.tfevents.smdebug"),
                                          Key("TRAIN/events.out.tfevents.smdebug")));
}

TEST_F(TensorboardExportTest, OneElementIsAScalarAndMoreAreAHistogramAndStatistics) {
  StepFiles(0).Add("one", {1}).Add("more", {1, 2}).Put(*store_);
  PutOldEndMarker();
  Expect(ExportTensorboard(TheTrial(), board_));
  const std::string text = board_.Files().begin()->second;
  for (const char *tag : {"one", "more", "more/mean", "more/std", "more/l2"}) {
    EXPECT_THAT(text, HasSubstr(tag));
  }
  EXPECT_THAT(text, Not(HasSubstr("one/mean")));
}

TEST_F(TensorboardExportTest, TagsOfLossesAndMetricsSortFirst) {
  store_->Put(format::CollectionsFileName("worker_0"),
              R"({"collections": {"losses": {"name": "losses", "include_regex": ["[Ll]oss"]},
                  "metrics": {"name": "metrics", "tensor_names": ["accuracy"]}},
                  "_meta": {"num_workers": 1}})");
  StepFiles(0).Add("loss", {1}).Add("accuracy", {1}).Add("a_loss", {1, 2}).Put(*store_);
  PutOldEndMarker();
  Expect(ExportTensorboard(TheTrial(), board_));
  const std::string text = board_.Files().begin()->second;
  for (const char *tag : {"0_losses/loss", "0_metrics/accuracy", "a_loss/mean"}) {
    EXPECT_THAT(text, HasSubstr(tag));
  }
  EXPECT_THAT(text, Not(HasSubstr("0_losses/a_loss")));
}

TEST_F(TensorboardExportTest, SkipsRecordsThatAreDamagedOrNotThere) {
  StepFiles damaged(0);
  damaged.Add("first", {1}).Add("second", {2}).Events()[20] ^= 1;
  damaged.Put(*store_);
  StepFiles(1).Add("missing", {1}).PutIndex(*store_);
  StepFiles(2).Add("third", {1}).Put(*store_);
  PutOldEndMarker();
  Expect(ExportTensorboard(TheTrial(), board_));
  const std::string text = board_.Files().begin()->second;
  for (const char *tag : {"second", "third"}) EXPECT_THAT(text, HasSubstr(tag));
  for (const char *tag : {"first", "missing"}) EXPECT_THAT(text, Not(HasSubstr(tag)));
  EXPECT_EQ(log_.size(), 2U);
}

TEST_F(TensorboardExportTest, FailuresOfEitherSideAreTold) {
  PutStep(0);
  PutOldEndMarker();
  board_.SetFault([](Call call, const std::string &) {
    return call == Call::kCommit ? Status(Code::kNoSpace, "full") : Status::Ok();
  });
  EXPECT_EQ(ExportTensorboard(TheTrial(), board_).GetCode(), Code::kNoSpace);
  EXPECT_TRUE(board_.Files().empty());
}

}  // namespace
}  // namespace smdebug::analyze::tensorboard_export_test
