#include "format/plain_text.h"

#include <gtest/gtest.h>

#include <string>

namespace smdebug::format::plain_text_test {
namespace {

// At every place of texts longer and shorter than a word.
TEST(PlainTextTest, EveryByteIsJudgedAtEveryPlace) {
  for (size_t size = 1; size <= 19; ++size) {
    for (size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, byte % 2 == 0 ? ' ' : '~');
        text[at] = static_cast<char>(byte);
        const bool is_plain = byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
        ASSERT_EQ(IsPlainText(text), is_plain) << size << " " << at << " " << byte;
        ASSERT_EQ(IsAscii(text), byte < 0x80) << size << " " << at << " " << byte;
      }
    }
  }
}

TEST(PlainTextTest, NothingIsPlain) {
  EXPECT_TRUE(IsPlainText(""));
  EXPECT_TRUE(IsAscii(""));
}

}  // namespace
}  // namespace smdebug::format::plain_text_test
