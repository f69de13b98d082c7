// Tensors of which each worker saved its part.
#include "analyze/whole_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "analyze/trial_fixture.h"
#include "analyze/trial_source.h"
#include "format/paths.h"

namespace smdebug::analyze::whole_tensor_test {
namespace {

using tensor::ReductionKind;
using testing::ElementsAre;
using testing::HasSubstr;

class WholeTensorTest : public TrialFixture {
 protected:
  // A worker's collections file, with what it says of "w".
  void PutWorker(int number, const std::string &placement) {
    const std::string placements =
        placement.empty() ? "" : StrCat(R"(, "placements": {"w": )", placement, "}");
    store_->Put(
        format::CollectionsFileName(Worker(number)),
        StrCat(R"({"collections": {}, "_meta": {"num_workers": )", workers_, placements, "}}"));
  }
  void PutWorkers(const std::vector<std::string> &placements) {
    workers_ = placements.size();
    for (size_t i = 0; i < placements.size(); ++i) PutWorker(static_cast<int>(i), placements[i]);
  }
  static std::string Worker(int number) { return StrCat("worker_", number); }
  void Save(int worker, const std::vector<float> &numbers, std::vector<int64_t> shape) {
    StepFiles files(0, Worker(worker));
    files.AddView("w", {numbers.data(), shape, {}, tensor::DType::kFloat32});
    files.Put(*store_);
  }
  template <class T>
  void SaveReductions(int worker, tensor::DType dtype,
                      const std::vector<std::pair<tensor::Reduction, T>> &reductions) {
    StepFiles files(0, Worker(worker));
    for (const auto &[reduction, number] : reductions) {
      const std::vector<int64_t> shape = {1};
      files.AddView(tensor::ReductionTensorName(reduction, "w"), {&number, shape, {}, dtype});
    }
    files.Put(*store_);
  }
  Result<WholeTensor> Find() {
    return WholeTensor::Find(*Tensor::Find(Shared(), "w"), 0, Mode::kGlobal);
  }
  std::vector<float> Floats() {
    const tensor::Value value = Take(Find()->Value());
    std::vector<float> numbers(value.size / sizeof(float));
    std::memcpy(numbers.data(), value.data.get(), value.size);
    return numbers;
  }
  double Number(ReductionKind kind, bool absolute = false) {
    return *tensor::ToDouble(Take(Find()->Reduction({kind, absolute})));
  }

  size_t workers_ = 0;
};

TEST_F(WholeTensorTest, BlocksOfAMeshAndAnEmptyPart) {
  // A mesh of 2 x 2, and a worker that holds nothing.
  PutWorkers({R"({"shape": [3, 3], "offset": [0, 0], "part": [2, 2]})",
              R"({"shape": [3, 3], "offset": [0, 2], "part": [2, 1]})",
              R"({"shape": [3, 3], "offset": [2, 0], "part": [1, 2]})",
              R"({"shape": [3, 3], "offset": [2, 2], "part": [1, 1]})",
              R"({"shape": [3, 3], "offset": [3, 0], "part": [0, 3]})"});
  Save(0, {1, 2, 4, 5}, {2, 2});
  Save(1, {3, 6}, {2, 1});
  Save(2, {7, 8}, {1, 2});
  Save(3, {9}, {1, 1});
  Save(4, {}, {0, 3});
  EXPECT_THAT(Floats(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(Take(Find()->Shape()), ElementsAre(3, 3));
  EXPECT_EQ(Number(ReductionKind::kMedian), 5) << "from the elements";
  EXPECT_EQ(Number(ReductionKind::kSum), 45);
}

TEST_F(WholeTensorTest, RangesOfTheFlattenedTensor) {
  PutWorkers({R"({"shape": [2, 3], "offset": [0], "part": [4], "flat": true})",
              R"({"shape": [2, 3], "offset": [4], "part": [2], "flat": true})"});
  Save(0, {1, 2, 3, 4}, {4});
  Save(1, {5, 6}, {2});
  EXPECT_THAT(Floats(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(WholeTensorTest, ReplicasOfAPartCountOnce) {
  PutWorkers({R"({"shape": [4], "offset": [0], "part": [2]})",
              R"({"shape": [4], "offset": [2], "part": [2]})",
              R"({"shape": [4], "offset": [0], "part": [2]})",
              R"({"shape": [4], "offset": [2], "part": [2]})"});
  for (const int worker : {0, 2}) Save(worker, {1, 2}, {2});
  for (const int worker : {1, 3}) Save(worker, {3, 4}, {2});
  EXPECT_THAT(Floats(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(Number(ReductionKind::kSum), 10);
  Save(3, {3, 5}, {2});
  trial_.reset();
  EXPECT_THAT(Find()->Value().GetStatus().Message(),
              HasSubstr("worker_1 and worker_3 have saved different values of the same part"));
}

TEST_F(WholeTensorTest, ReductionsOfPartsMerge) {
  PutWorkers({R"({"shape": [5], "offset": [0], "part": [3]})",
              R"({"shape": [5], "offset": [3], "part": [2]})",
              R"({"shape": [5], "offset": [5], "part": [0]})"});
  // The elements -1, 2, 5 and 3, -7.
  const auto save = [this](int worker, float mean, float variance, float min, float max, float l2) {
    SaveReductions<float>(worker, tensor::DType::kFloat32,
                          {{{ReductionKind::kMean, false}, mean},
                           {{ReductionKind::kVariance, false}, variance},
                           {{ReductionKind::kMin, false}, min},
                           {{ReductionKind::kMax, false}, max},
                           {{ReductionKind::kL2, false}, l2}});
  };
  save(0, 2, 6, -1, 5, std::sqrt(30.F));
  save(1, -2, 25, -7, 3, std::sqrt(58.F));
  save(2, NAN, NAN, 100, 100, 100);  // nothing of an empty part counts
  EXPECT_NEAR(Number(ReductionKind::kMean), 0.4, 1e-7);
  EXPECT_NEAR(Number(ReductionKind::kVariance), 17.44, 1e-6);
  EXPECT_NEAR(Number(ReductionKind::kStd), std::sqrt(17.44), 1e-6);
  EXPECT_NEAR(Number(ReductionKind::kL2), std::sqrt(88), 1e-6);
  EXPECT_EQ(Number(ReductionKind::kMin), -7);
  EXPECT_EQ(Number(ReductionKind::kMax), 5);
  EXPECT_EQ(Take(Find()->Reduction({ReductionKind::kMax, false})).dtype, tensor::DType::kFloat32);
  EXPECT_THAT(Find()->Reduction({ReductionKind::kMedian, false}).GetStatus().Message(),
              HasSubstr("does not follow from those of its parts; save the raw value"));
  EXPECT_THAT(
      Find()->Reduction({ReductionKind::kStd, true}).GetStatus().Message(),
      HasSubstr("'abs_std' is merged from: 'mean', and 'variance' or 'std', of the absolute "
                "values; save the raw value or these reductions"));
}

TEST_F(WholeTensorTest, OnePartMayBeTheWhole) {
  PutWorkers({R"({"shape": [3], "offset": [0], "part": [0]})",
              R"({"shape": [3], "offset": [0], "part": [3]})"});
  SaveReductions<float>(1, tensor::DType::kFloat32, {{{ReductionKind::kStd, false}, 3}});
  EXPECT_EQ(Number(ReductionKind::kStd), 3);
  EXPECT_EQ(Number(ReductionKind::kVariance), 9);
  EXPECT_THAT(Find()->Reduction({ReductionKind::kSum, false}).GetStatus().Message(),
              HasSubstr("worker_1 has saved neither its elements nor what 'sum' is merged from"));
}

TEST_F(WholeTensorTest, TotalsOfIntegersWrapAround) {
  PutWorkers({R"({"shape": [4], "offset": [0], "part": [2]})",
              R"({"shape": [4], "offset": [2], "part": [2]})"});
  const auto save = [this](int worker, int64_t sum, int64_t prod) {
    SaveReductions<int64_t>(
        worker, tensor::DType::kInt64,
        {{{ReductionKind::kSum, false}, sum}, {{ReductionKind::kProd, false}, prod}});
  };
  save(0, INT64_MAX, 3);
  save(1, 1, (int64_t{1} << 62) + 1);
  const auto integer = [this](ReductionKind kind) {
    const tensor::Value value = Take(Find()->Reduction({kind, false}));
    EXPECT_EQ(value.dtype, tensor::DType::kInt64);
    int64_t number = 0;
    std::memcpy(&number, value.data.get(), sizeof number);
    return number;
  };
  EXPECT_EQ(integer(ReductionKind::kSum), INT64_MIN);
  EXPECT_EQ(integer(ReductionKind::kProd), -(int64_t{1} << 62) + 3);
}

TEST_F(WholeTensorTest, NaNOfAPartIsThatOfTheWhole) {
  PutWorkers({R"({"shape": [2], "offset": [0], "part": [1]})",
              R"({"shape": [2], "offset": [1], "part": [1]})"});
  for (const int worker : {0, 1}) {
    SaveReductions<float>(worker, tensor::DType::kFloat32,
                          {{{ReductionKind::kMin, false}, worker == 0 ? 1.F : NAN},
                           {{ReductionKind::kL2, false}, worker == 0 ? 1.F : NAN}});
  }
  EXPECT_TRUE(std::isnan(Number(ReductionKind::kMin)));
  EXPECT_TRUE(std::isnan(Number(ReductionKind::kL2)));
}

TEST_F(WholeTensorTest, PartsThatAreNoWholeAreRefused) {
  PutWorkers({R"({"shape": [4], "offset": [0], "part": [2]})",
              R"({"shape": [4], "offset": [2], "part": [2]})"});
  Save(0, {1, 2}, {2});
  EXPECT_THAT(Find().GetStatus().Message(), HasSubstr("there are 2 of 4 elements; record with"));
  Save(1, {3, 4, 5}, {3});
  trial_.reset();
  EXPECT_THAT(Find()->Value().GetStatus().Message(),
              HasSubstr("worker_1 has saved the shape (3), but recorded a part of the shape (2)"));
  PutWorker(1, R"({"shape": [4], "offset": [1], "part": [2]})");
  trial_.reset();
  EXPECT_THAT(Find().GetStatus().Message(), HasSubstr("worker_0 and worker_1 do not fit together"));
  PutWorker(1, R"({"shape": [5], "offset": [2], "part": [2]})");
  trial_.reset();
  EXPECT_THAT(Find().GetStatus().Message(), HasSubstr("do not fit together"));
  PutWorker(1, "");
  trial_.reset();
  EXPECT_THAT(Find().GetStatus().Message(), HasSubstr("only one of worker_0 and worker_1"));
}

TEST_F(WholeTensorTest, NoMemoryIsTakenForAWholeThatTheFilesDoNotHold) {
  PutWorkers({R"({"shape": [4503599627370496], "offset": [0], "part": [4503599627370495]})",
              R"({"shape": [4503599627370496], "offset": [4503599627370495], "part": [1]})"});
  Save(0, {1, 2}, {2});
  Save(1, {3}, {1});
  EXPECT_THAT(Find()->Value().GetStatus().Message(), HasSubstr("its files are shorter"));
}

TEST_F(WholeTensorTest, WithoutPlacementsAllWorkersHoldTheWhole) {
  PutWorkers({"", ""});
  Save(0, {1, 2}, {2});
  Save(1, {1, 2}, {2});
  EXPECT_THAT(Floats(), ElementsAre(1, 2));
  EXPECT_EQ(Number(ReductionKind::kMedian), 1.5);
  Save(1, {1, 3}, {2});
  trial_.reset();
  EXPECT_THAT(Find()->Value().GetStatus().Message(), HasSubstr("and not how they fit together"));
  EXPECT_THAT(Find()->Reduction({ReductionKind::kSum, false}).GetStatus().Message(),
              HasSubstr("'sum' of worker_0 and worker_1 differs"));
}

TEST_F(WholeTensorTest, APlacementThatARunningJobAddsIsSeen) {
  PutWorkers({"", ""});
  Save(0, {1, 2}, {2});
  Save(1, {3}, {1});
  EXPECT_FALSE(Find()->Value().IsOk());
  PutWorker(0, R"({"shape": [3], "offset": [0], "part": [2]})");
  PutWorker(1, R"({"shape": [3], "offset": [2], "part": [1]})");
  EXPECT_THAT(Floats(), ElementsAre(1, 2, 3));
}

TEST_F(WholeTensorTest, RulesKnowPlacements) {
  PutWorkers({R"({"shape": [3], "offset": [0], "part": [2]})", ""});
  Save(0, {1, 2}, {2});
  Save(1, {3}, {1});
  std::vector<std::vector<int64_t>> parts;
  TrialSource source(Shared());
  Expect(TheTrial().Load());
  Expect(TheTrial().Refresh());
  Expect(source.VisitStep(
      0, [](std::string_view) { return true; },
      [&](const rules::Sample &sample) {
        parts.push_back(sample.Placement() == nullptr ? std::vector<int64_t>{-1}
                                                      : sample.Placement()->part);
      }));
  EXPECT_THAT(parts, ElementsAre(ElementsAre(2), ElementsAre(-1)));
}

}  // namespace
}  // namespace smdebug::analyze::whole_tensor_test
