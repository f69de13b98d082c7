#include "tensor/small_float.h"

#include <gtest/gtest.h>

namespace smdebug::tensor::small_float_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr SmallFloat kFormats[] = {kFloat16Format, kBFloat16Format, kFloat8E5M2Format,
                                   kFloat8E4M3FNFormat};

TEST(SmallFloat, KnownNumbers) {
  EXPECT_EQ(DecodeSmallFloat(kFloat16Format, 0x3C00), 1);
  EXPECT_EQ(DecodeSmallFloat(kFloat16Format, 0x7BFF), 65504);
  EXPECT_EQ(DecodeSmallFloat(kFloat16Format, 0x0001), 0x1p-24);
  EXPECT_EQ(DecodeSmallFloat(kFloat16Format, 0xFC00), -kInfinity);
  EXPECT_EQ(DecodeSmallFloat(kBFloat16Format, 0x4049), 3.140625);
  EXPECT_EQ(DecodeSmallFloat(kFloat8E5M2Format, 0x7B), 57344);
  EXPECT_EQ(DecodeSmallFloat(kFloat8E4M3FNFormat, 0x7E), 448);
  EXPECT_EQ(DecodeSmallFloat(kFloat8E4M3FNFormat, 0x01), 0x1p-9);
  EXPECT_TRUE(std::isnan(DecodeSmallFloat(kFloat8E4M3FNFormat, 0xFF)));
}

TEST(SmallFloat, EveryCodeRoundTrips) {
  for (const SmallFloat format : kFormats) {
    for (uint32_t bits = 0; bits < 2 * format.SignBit(); ++bits) {
      const double number = DecodeSmallFloat(format, bits);
      if (std::isnan(number)) {
        EXPECT_TRUE(std::isnan(DecodeSmallFloat(format, EncodeSmallFloat(format, number))));
      } else {
        ASSERT_EQ(EncodeSmallFloat(format, number), bits);
      }
    }
  }
}

// Rounds to the nearer neighbour; in the middle, to the neighbour whose last bit is 0.
TEST(SmallFloat, RoundsOnceToNearest) {
  for (const SmallFloat format : kFormats) {
    for (uint32_t bits = 0; bits < format.LargestBits(); ++bits) {
      const double lower = DecodeSmallFloat(format, bits);
      const double middle = (lower + DecodeSmallFloat(format, bits + 1)) / 2;
      ASSERT_EQ(EncodeSmallFloat(format, std::nextafter(middle, 0)), bits);
      ASSERT_EQ(EncodeSmallFloat(format, middle), bits + bits % 2);
      ASSERT_EQ(EncodeSmallFloat(format, std::nextafter(middle, kInfinity)), bits + 1);
    }
  }
}

TEST(SmallFloat, OverflowBecomesInfinityOrNan) {
  EXPECT_EQ(EncodeSmallFloat(kFloat16Format, 65519.99), 0x7BFFU);
  EXPECT_EQ(EncodeSmallFloat(kFloat16Format, 65520), 0x7C00U);
  EXPECT_EQ(EncodeSmallFloat(kFloat16Format, -1e300), 0xFC00U);
  EXPECT_EQ(EncodeSmallFloat(kBFloat16Format, kInfinity), 0x7F80U);
  EXPECT_EQ(EncodeSmallFloat(kFloat8E4M3FNFormat, 464), 0x7EU);
  EXPECT_EQ(EncodeSmallFloat(kFloat8E4M3FNFormat, 465), 0x7FU);
  EXPECT_EQ(EncodeSmallFloat(kFloat8E4M3FNFormat, -kInfinity), 0xFFU);
}

TEST(SmallFloat, UnderflowBecomesSignedZero) {
  EXPECT_EQ(EncodeSmallFloat(kFloat16Format, 1e-300), 0x0000U);
  EXPECT_EQ(EncodeSmallFloat(kFloat16Format, -1e-300), 0x8000U);
  EXPECT_EQ(EncodeSmallFloat(kFloat16Format, -0.0), 0x8000U);
}

}  // namespace
}  // namespace smdebug::tensor::small_float_test
