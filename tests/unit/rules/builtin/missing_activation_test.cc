#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::missing_activation_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "MissingActivation";
constexpr int64_t kSamples = 4;

std::vector<double> Numbers(int64_t count, int64_t seed) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(std::sin(static_cast<double>(i * i + 31 * seed)));
  }
  return numbers;
}

enum class Between { kNothing, kActivation };

struct Net {
  std::vector<int64_t> widths;  // of the input, and of each layer's output
  Between between = Between::kNothing;
  std::string root;  // of the names of layers
};

// Layers that take what the one before returned, or what an activation made of it.
void Save(const Net &net, int64_t step, FakeSource *source) {
  std::vector<double> now = Numbers(kSamples * net.widths[0], step);
  source->Step(step);
  for (size_t i = 1; i < net.widths.size(); ++i) {
    const std::string path = net.root + std::to_string(i - 1);
    source->Save(path + "_input_0", now, {kSamples, net.widths[i - 1]});
    now = Numbers(kSamples * net.widths[i], step + static_cast<int64_t>(100 * i));
    source->Save(path + "_output_0", now, {kSamples, net.widths[i]});
    if (net.between == Between::kActivation) {
      std::replace_if(
          now.begin(), now.end(), [](double each) { return each < 0; }, 0.0);
    }
  }
  for (size_t i = 1; i < net.widths.size(); ++i) {
    const std::string path = "Net_" + net.root + std::to_string(i - 1);
    const int64_t count = net.widths[i] * net.widths[i - 1];
    source->Save(path + ".weight", Numbers(count, 7), {net.widths[i], net.widths[i - 1]});
    source->Save(path + ".bias", Numbers(net.widths[i], 7));
  }
}

Evaluated Of(const Net &net, int64_t steps = 6) {
  FakeSource source;
  for (int64_t step = 0; step < steps; ++step) Save(net, step, &source);
  return Evaluate(kRule, {}, source);
}

TEST(MissingActivationTest, LayersThatTakeWhatTheOneBeforeReturns) {
  const Evaluated evaluated = Of({{8, 16, 16, 1}, Between::kNothing, "body."});
  ASSERT_THAT(evaluated.Steps(), ElementsAre(2));
  EXPECT_EQ(evaluated.findings[0].tensor, "body.0_output_0");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("all 3 layers, from 'body.0' to 'body.2'"));
  EXPECT_THAT(Of({{8, 8, 8}, Between::kNothing, ""}).Tensors(), ElementsAre("0_output_0"));
}

TEST(MissingActivationTest, AnActivationIsEnough) {
  EXPECT_THAT(Of({{8, 16, 16, 1}, Between::kActivation, ""}).findings, IsEmpty());
}

TEST(MissingActivationTest, OneLayerIsALineAndSoIsANarrowOneInTheMiddle) {
  EXPECT_THAT(Of({{8, 1}, Between::kNothing, ""}).findings, IsEmpty());
  EXPECT_THAT(Of({{16, 2, 16}, Between::kNothing, ""}).findings, IsEmpty());
  EXPECT_THAT(Of({{8, 8, 8}, Between::kNothing, ""}, 2).findings, IsEmpty());
}

TEST(MissingActivationTest, LayersOfOtherKindsMayBendTheLine) {
  const std::vector<double> four = Numbers(4, 1);
  const auto with = [&](const char *tensor, std::vector<int64_t> shape) {
    FakeSource source;
    for (int64_t step = 0; step < 6; ++step) {
      Save({{8, 8, 8}, Between::kNothing, ""}, step, &source);
      source.Save(tensor, four, std::move(shape));
      shape = {2, 2};
    }
    return Evaluate(kRule, {}, source).findings;
  };
  EXPECT_THAT(with("Net_rnn.weight_hh_l0", {2, 2}), IsEmpty());
  EXPECT_THAT(with("Net_embed.weight", {2, 2}), IsEmpty());
  EXPECT_THAT(with("Net_conv.weight", {2, 2, 1}), IsEmpty());
}

// In turns, without an end.
TEST(MissingActivationTest, LayersInACircleAreNoChain) {
  FakeSource source;
  const std::vector<double> a = Numbers(16, 1);
  const std::vector<double> b = Numbers(16, 2);
  for (int64_t step = 0; step < 6; ++step) {
    source.Step(step).Save("0_input_0", a, {4, 4}).Save("0_output_0", b, {4, 4});
    source.Save("1_input_0", b, {4, 4}).Save("1_output_0", a, {4, 4});
    source.Save("Net_0.weight", a, {4, 4}).Save("Net_1.weight", a, {4, 4});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

}  // namespace
}  // namespace smdebug::rules::missing_activation_test
