#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace smdebug::crc32c_test {
namespace {

// Straight from the definition: one bit at a time.
uint32_t SlowCrc32c(uint32_t crc, ByteSpan bytes) {
  crc = ~crc;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
  }
  return ~crc;
}

std::vector<std::byte> SomeBytes(size_t size) {
  std::vector<std::byte> bytes(size);
  uint32_t state = 7;
  for (std::byte &byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

TEST(Crc32c, HasTheStandardCheckValue) { EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xE3069283U); }

TEST(Crc32c, IsZeroForNoBytes) { EXPECT_EQ(Crc32c({}), 0U); }

// RFC 3720, section B.4.
TEST(Crc32c, VectorsOfIscsi) {
  std::string text(32, '\0');
  EXPECT_EQ(Crc32c(AsBytes(text)), 0x8A9136AAU);
  text.assign(32, '\xFF');
  EXPECT_EQ(Crc32c(AsBytes(text)), 0x62A8AB43U);
  for (size_t i = 0; i < 32; ++i) text[i] = static_cast<char>(i);
  EXPECT_EQ(Crc32c(AsBytes(text)), 0x46DD794EU);
  for (size_t i = 0; i < 32; ++i) text[i] = static_cast<char>(31 - i);
  EXPECT_EQ(Crc32c(AsBytes(text)), 0x113FDB5CU);
}

// The footer of every record in events/.
TEST(Crc32c, MaskedFormUsesTheFormatsConstant) {
  EXPECT_EQ(MaskedCrc32c(Crc32c(AsBytes("0x12345678"))), 0x062DC0B3U);
}

TEST(Crc32c, ExtendsOverAnySplit) {
  const std::vector<std::byte> bytes = SomeBytes(20000);
  const ByteSpan all = bytes;
  const uint32_t whole = Crc32c(all);
  for (const size_t split : {0U, 1U, 7U, 8U, 383U, 384U, 6144U, 14336U, 14337U, 20000U}) {
    EXPECT_EQ(ExtendCrc32c(Crc32c(all.first(split)), all.subspan(split)), whole) << split;
  }
}

TEST(Crc32c, JoinsCrcsOfAnySplit) {
  const std::vector<std::byte> bytes = SomeBytes(20000);
  const ByteSpan all = bytes;
  for (const size_t split : {0U, 1U, 7U, 8U, 4096U, 14337U, 20000U}) {
    const ByteSpan rest = all.subspan(split);
    EXPECT_EQ(JoinCrc32c(Crc32c(all.first(split)), Crc32c(rest), rest.size()), Crc32c(all))
        << split;
  }
}

class Crc32cImplementation : public testing::TestWithParam<size_t> {
 protected:
  static uint32_t Extend(uint32_t crc, ByteSpan bytes) {
    return ~Crc32cImplementations()[GetParam()](~crc, bytes);
  }
};

// The sizes are near those at which an implementation changes its stride.
TEST_P(Crc32cImplementation, AgreesWithTheDefinitionForEverySizeAndAlignment) {
  const std::vector<std::byte> bytes = SomeBytes(50000);
  std::vector<size_t> sizes;
  for (size_t size = 0; size < 66; ++size) sizes.push_back(size);
  for (const size_t edge : {384U, 768U, 6144U, 12288U, 14336U, 28672U, 43008U}) {
    for (size_t size = edge - 2; size < edge + 10; ++size) sizes.push_back(size);
  }
  for (const size_t size : sizes) {
    const ByteSpan part = ByteSpan(bytes).subspan(size % 61, size);
    ASSERT_EQ(Extend(0x9ABCDEF0, part), SlowCrc32c(0x9ABCDEF0, part)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(OfThisMachine, Crc32cImplementation,
                         testing::Range(size_t{0}, Crc32cImplementations().size()));

}  // namespace
}  // namespace smdebug::crc32c_test
