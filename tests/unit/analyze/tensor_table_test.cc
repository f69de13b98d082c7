#include "analyze/tensor_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

namespace smdebug::analyze::tensor_table_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class TensorTableTest : public testing::Test {
 protected:
  static format::IndexFile Index(Mode mode, int64_t mode_step,
                                 std::vector<format::TensorLocation> tensors) {
    return {mode, mode_step, "events/x", std::move(tensors), {}};
  }
  static format::TensorLocation At(std::string name, uint64_t start) {
    return {std::move(name), start, 100, {}};
  }
  std::span<const Entry> Entries(std::string_view name, Mode mode, int64_t step) const {
    const TensorEntries *tensor = table_.Find(name);
    return tensor == nullptr ? std::span<const Entry>() : tensor->At(mode, step);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const TensorEntries *tensor : table_.Sorted()) names.push_back(tensor->Name());
    return names;
  }

  TensorTable table_;
};

TEST_F(TensorTableTest, FilesATensorUnderItsModesStep) {
  format::IndexFile index = Index(Mode::kEval, 3, {At("a", 10)});
  index.tensors[0].crc32c = 77;
  table_.Add(12, 1, std::move(index));
  const auto entries = Entries("a", Mode::kEval, 3);
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].step, 3);
  EXPECT_EQ(entries[0].global_step, 12);
  EXPECT_EQ(entries[0].start, 10U);
  EXPECT_EQ(entries[0].length, 100U);
  EXPECT_EQ(entries[0].crc32c, 77U);
  EXPECT_TRUE(entries[0].has_crc32c);
  EXPECT_EQ(entries[0].worker, 1);
  EXPECT_EQ(entries[0].kind, EntryKind::Raw());
  EXPECT_THAT(Entries("a", Mode::kEval, 12), IsEmpty());
  EXPECT_THAT(Entries("a", Mode::kTrain, 3), IsEmpty());
  EXPECT_EQ(table_.Find("b"), nullptr);
}

TEST_F(TensorTableTest, AReductionBelongsToItsTensor) {
  table_.Add(0, 0, Index(Mode::kTrain, 0, {At("smdebug/reductions/abs_mean/w/x", 5)}));
  EXPECT_THAT(Names(), ElementsAre("w/x"));
  const auto entries = Entries("w/x", Mode::kTrain, 0);
  ASSERT_THAT(entries, SizeIs(1));
  const auto reduction = entries[0].kind.AsReduction();
  ASSERT_TRUE(reduction);
  EXPECT_EQ(*reduction, (tensor::Reduction{tensor::ReductionKind::kMean, true}));
  EXPECT_FALSE(EntryKind::Raw().AsReduction());
  EXPECT_FALSE(EntryKind::Shape().AsReduction());
}

TEST_F(TensorTableTest, AReductionOfNothingIsATensor) {
  table_.Add(0, 0, Index(Mode::kTrain, 0, {At("smdebug/reductions/mean/", 5)}));
  EXPECT_THAT(Names(), ElementsAre("smdebug/reductions/mean/"));
}

TEST_F(TensorTableTest, AShapeStandsBesideTheValue) {
  format::IndexFile index = Index(Mode::kTrain, 0, {At("w", 5)});
  index.shapes.push_back({"w", "original", {2, 3}});
  table_.Add(0, 0, std::move(index));
  const auto entries = Entries("w", Mode::kTrain, 0);
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].kind, EntryKind::Raw());
  EXPECT_EQ(entries[1].kind, EntryKind::Shape());
  EXPECT_THAT(table_.Find("w")->ShapeOf(entries[1]), ElementsAre(2, 3));
  EXPECT_EQ(table_.Find("w")->OriginalName(), "original");
}

TEST_F(TensorTableTest, OfANameListedTwiceTheLastCounts) {
  table_.Add(0, 0, Index(Mode::kTrain, 0, {At("w", 5), At("w", 105)}));
  const auto entries = Entries("w", Mode::kTrain, 0);
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].start, 105U);
}

TEST_F(TensorTableTest, FilesMayComeInAnyOrder) {
  table_.Add(5, 1, Index(Mode::kTrain, 5, {At("w", 1)}));
  table_.Add(3, 0, Index(Mode::kTrain, 3, {At("w", 2)}));
  table_.Add(5, 0, Index(Mode::kTrain, 5, {At("w", 3)}));
  table_.Add(4, 0, Index(Mode::kTrain, 4, {At("w", 4)}));
  std::vector<int64_t> steps;
  std::vector<uint64_t> starts;
  for (const SavedStep &saved : table_.Find("w")->Steps(Mode::kTrain)) {
    if (!steps.empty() && steps.back() == saved.step) continue;
    steps.push_back(saved.step);
    for (const Entry &entry : Entries("w", Mode::kTrain, saved.step)) starts.push_back(entry.start);
  }
  EXPECT_THAT(steps, ElementsAre(3, 4, 5));
  EXPECT_THAT(starts, ElementsAre(2, 4, 3, 1)) << "by step, then worker";
  EXPECT_THAT(Entries("w", Mode::kTrain, 5), SizeIs(2));
}

TEST_F(TensorTableTest, TheOrderInAFileMakesNoDifference) {
  const std::vector<std::vector<std::string>> orders = {
      {"a", "b", "c"}, {"a", "b", "c"}, {"c", "a", "b"}, {"b", "a"}, {"a", "d", "b", "c"}, {"c"}};
  for (size_t step = 0; step < orders.size(); ++step) {
    const auto number = static_cast<int64_t>(step);
    std::vector<format::TensorLocation> tensors;
    const auto start_of = [&](const std::string &name) {
      return 1000 * step + static_cast<size_t>(name[0]);
    };
    for (const std::string &name : orders[step]) tensors.push_back(At(name, start_of(name)));
    table_.Add(number, 0, Index(Mode::kTrain, number, std::move(tensors)));
    for (const std::string &name : orders[step]) {
      ASSERT_THAT(Entries(name, Mode::kTrain, number), SizeIs(1)) << name << " at " << step;
      EXPECT_EQ(Entries(name, Mode::kTrain, number)[0].start, start_of(name));
    }
  }
  EXPECT_THAT(Names(), ElementsAre("a", "b", "c", "d"));
}

TEST_F(TensorTableTest, NamesAreSorted) {
  table_.Add(0, 0, Index(Mode::kTrain, 0, {At("b", 1), At("a", 2)}));
  EXPECT_THAT(Names(), ElementsAre("a", "b"));
  table_.Add(1, 0, Index(Mode::kTrain, 1, {At("aa", 1), At("b", 2)}));
  EXPECT_THAT(Names(), ElementsAre("a", "aa", "b"));
}

TEST_F(TensorTableTest, WhatWasFoundStaysWhereItIs) {
  table_.Add(0, 0, Index(Mode::kTrain, 0, {At("w", 1)}));
  const TensorEntries *found = table_.Find("w");
  for (int i = 0; i < 1000; ++i) {
    table_.Add(i, 0, Index(Mode::kTrain, i, {At(std::to_string(i), 1)}));
  }
  EXPECT_EQ(table_.Find("w"), found);
}

TEST_F(TensorTableTest, FindsStepsAtAnyDistance) {
  std::mt19937 random(1);
  std::set<int64_t> steps = {0, 1, 2, 3, 500, 1'000'000, std::numeric_limits<int64_t>::max()};
  for (int i = 0; i < 300; ++i) steps.insert(static_cast<int64_t>(random() % 2000));
  for (const int64_t step : steps) {
    for (uint16_t worker = 0; worker < 1 + step % 40; ++worker) {
      table_.Add(step, worker, Index(Mode::kTrain, step, {At("w", 5)}));
    }
  }
  for (int64_t step = -2; step < 2100; ++step) {
    const size_t saved = steps.count(step) == 0 ? 0 : static_cast<size_t>(1 + step % 40);
    EXPECT_THAT(Entries("w", Mode::kTrain, step), SizeIs(saved)) << step;
  }
  for (const int64_t step : steps) {
    const auto entries = Entries("w", Mode::kTrain, step);
    ASSERT_THAT(entries, SizeIs(1 + step % 40));
    EXPECT_EQ(entries.front().step, step);
    EXPECT_EQ(entries.back().step, step);
  }
}

}  // namespace
}  // namespace smdebug::analyze::tensor_table_test
