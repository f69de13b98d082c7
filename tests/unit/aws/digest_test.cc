#include "aws/digest.h"

#include <gtest/gtest.h>

#include <string>

namespace smdebug::aws::digest_test {
namespace {

std::string HexOf(const Result<Sha256Digest> &digest) {
  return digest.IsOk() ? ToHex(*digest) : digest.GetStatus().Message();
}

// FIPS 180-2, appendix B.
TEST(DigestTest, Sha256OfStandardExamples) {
  EXPECT_EQ(HexOf(Sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexOf(Sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HexOf(Sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(DigestTest, ConcatenatesPieces) {
  const std::array pieces = {AsBytes("a"), AsBytes(""), ByteSpan(), AsBytes("bc")};
  EXPECT_EQ(HexOf(Sha256(pieces)), HexOf(Sha256("abc")));
}

// RFC 4231, cases 1, 2, 6 and 7.
TEST(DigestTest, HmacOfStandardExamples) {
  EXPECT_EQ(HexOf(HmacSha256(AsBytes(std::string(20, '\x0b')), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(HexOf(HmacSha256(AsBytes("Jefe"), "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  const std::string long_key(131, '\xaa');
  EXPECT_EQ(HexOf(HmacSha256(AsBytes(long_key),
                             "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(HexOf(HmacSha256(AsBytes(long_key),
                             "This is a test using a larger than block-size key and a larger than "
                             "block-size data. The key needs to be hashed before being used by the "
                             "HMAC algorithm.")),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(DigestTest, HexHasTwoLowerCaseDigitsPerByte) {
  const std::array bytes = {std::byte{0x00}, std::byte{0x0A}, std::byte{0xFF}};
  EXPECT_EQ(ToHex(bytes), "000aff");
  EXPECT_EQ(ToHex({}), "");
}

}  // namespace
}  // namespace smdebug::aws::digest_test
