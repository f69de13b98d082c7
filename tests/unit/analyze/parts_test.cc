// Tensors that were too large for one record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "analyze/trial_fixture.h"
#include "analyze/trial_source.h"

namespace smdebug::analyze::parts_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PartsTest : public TrialFixture {
 protected:
  PartsTest() { PutCollections(*store_); }

  // The tensor "a" of shape (3, 2) in two parts, and another one.
  static StepFiles Parted(int64_t step = 0) {
    StepFiles files(step);
    AddPart(&files, 0, {2, 2}, {1, 2, 3, 4});
    AddPart(&files, 1, {1, 2}, {5, 6});
    files.Add("b", {7});
    return files;
  }
  static void AddPart(StepFiles *files, uint32_t number, std::vector<int64_t> shape,
                      std::vector<float> numbers) {
    files->AddView(format::PartName("a", number),
                   {numbers.data(), shape, {}, tensor::DType::kFloat32});
    files->Index().tensors.back().part = format::PartOf{"a", number, {3, 2}};
  }
  Tensor Find(const std::string &name = "a") { return *Tensor::Find(Shared(), name); }
  Status ValueError() { return Find().Value(0, Mode::kGlobal, "").GetStatus(); }
  static std::vector<float> Floats(const tensor::Value &value) {
    std::vector<float> numbers(value.size / sizeof(float));
    std::memcpy(numbers.data(), value.data.get(), value.size);
    return numbers;
  }
};

TEST_F(PartsTest, AreOneTensor) {
  Parted().Put(*store_);
  EXPECT_THAT(Take(TheTrial().TensorNames({})), ElementsAre("a", "b"));
  const tensor::Value value = Take(Find().Value(0, Mode::kGlobal, ""));
  EXPECT_THAT(Floats(value), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(value.shape, ElementsAre(3, 2));
  EXPECT_THAT(Take(Find().Shape(0, Mode::kGlobal, "")), ElementsAre(3, 2));
  const auto sum = Find().Reduction(0, Mode::kGlobal, "", {tensor::ReductionKind::kSum, false});
  EXPECT_EQ(*tensor::ToDouble(Take(sum)), 21);
  EXPECT_THAT(Floats(Take(Find("b").Value(0, Mode::kGlobal, ""))), ElementsAre(7));
}

TEST_F(PartsTest, AreFetchedOneByOne) {
  Parted().Put(*store_);
  std::vector<RecordPlace> places;
  Expect(Find().AddPlace(0, Mode::kGlobal, "", &places));
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[1].start, places[0].start + places[0].length);
  TheTrial().GetEventFiles().Prefetch(places);
  EXPECT_EQ(Take(Find().Value(0, Mode::kGlobal, "")).size, 24U);
}

TEST_F(PartsTest, AreOneTensorForRules) {
  Parted().Put(*store_);
  Expect(TheTrial().Load());
  Expect(TheTrial().Refresh());
  TrialSource source(Shared());
  std::vector<std::string> seen;
  Expect(source.VisitStep(
      0, [](std::string_view) { return true; },
      [&](const rules::Sample &sample) {
        seen.push_back(StrCat(sample.Tensor(), ": ", sample.Numbers().size()));
      }));
  EXPECT_THAT(seen, ElementsAre("a: 6", "b: 1"));
}

TEST_F(PartsTest, AreDamagedIfOneIsDamaged) {
  StepFiles files = Parted();
  const uint64_t second = files.Index().tensors[1].start;
  files.Events()[second + files.Index().tensors[1].length / 2] ^= 1;
  files.Put(*store_);
  const Status status = ValueError();
  EXPECT_EQ(status.GetCode(), Code::kCorruptData);
  EXPECT_THAT(status.Message(), HasSubstr("checksum"));
}

TEST_F(PartsTest, AreDamagedIfOneIsMissing) {
  StepFiles files = Parted();
  files.Index().tensors.erase(files.Index().tensors.begin() + 1);
  files.Put(*store_);
  const Status status = ValueError();
  EXPECT_EQ(status.GetCode(), Code::kCorruptData);
  EXPECT_THAT(status.Message(), HasSubstr("parts of 'a' are missing"));
}

TEST_F(PartsTest, AreDamagedIfTheyHoldSomethingElse) {
  StepFiles files = Parted();
  for (auto &tensor : files.Index().tensors) {
    if (tensor.part) tensor.part->tensor = "c";
  }
  files.Put(*store_);
  const Status status = Find("c").Value(0, Mode::kGlobal, "").GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kCorruptData);
  EXPECT_THAT(status.Message(), HasSubstr("holds 'a/part_0'"));
}

TEST_F(PartsTest, TakeNoMoreMemoryThanTheirFileHas) {
  for (const int64_t rows : {int64_t{2}, int64_t{1000}, int64_t{1} << 60}) {
    StepFiles files = Parted();
    for (auto &tensor : files.Index().tensors) {
      if (tensor.part) tensor.part->shape = {rows, 2};
    }
    trial_.reset();
    files.Put(*store_);
    EXPECT_EQ(ValueError().GetCode(), Code::kCorruptData) << rows;
  }
}

TEST_F(PartsTest, AreReplacedByALaterValueOfTheStep) {
  StepFiles files = Parted();
  files.Add("a", {9});
  files.Put(*store_);
  EXPECT_THAT(Floats(Take(Find().Value(0, Mode::kGlobal, ""))), ElementsAre(9));
  EXPECT_THAT(Take(Find().Shape(0, Mode::kGlobal, "")), ElementsAre(1));
}

}  // namespace
}  // namespace smdebug::analyze::parts_test
