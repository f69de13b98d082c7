#include "tables/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "config/collection_set.h"
#include "format/paths.h"
#include "tables/runs.h"

namespace smdebug::tables::scan_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ScanTest : public testing::Test {
 protected:
  std::vector<std::string> Scan(Table table, const std::vector<std::string> &options) {
    return Rows::Of(table, runs_.Path(), options, &log_);
  }
  Status Failure(Table table, const std::vector<std::string> &options) {
    return Rows::Of(Rows::RequestFor(table, runs_.Path(), options)).GetStatus();
  }

  Runs runs_;
  std::vector<std::string> log_;
};

TEST_F(ScanTest, ReturnsARowForEachTensorStepAndWorker) {
  runs_.PutTrial("b", 1);
  runs_.PutTrial("a", 2);
  EXPECT_THAT(
      Scan(Table::kTensors,
           {"column", "trial", "column", "tensor", "column", "collection", "column", "step",
            "column", "mode", "column", "mode_step", "column", "worker", "column", "mean"}),
      ElementsAre("a|gradient/w|gradients|0|TRAIN|0|worker_0|-", "a|a|-|0|TRAIN|0|worker_0|0",
                  "a|loss|-|0|TRAIN|0|worker_0|-", "a|gradient/w|gradients|1|TRAIN|1|worker_0|-",
                  "a|a|-|1|TRAIN|1|worker_0|1", "a|loss|-|1|TRAIN|1|worker_0|-",
                  "b|gradient/w|gradients|0|TRAIN|0|worker_0|-", "b|a|-|0|TRAIN|0|worker_0|0",
                  "b|loss|-|0|TRAIN|0|worker_0|-"));
}

TEST_F(ScanTest, KnowsTypesShapesAndTimesWithoutReadingElements) {
  runs_.PutTrial("a", 1);
  EXPECT_THAT(
      Scan(Table::kTensors,
           {"column", "tensor", "column", "dtype", "column", "shape", "column", "time"}),
      ElementsAre("gradient/w|float32|[4]|1500000", "a|-|-|1500000", "loss|float32|[1]|1500000"));
}

TEST_F(ScanTest, ReadsElementsIfAsked) {
  runs_.PutTrial("a", 1);
  EXPECT_THAT(Scan(Table::kTensors, {"tensor", "gradient/w", "column", "value", "column", "bytes",
                                     "column", "shape"}),
              ElementsAre("[0,1,2,3]|16 bytes|[4]"));
}

TEST_F(ScanTest, ComputesStatisticsThatWereNotSavedIfAsked) {
  runs_.PutTrial("a", 1);
  const std::vector<std::string> columns = {"column", "tensor", "column", "mean",
                                            "column", "max",    "column", "l1"};
  EXPECT_THAT(Scan(Table::kTensors, columns),
              ElementsAre("gradient/w|-|-|-", "a|0|-|-", "loss|-|-|-"));
  std::vector<std::string> computed = columns;
  computed.insert(computed.end(), {"compute", "true"});
  EXPECT_THAT(Scan(Table::kTensors, computed),
              ElementsAre("gradient/w|1.5|3|6", "a|0|-|-", "loss|0|0|0"));
}

TEST_F(ScanTest, TimeComesFromAnyStatisticThatIsRead) {
  runs_.Put("a", [](storage::MemoryStore &store) {
    analyze::PutCollections(store, 1);
    analyze::StepFiles(0, Mode::kTrain, 0)
        .Add("smdebug/reductions/min/a", {1.0F})
        .Add("smdebug/reductions/max/a", {2.0F})
        .Put(store);
  });
  const auto rows = [&](const std::vector<std::string> &columns) {
    std::vector<std::string> options = {"damage", "fail"};
    for (const std::string &column : columns) options.insert(options.end(), {"column", column});
    return Scan(Table::kTensors, options);
  };
  EXPECT_THAT(rows({"time", "max"}), ElementsAre("1500000|2"));
  EXPECT_THAT(rows({"time", "min"}), ElementsAre("1500000|1"));
  EXPECT_THAT(rows({"time", "mean"}), ElementsAre("1500000|-"));
  EXPECT_THAT(rows({"time"}), ElementsAre("1500000"));
  EXPECT_THAT(log_, IsEmpty());
}

// Numbers in the index differ from those in the records here, to tell them apart.
TEST_F(ScanTest, NumbersOfTheIndexAreEnough) {
  const auto number = [](double value) {
    return format::SavedNumber{value, tensor::DType::kInt8, 2, 2'500'000};
  };
  runs_.Put("a", [&](storage::MemoryStore &store) {
    analyze::PutCollections(store, 1);
    analyze::StepFiles files(0, Mode::kTrain, 0);
    files.Add("smdebug/reductions/mean/w", {1.0F}).Add("smdebug/reductions/l2/w", {2.0F});
    files.Add("w", {1.0F, 2.0F}).Add("loss", {3.0F}).Add("alone", {4.0F});
    files.Add("smdebug/reductions/max/v", {5.0F});
    files.Index().tensors[0].number = number(10);
    files.Index().tensors[3].number = number(13);
    files.Index().tensors[5].number = number(15);
    files.Put(store);
  });
  const std::vector<std::string> statistics = {"column", "tensor", "column", "mean",   "column",
                                               "l2",     "column", "max",    "column", "time"};
  EXPECT_THAT(Scan(Table::kTensors, statistics),
              ElementsAre("w|10|2|-|1500000", "loss|-|-|-|2500000", "alone|-|-|-|1500000",
                          "v|-|-|15|2500000"));
  EXPECT_THAT(Scan(Table::kScalars, {"column", "name", "column", "value", "column", "time"}),
              ElementsAre("loss|13|2500000", "alone|4|1500000"));
  EXPECT_THAT(Scan(Table::kTensors, {"tensor", "loss", "column", "value", "column", "dtype"}),
              ElementsAre("[3]|float32"));
  EXPECT_THAT(Scan(Table::kTensors, {"column", "tensor", "column", "dtype", "column", "shape"}),
              ElementsAre("w|float32|[2]", "loss|int8|[1,1]", "alone|float32|[1]", "v|-|-"));
  EXPECT_THAT(log_, IsEmpty());
  std::filesystem::remove_all(runs_.Path() + "/a/events");
  EXPECT_THAT(Scan(Table::kTensors, {"column", "mean", "column", "time", "tensor", "loss"}),
              ElementsAre("-|2500000"));
  EXPECT_THAT(Scan(Table::kScalars, {"tensor", "loss", "column", "value"}), ElementsAre("13"));
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(ScanTest, ScalarsAreTensorsOfOneElement) {
  runs_.PutTrial("a", 2);
  EXPECT_THAT(Scan(Table::kScalars, {}), ElementsAre("a|loss|-|0|TRAIN|0|worker_0|0|1500000",
                                                     "a|loss|-|1|TRAIN|1|worker_0|0.5|1500000"));
}

TEST_F(ScanTest, ConditionsNarrowTheRowsTogether) {
  runs_.PutTrial("one/a", 3);
  runs_.PutTrial("two/a", 3, "worker_1");
  const auto with = [&](std::vector<std::string> options) {
    options.insert(options.end(), {"column", "trial", "column", "tensor", "column", "step"});
    return Scan(Table::kTensors, options);
  };
  EXPECT_THAT(with({"trial", "^two", "tensor", "loss", "first", "1", "end", "2"}),
              ElementsAre("two/a|loss|1"));
  EXPECT_THAT(with({"worker", "worker_1", "regex", "^l", "first", "2"}),
              ElementsAre("two/a|loss|2"));
  EXPECT_THAT(with({"collection", "gradients", "end", "1"}),
              ElementsAre("one/a|gradient/w|0", "two/a|gradient/w|0"));
  EXPECT_THAT(with({"mode", "eval"}), IsEmpty());
  EXPECT_THAT(with({"mode", "eval", "mode", "train", "tensor", "a", "end", "1"}),
              ElementsAre("one/a|a|0", "two/a|a|0"));
  EXPECT_THAT(with({"collection", "unknown"}), IsEmpty());
}

TEST_F(ScanTest, PartitionsTogetherHaveTheRowsOfTheScan) {
  runs_.PutTrial("a", 3, "worker_0", 998);
  runs_.PutTrial("a", 3, "worker_1", 998);
  const auto request = Rows::RequestFor(Table::kScalars, runs_.Path(), {"first", "999"});
  const auto parts = PartitionsOf(*request);
  ASSERT_TRUE(parts.IsOk());
  ASSERT_THAT(*parts, SizeIs(4));
  EXPECT_EQ((*parts)[0].worker, "worker_0");
  EXPECT_EQ((*parts)[0].first, 999);
  EXPECT_EQ((*parts)[0].end, 1000);
  EXPECT_EQ((*parts)[3].first, 1000);
  size_t rows = 0;
  for (const Partition &part : *parts) {
    rows += Rows::Of(Table::kScalars, part.path,
                     {"worker", part.worker, "first", std::to_string(part.first), "end",
                      std::to_string(part.end), "name", part.name})
                .size();
  }
  EXPECT_EQ(rows, Scan(Table::kScalars, {"first", "999"}).size());
}

TEST_F(ScanTest, TrialsHaveTheirStateStepsAndWorkers) {
  runs_.PutTrial("a", 3);
  runs_.PutTrial("a", 3, "worker_1");
  runs_.Folder().Write("a/training_job_end.ts", "");
  runs_.PutTrial("b", 1);
  runs_.Folder().Write("c/collections/000000000/worker_0_collections.json", "{}");
  EXPECT_THAT(
      Scan(Table::kTrials, {"column", "trial", "column", "state", "column", "steps", "column",
                            "first_step", "column", "last_step", "column", "workers", "column",
                            "problem", "column", "configuration"}),
      ElementsAre(HasSubstr("a|finished|3|0|2|2|-|{\"collections\""),
                  HasSubstr("b|running|1|0|0|1|-|{\"collections\""), "c|empty|0|-|-|0|-|{}"));
}

TEST_F(ScanTest, AJobThatFailedSaysWhy) {
  const storage::TemporaryFolder cache;
  setenv("XDG_CACHE_HOME", cache.Path().c_str(), 1);
  runs_.PutTrial("a", 2);
  runs_.Folder().Write("a/training_job_end.ts", "ValueError: no \xff\n");
  runs_.PutTrial("b", 1);
  runs_.Folder().Write("b/training_job_end.ts", std::string((64 << 10) + 1, 'x'));
  runs_.PutTrial("c", 1);
  runs_.Folder().Write("c/training_job_end.ts", " \n");
  runs_.Folder().Write("d/collections/000000000/worker_0_collections.json", "{}");
  runs_.Folder().Write("d/training_job_end.ts", "no data");
  const std::vector<std::string> columns = {"column", "trial",  "column",
                                            "state",  "column", "problem"};
  const auto expected = ElementsAre("a|failed|ValueError: no \uFFFD", "b|finished|-",
                                    "c|finished|-", "d|failed|no data");
  EXPECT_THAT(Scan(Table::kTrials, columns), expected);
  EXPECT_THAT(Scan(Table::kTrials, columns), expected);  // from the catalogue
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(ScanTest, TrialsHaveTheirMetadataIfAsked) {
  runs_.PutTrial("a", 1);
  runs_.Put("b", [](storage::MemoryStore &store) {
    analyze::PutCollections(store, 1);
    store.Put(format::CollectionsFileName("worker_0"),
              config::CollectionsToJson({}, 1, {}, {{"rate", "0.1"}}));
  });
  EXPECT_THAT(Scan(Table::kTrials, {"column", "trial", "column", "metadata"}),
              ElementsAre("a|{}", R"(b|{"rate": "0.1"})"));
}

TEST_F(ScanTest, RemembersTrialsThatHaveEnded) {
  const storage::TemporaryFolder cache;
  setenv("XDG_CACHE_HOME", cache.Path().c_str(), 1);
  runs_.PutTrial("a", 3);
  runs_.Folder().Write("a/training_job_end.ts", "");
  runs_.PutTrial("b", 1);
  const std::vector<std::string> columns = {"column", "trial", "column", "state",
                                            "column", "steps", "column", "last_step"};
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("a|finished|3|2", "b|running|1|0"));
  // Steps are not counted again, but those of a running trial, and of another end, are.
  runs_.PutTrial("a", 4);
  runs_.PutTrial("b", 2);
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("a|finished|3|2", "b|running|2|1"));
  EXPECT_THAT(Scan(Table::kTrials, {"column", "steps", "first", "1"}), ElementsAre("3", "1"));
  runs_.Folder().Write("a/training_job_end.ts", " ");
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("a|finished|4|3", "b|running|2|1"));
  // Those of folders that nobody lists any more are removed.
  const std::filesystem::path folder(cache.Path("libsmdebug/catalogue"));
  const auto file = std::filesystem::directory_iterator(folder)->path();
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const auto &[name, days] : std::map<std::string, int>{{"old.json", 91}, {"new.json", 89}}) {
    std::ofstream(folder / name) << "{}";
    std::filesystem::last_write_time(folder / name, now - std::chrono::hours(24 * days));
  }
  runs_.Folder().Write("a/training_job_end.ts", "  ");
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("a|finished|4|3", "b|running|2|1"));
  EXPECT_FALSE(std::filesystem::exists(folder / "old.json"));
  EXPECT_TRUE(std::filesystem::exists(folder / "new.json") && std::filesystem::exists(file));
  // A catalogue that is damaged or cannot be written costs time only.
  std::ofstream(file) << "{\"version\": 1, \"trials\": 5";
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("a|finished|4|3", "b|running|2|1"));
  setenv("XDG_CACHE_HOME", "/dev/null/nowhere", 1);
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("a|finished|4|3", "b|running|2|1"));
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(ScanTest, AJobEndsWithTheLastOfItsWorkers) {
  const storage::TemporaryFolder cache;
  setenv("XDG_CACHE_HOME", cache.Path().c_str(), 1);
  const auto note_end = [&](const std::string &worker) {
    const std::string name = format::CollectionsFileName(worker);
    runs_.Folder().Write("a/" + name, config::CollectionsToJson({}, 2, {}, {}, true));
  };
  runs_.PutTrial("a", 2, "worker_0");
  runs_.PutTrial("a", 3, "worker_1");
  const std::vector<std::string> columns = {"column", "state", "column", "steps"};
  note_end("worker_0");
  runs_.Folder().Write("a/training_job_end.ts", "");
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("running|3"));
  runs_.PutTrial("a", 4, "worker_1");
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("running|4"));
  note_end("worker_1");
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("finished|4"));
  runs_.PutTrial("a", 5, "worker_1");  // From the catalogue: nobody records there any more.
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("finished|4"));
  runs_.Folder().Write("a/training_job_end.ts", "no memory");
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("failed|5"));
  unsetenv("XDG_CACHE_HOME");
}

// Workers of the original do not note their ends: steps that follow the first end count for a
// while.
TEST_F(ScanTest, WhatOthersRecordAfterAnEndIsCounted) {
  const storage::TemporaryFolder cache;
  setenv("XDG_CACHE_HOME", cache.Path().c_str(), 1);
  runs_.PutTrial("a", 2, "worker_0");
  runs_.PutTrial("a", 3, "worker_1");
  runs_.Folder().Write("a/training_job_end.ts", "");
  const std::vector<std::string> columns = {"column", "state", "column", "steps"};
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("finished|3"));
  runs_.PutTrial("a", 4, "worker_1");
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("finished|4"));
  runs_.Folder().Write("a/" + format::CollectionsFileName("worker_1"), "{");
  EXPECT_THAT(Scan(Table::kTrials, columns), ElementsAre("finished|4"));
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(ScanTest, FindingsComeFromTheRules) {
  runs_.PutTrial("good", 3);
  runs_.Put("bad", [](storage::MemoryStore &store) {
    analyze::PutCollections(store);
    for (int step = 0; step < 3; ++step) {
      analyze::StepFiles(step, Mode::kTrain, step).Add("loss", {step > 0 ? NAN : 1.0F}).Put(store);
    }
  });
  EXPECT_THAT(Scan(Table::kFindings, {"rule", "FirstNonFinite", "column", "trial", "column", "rule",
                                      "column", "step", "column", "tensor", "column", "problem"}),
              ElementsAre("bad|FirstNonFinite|1|loss|-"));
}

TEST_F(ScanTest, ABrokenTrialIsAFindingsRowThatSaysSo) {
  runs_.PutTrial("a", 1);
  runs_.PutTrial("b", 1);
  runs_.Folder().Write("a/collections/000000000/worker_0_collections.json", "{");
  const auto rows =
      Scan(Table::kFindings, {"column", "trial", "column", "rule", "column", "problem"});
  EXPECT_THAT(rows, ElementsAre(HasSubstr("worker_0_collections.json")));
  EXPECT_THAT(rows, Each(testing::StartsWith("a|-|")));
}

TEST_F(ScanTest, SkipsWhatIsDamagedOrFails) {
  runs_.PutTrial("a", 2);
  const std::string events = "a/events/000000000000/000000000000_worker_0.tfevents";
  std::string text = runs_.Folder().Read(events);
  runs_.Folder().Write(events, text.substr(0, text.size() / 2));
  const std::vector<std::string> columns = {"column", "tensor", "column",
                                            "step",   "column", "value"};
  EXPECT_THAT(Scan(Table::kTensors, columns),
              ElementsAre("gradient/w|0|[0,1,2,3]", "a|0|-", "loss|0|-", "gradient/w|1|[1,2,3,4]",
                          "a|1|-", "loss|1|[0.5]"));
  EXPECT_THAT(log_, Not(IsEmpty()));
  std::vector<std::string> strict = columns;
  strict.insert(strict.end(), {"damage", "fail"});
  EXPECT_EQ(Failure(Table::kTensors, strict).GetCode(), Code::kCorruptData);
}

TEST_F(ScanTest, AHostileIndexHarmsOnlyItsTrial) {
  runs_.PutTrial("a", 1);
  runs_.PutTrial("b", 1);
  const std::string index = "a/index/000000000/000000000000_worker_0.json";
  for (
      const char *const hostile :
      {R"({"meta": {"mode": "TRAIN", "mode_step": 0, "event_file_name": "events/000000000000/000000000000_worker_0.tfevents"}, "tensor_payload": [{"tensorname": "w", "start_idx": 5, "length": 1099511627776}, {"tensorname": "v", "start_idx": 18446744073709551000, "length": 5000}], "shape_payload": []})",
       R"({"meta": {"mode": "TRAIN", "mode_step": 0, "event_file_name": "../b/events/000000000000/000000000000_worker_0.tfevents"}, "tensor_payload": [{"tensorname": "w", "start_idx": 0, "length": 10}], "shape_payload": []})",
       "[[[[", ""}) {
    runs_.Folder().Write(index, hostile);
    const auto rows =
        Scan(Table::kTensors, {"column", "trial", "column", "value", "tensor", "loss"});
    EXPECT_THAT(rows, ElementsAre("b|[0]")) << hostile;
    EXPECT_THAT(Scan(Table::kTensors, {"column", "trial", "column", "value", "compute", "true"}),
                testing::Contains("b|[0,1,2,3]"));
  }
}

TEST_F(ScanTest, BatchesHaveTheWantedSize) {
  runs_.PutTrial("a", 50);
  const auto request = Rows::RequestFor(Table::kScalars, runs_.Path(), {"batch_rows", "7"});
  const auto stream = OpenScan(request);
  ASSERT_TRUE(stream.IsOk());
  std::vector<size_t> sizes;
  for (auto batch = (*stream)->Next(); batch.IsOk() && *batch; batch = (*stream)->Next()) {
    sizes.push_back((*batch)->rows);
  }
  EXPECT_THAT(sizes, ElementsAre(7, 7, 7, 7, 7, 7, 7, 1));
}

TEST_F(ScanTest, FindsTrialsInFoldersAndByPatterns) {
  for (const char *const trial : {"x/2026-1/a", "x/2026-2", "y/2026-3", "y/.hidden", "z/[1]"}) {
    runs_.PutTrial(trial, 1);
  }
  const auto names = [&](const std::string &path) {
    return Rows::Of(Table::kTrials, runs_.Path() + path, {"column", "trial"});
  };
  EXPECT_THAT(names(""), ElementsAre("x/2026-1/a", "x/2026-2", "y/2026-3", "z/[1]"));
  EXPECT_THAT(names("/x/"), ElementsAre("2026-1/a", "2026-2"));
  EXPECT_THAT(names("/*/2026-*"), ElementsAre("x/2026-1/a", "x/2026-2", "y/2026-3"));
  EXPECT_THAT(names("/x/2026-2"), ElementsAre("2026-2"));
  EXPECT_THAT(names("/y/2026-?"), ElementsAre("2026-3"));
}

TEST_F(ScanTest, ANameThatExistsIsNoPattern) {
  for (const char *const trial : {"z/[1]", "z/1", "w*/a", "wx/a", "wx/ b"}) {
    runs_.PutTrial(trial, 1);
  }
  const auto names = [&](const std::string &path) {
    return Rows::Of(Table::kTrials, runs_.Path() + path, {"column", "trial"});
  };
  EXPECT_THAT(names("/z/[1]"), ElementsAre("[1]"));
  EXPECT_THAT(names("/z/\\[1]"), ElementsAre("[1]"));
  EXPECT_THAT(names("/z/[1-9]"), ElementsAre("1"));
  EXPECT_THAT(names("/w*"), ElementsAre("a"));
  EXPECT_THAT(names("/w*/*"), ElementsAre("a"));
  EXPECT_THAT(names("/?/[1]"), ElementsAre("z/[1]"));
  EXPECT_THAT(names("/wx/ *"), ElementsAre(" b"));
}

TEST_F(ScanTest, LeavesOutWhatHasNoNameInUtf8) {
  runs_.PutTrial("a", 1);
  runs_.PutTrial("b\xFF", 1);
  EXPECT_THAT(Scan(Table::kScalars, {"column", "trial"}), ElementsAre("a"));
  EXPECT_THAT(log_, testing::Contains(HasSubstr("its name is not UTF-8; skipped")));
}

TEST_F(ScanTest, NamesWhatIsWrongWithARequest) {
  runs_.PutTrial("a", 1);
  EXPECT_THAT(TableFromName("tensor").GetStatus().Message(), HasSubstr("did you mean 'tensors'?"));
  Request request(Table::kTensors);
  const auto refused = [&](const char *option, const char *value) {
    return request.Add(option, value).Message();
  };
  EXPECT_THAT(refused("colum", "x"), HasSubstr("did you mean 'column'?"));
  EXPECT_THAT(refused("column", "stepp"), HasSubstr("did you mean 'step'?"));
  EXPECT_THAT(refused("first", "one"), HasSubstr("first is 'one'"));
  EXPECT_THAT(refused("regex", "("), HasSubstr("("));
  EXPECT_THAT(refused("mode", "fast"), HasSubstr("TRAIN, EVAL, PREDICT or GLOBAL"));
  EXPECT_THAT(refused("rule", "Overfitt"), HasSubstr("Overfit"));
  EXPECT_THAT(refused("rule", "Overfit {\"patienc\": 1}"), HasSubstr("patienc"));
  EXPECT_THAT(request.Check().Message(), HasSubstr("no path"));
  EXPECT_THAT(Failure(Table::kTensors, {"path", "/nowhere/at/all"}).Message(),
              HasSubstr("/nowhere/at/all"));
  EXPECT_THAT(Failure(Table::kTensors, {"first", "5", "end", "4"}).Message(),
              HasSubstr("first is 5"));
}

}  // namespace
}  // namespace smdebug::tables::scan_test
