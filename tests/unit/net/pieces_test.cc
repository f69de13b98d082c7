#include "net/pieces.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace smdebug::net::pieces_test {
namespace {

std::string ReadAll(PieceReader &reader, size_t at_a_time) {
  std::string all;
  std::vector<std::byte> some(at_a_time);
  while (const size_t count = reader.Read(some)) all.append(AsText(some).substr(0, count));
  return all;
}

TEST(PieceReader, JoinsPieces) {
  const std::vector<ByteSpan> pieces = {{}, AsBytes("abc"), {}, AsBytes("d"), AsBytes("efg"), {}};
  EXPECT_EQ(TotalSize(pieces), 7U);
  for (size_t at_a_time = 1; at_a_time < 9; ++at_a_time) {
    PieceReader reader(pieces);
    EXPECT_EQ(ReadAll(reader, at_a_time), "abcdefg") << at_a_time;
  }
}

TEST(PieceReader, SeeksToAnyOffset) {
  const std::vector<ByteSpan> pieces = {AsBytes("abc"), {}, AsBytes("de")};
  PieceReader reader(pieces);
  const std::string all = "abcde";
  for (const size_t offset : {5U, 0U, 3U, 1U, 4U, 2U}) {
    EXPECT_TRUE(reader.Seek(offset));
    EXPECT_EQ(ReadAll(reader, 2), all.substr(offset)) << offset;
  }
  EXPECT_FALSE(reader.Seek(6));
}

TEST(PieceReader, WithoutPieces) {
  PieceReader reader({});
  EXPECT_EQ(ReadAll(reader, 4), "");
  EXPECT_TRUE(reader.Seek(0));
  EXPECT_FALSE(reader.Seek(1));
}

}  // namespace
}  // namespace smdebug::net::pieces_test
