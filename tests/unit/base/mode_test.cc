#include "base/mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug::mode_test {
namespace {

using testing::Optional;

TEST(Mode, NumbersAreThoseOfTheFiles) {
  EXPECT_THAT(ModeFromNumber(1), Optional(Mode::kTrain));
  EXPECT_THAT(ModeFromNumber(2), Optional(Mode::kEval));
  EXPECT_THAT(ModeFromNumber(3), Optional(Mode::kPredict));
  EXPECT_THAT(ModeFromNumber(4), Optional(Mode::kGlobal));
  EXPECT_EQ(ModeFromNumber(0), std::nullopt);
  EXPECT_EQ(ModeFromNumber(5), std::nullopt);
  EXPECT_EQ(ModeFromNumber((int64_t{1} << 32) + 1), std::nullopt);
}

TEST(Mode, NamesAreThoseOfTheFiles) {
  EXPECT_EQ(ModeName(Mode::kTrain), "TRAIN");
  EXPECT_EQ(ModeName(Mode::kEval), "EVAL");
  EXPECT_EQ(ModeName(Mode::kPredict), "PREDICT");
  EXPECT_EQ(ModeName(Mode::kGlobal), "GLOBAL");
  for (const Mode mode : kModes) EXPECT_THAT(ModeFromName(ModeName(mode)), Optional(mode));
  EXPECT_EQ(ModeFromName("train"), std::nullopt);
  EXPECT_EQ(ModeFromName(""), std::nullopt);
}

TEST(Mode, IndexesATable) {
  for (size_t index = 0; index < kModes.size(); ++index) {
    EXPECT_EQ(ModeIndex(kModes[index]), index);
  }
}

}  // namespace
}  // namespace smdebug::mode_test
