#include "format/wire_cursor.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "format/records.h"

namespace smdebug::format::testing::wire_cursor_test {
namespace {

WireCursor Over(std::string_view bytes) {
  return WireCursor({AsBytes(bytes), {}, {}}, 0, bytes.size());
}

TEST(WireCursorTest, NumbersOfEveryLengthAreRead) {
  uint64_t number = 0;
  for (int bits = 0; bits <= 64; ++bits) {
    const std::string bytes = Number(3, number);
    // In one part, and in two cut everywhere.
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      WireCursor cursor({AsBytes(bytes).first(cut), {}, AsBytes(bytes).subspan(cut)}, 0,
                        bytes.size());
      WireField field{};
      uint64_t read = 0;
      ASSERT_TRUE(cursor.Next(&field));
      EXPECT_EQ(field.number, 3U);
      ASSERT_TRUE(cursor.ReadVarint(field, &read)) << cursor.Fault();
      EXPECT_EQ(read, number);
      EXPECT_FALSE(cursor.Next(&field));
      EXPECT_EQ(cursor.Fault(), nullptr);
      EXPECT_EQ(cursor.Offset(), bytes.size());
    }
    number = number * 2 + 1;
  }
}

TEST(WireCursorTest, FieldNumbersUpToTheLargestAreRead) {
  for (const uint32_t number : {1U, 15U, 16U, 2047U, 2048U, (1U << 29) - 1}) {
    const std::string bytes = Number(number, 7);
    WireCursor cursor = Over(bytes);
    WireField field{};
    ASSERT_TRUE(cursor.Next(&field)) << number;
    EXPECT_EQ(field.number, number);
  }
}

TEST(WireCursorTest, MessagesEndWhereTheirLengthSays) {
  const std::string bytes = Bytes(1, Number(2, 5) + Number(3, 6)) + Number(4, 7);
  WireCursor cursor = Over(bytes);
  WireField field{};
  ASSERT_TRUE(cursor.Next(&field));
  std::vector<uint32_t> inner;
  ASSERT_TRUE(cursor.ReadMessage(field, [&](WireField inside) {
    inner.push_back(inside.number);
    return cursor.Skip(inside);
  }));
  EXPECT_EQ(inner, (std::vector<uint32_t>{2, 3}));
  ASSERT_TRUE(cursor.Next(&field));
  EXPECT_EQ(field.number, 4U);
}

TEST(WireCursorTest, NothingIsReadBeyondTheMessage) {
  // The inner message's last field reaches into what follows it.
  const std::vector<std::string> tails = {Varint(2 << 3 | 2) + Varint(1),
                                          Varint(2 << 3 | 1) + "1234567",
                                          Varint(2 << 3 | 5) + "123",
                                          Varint(2 << 3) + "\xFF",
                                          Varint(2 << 3),
                                          "\xFF"};
  for (const std::string &tail : tails) {
    const std::string bytes = Bytes(1, tail) + std::string(20, '\1');
    WireCursor cursor = Over(bytes);
    WireField field{};
    ASSERT_TRUE(cursor.Next(&field));
    EXPECT_FALSE(cursor.ReadMessage(field, [&](WireField inside) { return cursor.Skip(inside); }));
    EXPECT_NE(cursor.Fault(), nullptr);
    EXPECT_FALSE(cursor.NeedsMore());
    // Then there is no going on.
    EXPECT_FALSE(cursor.Next(&field));
    uint64_t number = 0;
    EXPECT_FALSE(cursor.ReadVarint({1, WireType::kVarint}, &number));
    EXPECT_FALSE(cursor.ReadFixed64({1, WireType::kFixed64}, &number));
  }
}

TEST(WireCursorTest, TheFirstFaultStays) {
  WireCursor cursor = Over("\1\1");
  EXPECT_FALSE(cursor.Fail("first"));
  EXPECT_FALSE(cursor.Fail("second"));
  EXPECT_STREQ(cursor.Fault(), "first");
}

TEST(WireCursorTest, BytesAtHandMayEndEarly) {
  const std::string bytes = Bytes(1, "abc") + Number(2, 1 << 20);
  for (size_t size = 0; size < bytes.size(); ++size) {
    WireCursor cursor({AsBytes(bytes).first(size), {}, {}}, 0, bytes.size());
    WireField field{};
    ByteSpan text;
    uint64_t number = 0;
    const bool is_read = cursor.Next(&field) && cursor.ReadBytes(field, &text) &&
                         cursor.Next(&field) && cursor.ReadVarint(field, &number);
    EXPECT_FALSE(is_read) << size;
    EXPECT_TRUE(cursor.NeedsMore()) << size;
  }
}

TEST(WireCursorTest, BytesMustLieInOnePart) {
  const std::string bytes = Bytes(1, "abc");
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    WireCursor cursor({AsBytes(bytes).first(cut), {}, AsBytes(bytes).subspan(cut)}, 0,
                      bytes.size());
    WireField field{};
    ByteSpan text;
    ASSERT_TRUE(cursor.Next(&field));
    const bool is_inside = cut == 3 || cut == 4;
    EXPECT_EQ(cursor.ReadBytes(field, &text), !is_inside) << cut;
    EXPECT_FALSE(cursor.NeedsMore());
    if (!is_inside) {
      EXPECT_EQ(AsText(text), "abc");
    }
  }
}

TEST(WireCursorTest, AnImpossibleRangeIsRefused) {
  WireCursor cursor({AsBytes("abc"), {}, {}}, 3, 2);
  WireField field{};
  EXPECT_FALSE(cursor.Next(&field));
  EXPECT_NE(cursor.Fault(), nullptr);
  WireCursor late({AsBytes("abc"), {}, {}}, 10, std::numeric_limits<uint64_t>::max());
  EXPECT_FALSE(late.Next(&field));
  EXPECT_TRUE(late.NeedsMore());
}

}  // namespace
}  // namespace smdebug::format::testing::wire_cursor_test
