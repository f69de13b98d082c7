#include "analyze/indexed_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace smdebug::analyze::indexed_files_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Row = IndexedFiles::Row;

Row Record(uint32_t tensor, uint64_t start, uint32_t length, uint32_t crc32c) {
  return {tensor, EntryKind::Raw(), true, crc32c, length, start, 0};
}
EntryKind Mean() { return EntryKind::Of({tensor::ReductionKind::kMean, false}); }

class IndexedFilesTest : public testing::Test {
 protected:
  void Add(int64_t step, std::vector<Row> rows, uint16_t worker = 0, Mode mode = Mode::kTrain) {
    files_.Add({mode, step, step + 1000, worker}, rows);
  }
  std::vector<uint64_t> Starts(uint32_t tensor, int64_t step) const {
    std::vector<uint64_t> starts;
    for (const Entry &entry : files_.At(tensor, Mode::kTrain, step)) starts.push_back(entry.start);
    return starts;
  }

  IndexedFiles files_;
};

TEST_F(IndexedFilesTest, FilesWithTheSameListShareIt) {
  for (uint32_t step = 0; step < 100; ++step) {
    Add(step, {Record(0, step, 100, step), Record(1, step + 100, 50, 2 * step)});
    if (step % 10 == 0) Add(step, {Record(2, 7, 70, 3 * step)}, 1);
  }
  EXPECT_EQ(files_.Layouts(), 2U);
  for (uint32_t step = 0; step < 100; ++step) {
    const auto second = files_.At(1, Mode::kTrain, step);
    ASSERT_THAT(second, SizeIs(1));
    EXPECT_EQ(second[0].step, step);
    EXPECT_EQ(second[0].global_step, step + 1000);
    EXPECT_EQ(second[0].start, step + 100U);
    EXPECT_EQ(second[0].length, 50U);
    EXPECT_EQ(second[0].crc32c, 2 * step);
    EXPECT_THAT(files_.At(2, Mode::kTrain, step), SizeIs(step % 10 == 0 ? 1 : 0));
  }
  EXPECT_THAT(files_.Steps(2, Mode::kTrain), SizeIs(10));
}

TEST_F(IndexedFilesTest, LengthsMayDifferInEachFile) {
  for (uint32_t step = 0; step < 50; ++step) {
    Add(step, {Record(0, 0, 10 + step, 1), Record(1, 10 + step, step % 3, 2)});
  }
  EXPECT_EQ(files_.Layouts(), 1U);
  for (uint32_t step = 0; step < 50; ++step) {
    EXPECT_EQ(files_.At(0, Mode::kTrain, step)[0].length, 10 + step);
    EXPECT_EQ(files_.At(1, Mode::kTrain, step)[0].length, step % 3);
    EXPECT_THAT(Starts(1, step), ElementsAre(10 + step));
  }
}

TEST_F(IndexedFilesTest, RecordsMayBeInAnyOrderInTheirFile) {
  Add(0, {Record(0, 500, 10, 1), Record(1, 20, 10, 2)});
  EXPECT_THAT(Starts(0, 0), ElementsAre(500));
  EXPECT_THAT(Starts(1, 0), ElementsAre(20));
}

TEST_F(IndexedFilesTest, KindsAreSortedAndAShapeHasAnIndex) {
  Add(0, {{0, Mean(), false, 0, 5, 300, 0},
          Record(0, 900, 5, 1),
          {0, EntryKind::Shape(), false, 0, 0, 4, 0}});
  const auto entries = files_.At(0, Mode::kTrain, 0);
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_EQ(entries[0].kind, EntryKind::Raw());
  EXPECT_EQ(entries[1].kind, EntryKind::Shape());
  EXPECT_EQ(entries[1].start, 4U);
  EXPECT_EQ(entries[2].kind, Mean());
  EXPECT_EQ(entries[2].start, 300U);
  EXPECT_FALSE(entries[2].has_crc32c);
}

TEST_F(IndexedFilesTest, OfTwoStepsWithOneNumberTheLastCounts) {
  Add(3, {Record(0, 1, 5, 1), {0, Mean(), true, 7, 5, 2, 0}});
  Add(3, {Record(0, 9, 5, 1)});
  const auto entries = files_.At(0, Mode::kTrain, 3);
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].start, 9U);
  EXPECT_EQ(entries[1].crc32c, 7U);
}

TEST_F(IndexedFilesTest, ModesAndWorkersAreApart) {
  Add(1, {Record(0, 1, 5, 1)}, 2);
  Add(1, {Record(0, 2, 5, 1)}, 0);
  Add(1, {Record(0, 3, 5, 1)}, 0, Mode::kEval);
  EXPECT_THAT(Starts(0, 1), ElementsAre(2, 1)) << "by worker";
  EXPECT_TRUE(files_.Has(0, Mode::kEval));
  EXPECT_FALSE(files_.Has(0, Mode::kPredict));
  EXPECT_FALSE(files_.Has(5, Mode::kTrain));
  EXPECT_THAT(files_.At(5, Mode::kTrain, 1), IsEmpty());
}

TEST_F(IndexedFilesTest, AgreesWithAMapOfRandomFiles) {
  std::mt19937 random(1);
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  using Kept = std::tuple<uint64_t, uint32_t, double, tensor::DType>;
  std::map<std::tuple<uint32_t, int64_t, uint16_t>, Kept> all;
  for (int i = 0; i < 3000; ++i) {
    const int64_t step = draw(400);
    const auto worker = static_cast<uint16_t>(draw(3));
    std::vector<Row> rows;
    for (uint32_t n = draw(6); n > 0; --n) {
      rows.push_back(Record(draw(8), draw(1000), draw(3), draw(1u << 31)));
      if (draw(2) == 0) rows.back().number = {double{1} + draw(1000), tensor::DType::kInt8, 0};
    }
    Add(step, rows, worker);
    for (const Row &row : rows) {
      all[{row.tensor, step, worker}] = {row.start, row.crc32c, row.number.number,
                                         row.number.dtype};
    }
    if (i % 500 != 499) continue;
    for (int64_t at = 0; at < 400; ++at) {
      std::vector<uint32_t> saved;
      for (uint32_t tensor = 0; tensor < 8; ++tensor) {
        std::vector<Kept> wanted;
        for (uint16_t each = 0; each < 3; ++each) {
          const auto found = all.find({tensor, at, each});
          if (found != all.end()) wanted.push_back(found->second);
        }
        std::vector<Kept> got;
        for (const Entry &entry : files_.At(tensor, Mode::kTrain, at)) {
          got.emplace_back(entry.start, entry.crc32c, entry.number.number, entry.number.dtype);
        }
        ASSERT_EQ(got, wanted) << tensor << " at " << at;
        if (!wanted.empty()) saved.push_back(tensor);
      }
      std::vector<uint32_t> told;
      files_.AppendTensorsAt(Mode::kTrain, at, &told);
      ASSERT_EQ(told, saved) << "at " << at;
    }
  }
}

}  // namespace
}  // namespace smdebug::analyze::indexed_files_test
