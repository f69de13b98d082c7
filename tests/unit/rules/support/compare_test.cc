#include "rules/support/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/fake_source.h"

namespace smdebug::rules::compare_test {
namespace {

using testing::HasSubstr;

constexpr Tolerance kBitwise = {true, 0, 0};

class CompareTest : public testing::Test {
 protected:
  // Compares what both saved as "w" at step 0.
  std::optional<Difference> Diff(const Tolerance &tolerance = {}) {
    const auto all = [](std::string_view) { return true; };
    const StepCopy a = *StepCopy::Of(a_, 0, all);
    const StepCopy b = *StepCopy::Of(b_, 0, all);
    return Compare(*a.Find("worker_0", "w"), *b.Find("worker_0", "w"), tolerance);
  }

  FakeSource a_;
  FakeSource b_;
};

TEST_F(CompareTest, ToleranceAndBits) {
  a_.Step(0).Save("w", {1.000001, NAN, 0.0});
  b_.Step(0).Save("w", {1, NAN, -0.0});
  EXPECT_FALSE(Diff());
  EXPECT_EQ(Diff({false, 0, 0})->check, "value");
  EXPECT_EQ(Diff(kBitwise)->check, "value");
}

TEST_F(CompareTest, ASignOfZeroIsABit) {
  a_.Step(0).Save("w", {0.0});
  b_.Step(0).Save("w", {-0.0});
  EXPECT_FALSE(Diff({false, 0, 0}));
  EXPECT_THAT(Diff(kBitwise)->message, HasSubstr("the bytes differ"));
}

TEST_F(CompareTest, TypesMatterOnlyBitwise) {
  a_.Step(0).Save("w", tensor::TensorOfNumbers(tensor::DType::kFloat32, {1, 2}));
  b_.Step(0).Save("w", {1, 2});
  EXPECT_FALSE(Diff());
  EXPECT_EQ(Diff(kBitwise)->check, "dtype");
}

TEST_F(CompareTest, ComplexNumbersAreComparedToo) {
  const auto save = [](FakeSource &run, float imaginary) {
    const tensor::Value pair =
        tensor::TensorOf(tensor::DType::kComplex64, std::vector<float>{1, imaginary}, {});
    run.Step(0).Save("w", tensor::Value::CopyOf(tensor::DType::kComplex64, pair.Bytes(), {1}));
  };
  save(a_, 2);
  save(b_, 2.5);
  EXPECT_EQ(Diff()->value, .5);
  EXPECT_FALSE(Diff({false, 0, 1}));
}

TEST_F(CompareTest, ADifferentShapeIsADifference) {
  a_.Step(0).Save("w", {1, 2});
  b_.Step(0).Save("w", {1, 2}, {1, 2});
  EXPECT_EQ(Diff()->check, "shape");
}

}  // namespace
}  // namespace smdebug::rules::compare_test
