#include "analyze/index_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "analyze/trial_files.h"
#include "base/step.h"

namespace smdebug::analyze::index_scanner_test {
namespace {

using storage::MemoryStore;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class IndexScannerTest : public testing::Test {
 protected:
  IndexScanner &Scanner() {
    if (!scanner_) scanner_ = std::make_unique<IndexScanner>(store_, range_);
    return *scanner_;
  }
  // Steps and workers that are new; these are known from then on.
  std::vector<std::pair<int64_t, std::string>> Next() {
    failure_ = Status::Ok();
    std::vector<std::pair<int64_t, std::string>> steps;
    std::vector<Status> failures;
    const Status status = Scanner().Next(
        [&](int64_t step, const std::string &worker) {
          return known_.count({step, worker}) != 0;
        },
        [&](IndexScanner::Found &file) { steps.emplace_back(file.step, std::move(file.worker)); },
        &failures);
    EXPECT_TRUE(status.IsOk()) << status.Message();
    known_.insert(steps.begin(), steps.end());
    num_failures_ = failures.size();
    failure_ = failures.empty() ? Status() : failures.front();
    return steps;
  }
  void PutStep(int64_t step, const std::string &worker = "worker_0") {
    StepFiles(step, worker).Add("a", {1}).Put(*store_);
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  StepRange range_;
  std::unique_ptr<IndexScanner> scanner_;
  std::set<std::pair<int64_t, std::string>> known_;
  Status failure_;  // the first one of the last call
  size_t num_failures_ = 0;
};

TEST_F(IndexScannerTest, FindsWhatIsNew) {
  EXPECT_THAT(Next(), IsEmpty());
  PutStep(0);
  PutStep(1000, "worker_1");
  EXPECT_THAT(Next(), ElementsAre(Pair(0, "worker_0"), Pair(1000, "worker_1")));
  EXPECT_THAT(Next(), IsEmpty());
  PutStep(500);
  EXPECT_THAT(Next(), ElementsAre(Pair(500, "worker_0"))) << "also between what is known";
}

TEST_F(IndexScannerTest, FileNamesSayStepAndWorkerDecoded) {
  StepFiles(7, "/job:worker").Add("a", {1}).Put(*store_);
  EXPECT_THAT(Next(), ElementsAre(Pair(7, "/job:worker")));
}

TEST_F(IndexScannerTest, OtherFilesArePassedOver) {
  PutStep(0);
  store_->Put("index/000000000/000000000001_worker_0.json.tmp", "half");
  store_->Put("index/000000000/readme.txt", "");
  store_->Put("index/000000000/000000000002_worker_0.csv", "a,b");
  store_->Put("index/000000000/.json", "");
  EXPECT_THAT(Next(), ElementsAre(Pair(0, "worker_0")));
  EXPECT_TRUE(failure_.IsOk());
}

TEST_F(IndexScannerTest, ALargestStepIsReadAndOneBeyondItIsCorrupt) {
  PutStep(kMaxStep);
  EXPECT_THAT(Next(), ElementsAre(Pair(kMaxStep, "worker_0")));
  EXPECT_TRUE(failure_.IsOk());
  PutStep(INT64_MAX);
  PutStep(3);
  EXPECT_THAT(Next(), ElementsAre(Pair(3, "worker_0")));
  EXPECT_EQ(failure_.GetCode(), Code::kCorruptData);
  EXPECT_THAT(failure_.Message(), HasSubstr("9223372036854775807_worker_0.json"));
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_TRUE(failure_.IsOk()) << "it was reported before";
}

TEST_F(IndexScannerTest, OnlyStepsInRangeAreRead) {
  range_ = {10, 20};
  for (const int64_t step : {0, 9, 10, 19, 20}) PutStep(step);
  EXPECT_THAT(Next(), ElementsAre(Pair(10, "worker_0"), Pair(19, "worker_0")));
}

TEST_F(IndexScannerTest, ARangeMayBeOpen) {
  const StepRange from_ten{10, {}};
  EXPECT_FALSE(from_ten.Holds(9));
  EXPECT_TRUE(from_ten.Holds(10));
  EXPECT_TRUE(from_ten.Holds(INT64_MAX));
  EXPECT_TRUE(StepRange().Holds(0));
}

TEST_F(IndexScannerTest, AFileThatCannotBeReadIsToldOnceAndTriedAgain) {
  PutStep(0);
  PutStep(1);
  store_->SetFault([](MemoryStore::Call call, const std::string &name) {
    const bool fails = call == MemoryStore::Call::kRead && name.ends_with("0_worker_0.json");
    return fails ? Status(Code::kIo, name + ": as told") : Status::Ok();
  });
  EXPECT_THAT(Next(), ElementsAre(Pair(1, "worker_0"))) << "the rest is read all the same";
  EXPECT_EQ(failure_.GetCode(), Code::kIo);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_TRUE(failure_.IsOk()) << "it was told before";
  store_->SetFault({});
  EXPECT_THAT(Next(), ElementsAre(Pair(0, "worker_0")));
  EXPECT_TRUE(failure_.IsOk());
}

TEST_F(IndexScannerTest, EveryFileThatCannotBeReadIsReported) {
  for (int64_t step = 0; step < 3; ++step) {
    store_->Put(format::IndexFileName(step, "worker_0"), "nonsense");
  }
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(num_failures_, 3U);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(num_failures_, 0U);
}

TEST_F(IndexScannerTest, FilesComeInTheOrderOfTheirSteps) {
  const std::string text = StepFiles(9).IndexText();
  store_->Put("index/000000000/9_worker_0.json", text);
  store_->Put("index/000000000/10_worker_0.json", text);
  store_->Put("index/000000001/8_worker_0.json", text);
  EXPECT_THAT(Next(), ElementsAre(Pair(8, "worker_0"), Pair(9, "worker_0"), Pair(10, "worker_0")));
}

TEST_F(IndexScannerTest, AnotherReasonIsNews) {
  store_->Put(format::IndexFileName(0, "worker_0"), "nonsense");
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(failure_.GetCode(), Code::kCorruptData);
  store_->SetFault([](MemoryStore::Call call, const std::string &) {
    return call == MemoryStore::Call::kOpen ? Status(Code::kPermission, "") : Status::Ok();
  });
  Next();
  EXPECT_EQ(failure_.GetCode(), Code::kPermission);
}

TEST_F(IndexScannerTest, AFileThatIsCorruptNamesItself) {
  const std::string name = format::IndexFileName(3, "worker_0");
  for (const char *text :
       {"", "{", "[]", "{}", R"({"meta": {}})", R"({"meta": {"mode": "TRAIN", "mode_step": 0}})"}) {
    store_->Put(name, text);
    scanner_.reset();
    EXPECT_THAT(Next(), IsEmpty()) << text;
    EXPECT_EQ(failure_.GetCode(), Code::kCorruptData) << text;
    EXPECT_THAT(failure_.Message(), HasSubstr("memory/" + name)) << text;
  }
}

TEST_F(IndexScannerTest, ARecordThatNoReaderCouldDecodeIsCorrupt) {
  StepFiles files(0);
  files.Add("a", {1});
  files.Index().tensors[0].length = uint64_t{1} << 40;
  files.Put(*store_);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(failure_.Message(), HasSubstr("the record of 'a' cannot have"));
}

TEST_F(IndexScannerTest, AnEventFileOutsideOfTheTrialIsCorrupt) {
  for (const char *outside : {"../secret", "/etc/passwd", "events/../../x"}) {
    StepFiles files(0);
    files.Add("a", {1});
    files.Index().event_file_name = outside;
    files.Put(*store_);
    scanner_.reset();
    EXPECT_THAT(Next(), IsEmpty()) << outside;
    EXPECT_EQ(failure_.GetCode(), Code::kCorruptData) << outside;
  }
}

TEST_F(IndexScannerTest, AListingThatFailsIsAnErrorOfTheCall) {
  store_->SetFault([](MemoryStore::Call call, const std::string &) {
    return call == MemoryStore::Call::kList ? Status(Code::kIo, "as told") : Status::Ok();
  });
  std::vector<Status> failures;
  const Status status = Scanner().Next([](int64_t, const std::string &) { return false; },
                                       [](IndexScanner::Found &) {}, &failures);
  EXPECT_EQ(status.GetCode(), Code::kIo);
}

}  // namespace
}  // namespace smdebug::analyze::index_scanner_test
