#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::check_input_images_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "CheckInputImages";
constexpr const char *kImages = "hybridsequential0_input_0";

// Images of 2 x 2 pixels; those of a channel have that mean and that distance from it.
std::vector<double> Images(size_t images, const std::vector<double> &means, double distance) {
  std::vector<double> pixels;
  for (size_t i = 0; i < images; ++i) {
    for (const double mean : means) {
      pixels.insert(pixels.end(),
                    {mean - distance, mean + distance, mean + distance, mean - distance});
    }
  }
  return pixels;
}

// Steps of 250 images of one channel.
FakeSource Steps(double mean, double distance, int steps = 2) {
  FakeSource source;
  for (int step = 0; step < steps; ++step) {
    source.Step(step).Save(kImages, Images(250, {mean}, distance), {250, 1, 2, 2});
  }
  return source;
}

TEST(CheckInputImagesTest, ImagesThatAreOnlyScaledAreFound) {
  // Those of FashionMNIST have a mean of 0.286 and a deviation of 0.353.
  FakeSource source = Steps(0.286, 0.353, 3);
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(1, 2)) << "once there are 500 images";
  EXPECT_THAT(evaluated.Checks(), ElementsAre("mean", "mean"));
  EXPECT_NEAR(evaluated.findings[0].value, 0.286, 1e-9);
  EXPECT_EQ(evaluated.findings[0].limit, 0.2);
  EXPECT_EQ(evaluated.findings[0].message,
            "channel 0 of the images 'hybridsequential0_input_0' has a mean of 0.286 over 500 "
            "images; the limit is 0.2");
}

TEST(CheckInputImagesTest, ImagesThatAreOnlyScaledAreFineInCalibrated) {
  // From 0 to 1; from -1 to 1, as MNIST by a mean and a deviation of 0.5.
  for (const auto &[mean, distance] : {std::pair(0.5, 0.5), {-0.74, 0.25}}) {
    FakeSource scaled = Steps(mean, distance);
    EXPECT_THAT(Evaluate(kRule, {}, scaled, Profile::kCalibrated).findings, IsEmpty()) << mean;
    EXPECT_EQ(Evaluate(kRule, {}, scaled).findings.at(0).level, Level::kFinding);
  }
}

TEST(CheckInputImagesTest, ImagesNormalisedByOthersAreWorthALookInCalibrated) {
  // Black ones, and white ones, by ImageNet's statistics.
  for (const auto &[mean, distance] : {std::pair(2.25, 0.25), {-2.11, 0.0}}) {
    FakeSource scaled = Steps(mean, distance);
    const Evaluated evaluated = Evaluate(kRule, {}, scaled, Profile::kCalibrated);
    ASSERT_THAT(evaluated.Checks(), ElementsAre("mean"));
    EXPECT_EQ(evaluated.findings[0].level, Level::kWorthALook) << mean;
    EXPECT_EQ(Evaluate(kRule, {}, scaled).findings.at(0).level, Level::kFinding);
  }
  FakeSource beyond = Steps(2.625, 0.5);
  EXPECT_EQ(Evaluate(kRule, {}, beyond, Profile::kCalibrated).findings.at(0).level,
            Level::kFinding);
}

TEST(CheckInputImagesTest, NormalisedImagesAreNot) {
  FakeSource source = Steps((0.286 - 0.286) / 0.352, 1);
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kPassed);
  EXPECT_EQ(Evaluate(kRule, {}, source, Profile::kCalibrated).result.status, RuleStatus::kPassed);
  FakeSource at_threshold = Steps(0.25, 0);
  EXPECT_THAT(Evaluate(kRule, {{"threshold_mean", "0.25"}}, at_threshold).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"threshold_mean", "0.24"}}, at_threshold).Steps(), ElementsAre(1));
}

TEST(CheckInputImagesTest, FewImagesAreNotEnough) {
  FakeSource source = Steps(5, 1, 1);
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_EQ(evaluated.result.status, RuleStatus::kNotEnoughData);
  EXPECT_THAT(evaluated.result.message, HasSubstr("500 images"));
  EXPECT_THAT(Evaluate(kRule, {{"threshold_samples", "250"}}, source).Steps(), ElementsAre(0));
}

TEST(CheckInputImagesTest, ChannelsAreJudgedByThemselves) {
  FakeSource source;
  source.Step(0).Save(kImages, Images(3, {-1, 1.5, 0}, 1), {3, 3, 2, 2});
  const Evaluated evaluated = Evaluate(kRule, {{"threshold_samples", "3"}}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0));
  EXPECT_EQ(evaluated.findings[0].value, 1.5);
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("channel 1 of"));
  FakeSource below;
  below.Step(0).Save(kImages, Images(3, {-1, 0.5, 0}, 1), {3, 3, 2, 2});
  EXPECT_EQ(Evaluate(kRule, {{"threshold_samples", "3"}}, below).findings[0].value, -1);
}

TEST(CheckInputImagesTest, ChannelsMayComeLast) {
  // Two images of 5 x 1 pixels: red is 2, green and blue are 0.
  std::vector<double> pixels;
  for (int i = 0; i < 10; ++i) pixels.insert(pixels.end(), {2, 0, 0});
  FakeSource source;
  source.Step(0).Save(kImages, pixels, {2, 5, 1, 3});
  const auto mean = [&](Parameters::Given parameters, Profile profile) {
    parameters["threshold_samples"] = "2";
    const Evaluated evaluated = Evaluate(kRule, parameters, source, profile);
    return evaluated.findings.empty() ? 0 : evaluated.findings[0].value;
  };
  EXPECT_EQ(mean({{"channel", "-1"}}, Profile::kAws), 2);
  EXPECT_EQ(mean({{"channel", "3"}}, Profile::kAws), 2);
  EXPECT_EQ(mean({}, Profile::kCalibrated), 2) << "found by its size";
  EXPECT_NEAR(mean({}, Profile::kAws), 2.0 / 3, 1e-9) << "rows are taken for channels";
}

TEST(CheckInputImagesTest, BytesAreOutOfRange) {
  FakeSource source;
  source.Step(0).Save(
      kImages,
      tensor::TensorOf(tensor::DType::kUInt8, std::vector<uint8_t>{0, 255, 255, 0}, {1, 1, 2, 2}));
  const Parameters::Given one = {{"threshold_samples", "1"}};
  const Evaluated evaluated = Evaluate(kRule, one, source, Profile::kCalibrated);
  EXPECT_THAT(evaluated.Checks(), ElementsAre("mean", "range"));
  EXPECT_EQ(evaluated.findings[1].value, 255);
  EXPECT_EQ(evaluated.findings[1].limit, 8);
  EXPECT_THAT(Evaluate(kRule, one, source).Checks(), ElementsAre("mean"));
  // The model's first layer divides by 255.
  source.Include("normalised_inputs", kImages);
  EXPECT_EQ(Evaluate(kRule, one, source, Profile::kCalibrated).result.status,
            RuleStatus::kNoTensors);
  EXPECT_THAT(Evaluate(kRule, one, source).Checks(), ElementsAre("mean"));
}

TEST(CheckInputImagesTest, ImagesThatTheModelNormalisesLaterAreWorthALook) {
  FakeSource source;
  source.Step(0).Save(kImages, {0, 32, 32, 0}, {1, 1, 2, 2});
  const Parameters::Given one = {{"threshold_samples", "1"}};
  const auto levels = [&] {
    std::vector<Level> found;
    for (const Finding &each : Evaluate(kRule, one, source, Profile::kCalibrated).findings) {
      found.push_back(each.level);
    }
    return found;
  };
  EXPECT_THAT(levels(), ElementsAre(Level::kFinding, Level::kFinding));
  source.Include("normalised_first_outputs", kImages);
  EXPECT_THAT(levels(), ElementsAre(Level::kWorthALook, Level::kWorthALook));
}

TEST(CheckInputImagesTest, PixelsALittleTooLargeAreWorthALook) {
  FakeSource source;
  source.Step(0).Save(kImages, {0, -9, 9, 0}, {1, 1, 2, 2});
  const Evaluated evaluated =
      Evaluate(kRule, {{"threshold_samples", "1"}}, source, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Checks(), ElementsAre("range"));
  EXPECT_EQ(evaluated.findings[0].level, Level::kWorthALook);
}

TEST(CheckInputImagesTest, WhatALossGetsIsNoInputOfAModel) {
  FakeSource source;
  source.Step(0).Save("DiceBce_input_0", {0, 32, 32, 0}, {1, 1, 2, 2});
  const Parameters::Given one = {{"threshold_samples", "1"}};
  EXPECT_FALSE(Evaluate(kRule, one, source, Profile::kCalibrated).findings.empty());
  source.Include("losses", "DiceBce_output_0");
  EXPECT_THAT(Evaluate(kRule, one, source, Profile::kCalibrated).findings, IsEmpty());
}

TEST(CheckInputImagesTest, TheDeviationIsJudgedIfSoAsked) {
  FakeSource source = Steps(0, 0.5);
  const Evaluated evaluated = Evaluate(kRule, {{"threshold_std", "0.4"}}, source);
  ASSERT_THAT(evaluated.Checks(), ElementsAre("std"));
  EXPECT_NEAR(evaluated.findings[0].value, 0.5, 1e-9);
  EXPECT_THAT(Evaluate(kRule, {{"threshold_std", "0.6"}}, source).findings, IsEmpty());
}

TEST(CheckInputImagesTest, FrameworksNamesAreKnown) {
  const Parameters::Given one = {{"threshold_samples", "1"}};
  for (const char *name :
       {"hybridsequential0_input_0", "Net_input_0", "ResNet_input_0", "inputs", "inputs_0"}) {
    FakeSource source;
    source.Step(0).Save(name, {1, 1}, {1, 1, 1, 2});
    EXPECT_THAT(Evaluate(kRule, one, source).Tensors(), ElementsAre(name));
  }
  for (const char *name : {"CrossEntropyLoss_input_0", "conv1_input_0", "Net_output_0",
                           "layers.0_input_0", "dense/inputs"}) {
    FakeSource source;
    source.Step(0).Save(name, {1, 1}, {1, 1, 1, 2});
    EXPECT_EQ(Evaluate(kRule, one, source).result.status, RuleStatus::kNoTensors) << name;
  }
  FakeSource source;
  source.Include("input_image", "^pictures");
  source.Step(0).Save("pictures", {1, 1}, {1, 1, 1, 2});
  EXPECT_THAT(Evaluate(kRule, one, source).Steps(), ElementsAre(0));
}

TEST(CheckInputImagesTest, FewAxesAreImagesOnlyIfNamed) {
  FakeSource source;
  source.Step(0).Save("Net_input_0", {1, 1}, {1, 2});
  EXPECT_EQ(Evaluate(kRule, {{"threshold_samples", "1"}}, source).result.status,
            RuleStatus::kNotEnoughData);
  EXPECT_THAT(Evaluate(kRule, {{"threshold_samples", "1"}, {"regex", "Net_input"}}, source).Steps(),
              ElementsAre(0));
}

TEST(CheckInputImagesTest, WhatIsNoNumberIsAnotherRulesFault) {
  FakeSource source;
  source.Step(0).Save(kImages, {std::nan(""), 5}, {1, 1, 1, 2});
  source.Step(1).Save(kImages, std::vector<double>(), {0, 1, 1, 2});
  const Evaluated evaluated = Evaluate(kRule, {{"threshold_samples", "1"}}, source);
  EXPECT_EQ(evaluated.result.status, RuleStatus::kPassed);
}

TEST(CheckInputImagesTest, WorkersAndOtherShapesBeginAnew) {
  const Parameters::Given two = {{"threshold_samples", "2"}};
  FakeSource source;
  source.Step(0)
      .By("a")
      .Save(kImages, {1, 1}, {1, 1, 1, 2})
      .By("b")
      .Save(kImages, {1, 1}, {1, 1, 1, 2});
  source.Step(1)
      .By("a")
      .Save(kImages, {1, 1}, {1, 2, 1, 1})
      .By("b")
      .Save(kImages, {1, 1}, {1, 1, 1, 2});
  const Evaluated evaluated = Evaluate(kRule, two, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(1));
  EXPECT_EQ(evaluated.findings[0].worker, "b");
}

TEST(CheckInputImagesTest, ASampleOfThePixelsIsEnough) {
  FakeSource source;
  std::vector<double> pixels(4 * 3 * 10'000);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = i / 10'000 % 3 == 2 ? 1 : i % 2 ? 1 : -1;
  source.Step(0).Save(kImages, pixels, {4, 3, 100, 100});
  const Evaluated evaluated =
      Evaluate(kRule, {{"threshold_samples", "4"}, {"sample", "6000"}}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0));
  EXPECT_EQ(evaluated.findings[0].value, 1);
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("channel 2 of"));
}

TEST(CheckInputImagesTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(Refusal(kRule, {{"threshold_mean", "-1"}}), HasSubstr("threshold_mean"));
  EXPECT_THAT(Refusal(kRule, {{"threshold_samples", "0"}}), HasSubstr("threshold_samples"));
  EXPECT_THAT(Refusal(kRule, {{"channel", "x"}}), HasSubstr("channel"));
  EXPECT_THAT(Refusal(kRule, {{"regex", "("}}), HasSubstr("regex"));
  EXPECT_EQ(Refusal(kRule, {{"channel", "auto"}}), "");
}

}  // namespace
}  // namespace smdebug::rules::check_input_images_test
