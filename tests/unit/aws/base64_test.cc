#include "aws/base64.h"

#include <gtest/gtest.h>

#include <array>

#include "base/crc32c.h"

namespace smdebug::aws::base64_test {
namespace {

TEST(Base64, EncodesTheExamplesOfTheRfc) {
  EXPECT_EQ(ToBase64({}), "");
  EXPECT_EQ(ToBase64(AsBytes("f")), "Zg==");
  EXPECT_EQ(ToBase64(AsBytes("fo")), "Zm8=");
  EXPECT_EQ(ToBase64(AsBytes("foo")), "Zm9v");
  EXPECT_EQ(ToBase64(AsBytes("foob")), "Zm9vYg==");
  EXPECT_EQ(ToBase64(AsBytes("fooba")), "Zm9vYmE=");
  EXPECT_EQ(ToBase64(AsBytes("foobar")), "Zm9vYmFy");
}

TEST(Base64, UsesAllDigits) {
  const std::array bytes = {std::byte{0x00}, std::byte{0x10}, std::byte{0x83},
                            std::byte{0xFB}, std::byte{0xEF}, std::byte{0xBE},
                            std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF}};
  EXPECT_EQ(ToBase64(bytes), "ABCD++++////");
}

TEST(Base64, EncodesChecksumsBigEndian) {
  EXPECT_EQ(ChecksumText(0), "AAAAAA==");
  EXPECT_EQ(ChecksumText(0x01020304), "AQIDBA==");
  EXPECT_EQ(ChecksumText(0xFFFFFFFF), "/////w==");
  // The check value of CRC-32C, in the form that S3 reports for this object.
  EXPECT_EQ(ChecksumText(ExtendCrc32c(0, AsBytes("123456789"))), "4waSgw==");
}

}  // namespace
}  // namespace smdebug::aws::base64_test
