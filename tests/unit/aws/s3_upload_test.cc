#include "aws/s3_upload.h"

#include <map>

#include "aws/base64.h"
#include "aws/s3_fixture.h"
#include "base/crc32c.h"

namespace smdebug::aws::s3_upload_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr uint64_t kPart = S3Upload::kPartSize;

std::shared_ptr<std::string> Filled(uint64_t size, char first = 'a') {
  auto text = std::make_shared<std::string>(size, first);
  for (size_t i = 0; i < size; i += 1000) (*text)[i] = static_cast<char>('a' + i / 1000 % 26);
  return text;
}

Piece Owned(const std::shared_ptr<std::string> &text) { return {text, AsBytes(*text)}; }

// Returns the value of a query parameter, or "".
std::string Queried(const SentRequest &sent, std::string_view name) {
  const std::string wanted = StrCat(name, "=");
  size_t at = sent.url.find(StrCat("?", wanted));
  if (at == std::string::npos) at = sent.url.find(StrCat("&", wanted));
  if (at == std::string::npos) return "";
  at += wanted.size() + 1;
  return sent.url.substr(at, sent.url.find('&', at) - at);
}

// A service that accepts multipart uploads, unless on_request_ answers.
class S3UploadTest : public S3Fixture {
 protected:
  S3UploadTest() {
    Answering([this](const SentRequest &sent) {
      if (on_request_) {
        if (auto reply = on_request_(sent)) return *std::move(reply);
      }
      return Serve(sent);
    });
  }

  S3Reply Serve(const SentRequest &sent) {
    if (sent.method == "PUT" && Queried(sent, "partNumber").empty()) {
      objects_["put"] = sent.body;
    } else if (sent.method == "PUT") {
      const std::string number = Queried(sent, "partNumber");
      parts_of_[number] = sent.body;
      return Answer(200, "", {{"etag", StrCat("\"E<", number, ">&\"")}});
    } else if (sent.method == "POST" && sent.url.ends_with("?uploads=")) {
      return Answer(200,
                    "<InitiateMultipartUploadResult><UploadId>U/1</UploadId>"
                    "</InitiateMultipartUploadResult>");
    } else if (sent.method == "POST") {
      completion_ = sent.body;
      return Answer(200, "<CompleteMultipartUploadResult/>");
    } else if (sent.method == "DELETE") {
      return Answer(204);
    }
    return Answer(200);
  }

  // Returns "POST begin", "PUT 1", "DELETE", ...
  std::vector<std::string> Steps() const {
    std::vector<std::string> steps;
    for (const SentRequest &sent : Sent()) {
      const std::string number = Queried(sent, "partNumber");
      if (!number.empty()) {
        steps.push_back(StrCat(sent.method, " ", number));
      } else {
        steps.push_back(sent.method + (sent.url.ends_with("?uploads=") ? " begin" : ""));
      }
    }
    return steps;
  }

  std::unique_ptr<S3Upload> Upload() { return std::make_unique<S3Upload>(SharedClient(), "key"); }
  static Status Append(S3Upload &upload, const Piece &piece) {
    return upload.Append(std::span(&piece, 1));
  }
  // Fails the next `times` requests with this method, except the start of an upload.
  void Fail(const std::string &method, S3Reply reply, int times = 1) {
    on_request_ = [=, left = times](const SentRequest &sent) mutable -> std::optional<S3Reply> {
      const bool is_meant = sent.method == method && !sent.url.ends_with("?uploads=");
      if (!is_meant || left-- <= 0) return {};
      return reply;
    };
  }

  std::function<std::optional<S3Reply>(const SentRequest &)> on_request_;
  std::map<std::string, std::string> objects_;
  std::map<std::string, std::string> parts_of_;
  std::string completion_;
};

TEST_F(S3UploadTest, PutsASmallObjectWhole) {
  const auto upload = Upload();
  const auto text = Filled(kPart - 5);
  ASSERT_TRUE(Append(*upload, Owned(text)).IsOk());
  ASSERT_TRUE(Append(*upload, {nullptr, AsBytes("tail")}).IsOk());
  EXPECT_THAT(Sent(), IsEmpty()) << "nothing is sent before Finish()";
  ASSERT_TRUE(upload->Finish().IsOk());
  EXPECT_THAT(Steps(), ElementsAre("PUT"));
  EXPECT_TRUE(objects_["put"] == *text + "tail");
}

TEST_F(S3UploadTest, PutsAnEmptyObject) {
  const auto upload = Upload();
  ASSERT_TRUE(upload->Append({}).IsOk());
  ASSERT_TRUE(Append(*upload, {}).IsOk());
  ASSERT_TRUE(upload->Finish().IsOk());
  EXPECT_THAT(Steps(), ElementsAre("PUT"));
  EXPECT_EQ(objects_["put"], "");
}

TEST_F(S3UploadTest, LeavesNothingWithoutFinish) {
  ASSERT_TRUE(Append(*Upload(), {nullptr, AsBytes("text")}).IsOk());
  EXPECT_THAT(Sent(), IsEmpty());
}

TEST_F(S3UploadTest, CopiesBorrowedPieces) {
  const auto upload = Upload();
  for (const char letter : {'a', 'b'}) {
    std::string lent(kPart / 2 + 1, letter);
    ASSERT_TRUE(Append(*upload, {nullptr, AsBytes(lent)}).IsOk());
    lent.assign(lent.size(), '!');
  }
  ASSERT_TRUE(upload->Finish().IsOk());
  EXPECT_TRUE(parts_of_["1"] == std::string(kPart / 2 + 1, 'a') + std::string(kPart / 2 - 1, 'b'));
  EXPECT_EQ(parts_of_["2"], "bb");
}

TEST_F(S3UploadTest, SendsPartsOfExactlyThePartSize) {
  const auto upload = Upload();
  const auto text = Filled(2 * kPart);
  ASSERT_TRUE(Append(*upload, Owned(text)).IsOk());
  ASSERT_TRUE(upload->Finish().IsOk());
  EXPECT_THAT(Steps(), ElementsAre("POST begin", "PUT 1", "PUT 2", "POST"));
  EXPECT_TRUE(parts_of_["1"] + parts_of_["2"] == *text);
  EXPECT_THAT(parts_of_["1"], SizeIs(kPart));
}

TEST_F(S3UploadTest, TheLastPartMayBeSmall) {
  const auto upload = Upload();
  const auto text = Filled(kPart + 1);
  ASSERT_TRUE(Append(*upload, Owned(text)).IsOk());
  EXPECT_THAT(Steps(), ElementsAre("POST begin", "PUT 1"));
  ASSERT_TRUE(upload->Finish().IsOk());
  EXPECT_THAT(parts_of_["1"], SizeIs(kPart));
  EXPECT_THAT(parts_of_["2"], SizeIs(1));
}

TEST_F(S3UploadTest, NamesTheUploadAndTheChecksums) {
  const auto upload = Upload();
  const auto text = Filled(kPart);
  ASSERT_TRUE(Append(*upload, Owned(text)).IsOk());
  ASSERT_TRUE(upload->Finish().IsOk());
  const std::string checksum = ChecksumText(ExtendCrc32c(0, AsBytes(*text)));
  EXPECT_EQ(Sent(0).Header("x-amz-checksum-algorithm"), "CRC32C");
  EXPECT_EQ(Sent(0).Header("x-amz-checksum-crc32c"), "(none)");
  EXPECT_EQ(Sent(1).url, "https://host.test/bucket/key?partNumber=1&uploadId=U%2F1");
  EXPECT_EQ(Sent(1).Header("x-amz-checksum-crc32c"), checksum);
  EXPECT_EQ(Sent(2).url, "https://host.test/bucket/key?uploadId=U%2F1");
  EXPECT_EQ(Sent(2).Header("x-amz-checksum-crc32c"), "(none)");
  EXPECT_EQ(Sent(2).Header("content-type"), "application/xml");
  EXPECT_EQ(completion_, StrCat("<CompleteMultipartUpload><Part><PartNumber>1</PartNumber>"
                                "<ETag>&quot;E&lt;1>&amp;&quot;</ETag><ChecksumCRC32C>",
                                checksum, "</ChecksumCRC32C></Part></CompleteMultipartUpload>"));
}

TEST_F(S3UploadTest, SendsFewPartsAtATimeAndKeepsTheirOrder) {
  const auto upload = Upload();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Append(*upload, Owned(Filled(kPart))).IsOk());
  EXPECT_EQ(http_->UnderWay(), 2);
  ASSERT_TRUE(upload->Finish().IsOk());
  EXPECT_EQ(http_->MostUnderWay(), 2);
  size_t at = 0;
  for (int i = 1; i <= 5; ++i) {
    at = completion_.find(StrCat("<PartNumber>", i, "</PartNumber><ETag>&quot;E&lt;", i), at);
    EXPECT_NE(at, std::string::npos) << i;
  }
}

TEST_F(S3UploadTest, KeepsAnOwnerUntilThePartIsStored) {
  const auto upload = Upload();
  auto text = Filled(kPart);
  const std::weak_ptr<std::string> kept = text;
  ASSERT_TRUE(Append(*upload, Owned(text)).IsOk());
  text.reset();
  EXPECT_FALSE(kept.expired()) << "the part is being sent";
  ASSERT_TRUE(Append(*upload, Owned(Filled(2 * kPart))).IsOk());
  EXPECT_TRUE(kept.expired()) << "the third part had to wait for it";
  ASSERT_TRUE(upload->Finish().IsOk());
}

TEST_F(S3UploadTest, KeepsAnOwnerThroughARetry) {
  Fail("PUT", NobodyThere(), 2);
  const auto upload = Upload();
  ASSERT_TRUE(Append(*upload, Owned(Filled(kPart))).IsOk());
  ASSERT_TRUE(upload->Finish().IsOk());
  EXPECT_THAT(Steps(), ElementsAre("POST begin", "PUT 1", "PUT 1", "PUT 1", "POST"));
}

TEST_F(S3UploadTest, IsAbortedWithoutFinish) {
  ASSERT_TRUE(Append(*Upload(), Owned(Filled(2 * kPart))).IsOk());
  EXPECT_THAT(Steps(), ElementsAre("POST begin", "PUT 1", "PUT 2", "DELETE"));
  EXPECT_EQ(Sent().back().url, "https://host.test/bucket/key?uploadId=U%2F1");
  EXPECT_EQ(log_, "");
}

TEST_F(S3UploadTest, ReportsAFailedAbort) {
  Fail("DELETE", S3Answer(403, "AccessDenied"));
  ASSERT_TRUE(Append(*Upload(), Owned(Filled(kPart))).IsOk());
  EXPECT_THAT(log_, StartsWith("s3://bucket/key: giving up failed: AccessDenied"));
}

TEST_F(S3UploadTest, StopsAtAFailedPart) {
  Fail("PUT", S3Answer(403, "AccessDenied"));
  {
    const auto upload = Upload();
    ASSERT_TRUE(Append(*upload, Owned(Filled(2 * kPart))).IsOk()) << "the failure is not known yet";
    EXPECT_EQ(Append(*upload, Owned(Filled(kPart))).GetCode(), Code::kPermission);
    EXPECT_EQ(Append(*upload, Owned(Filled(kPart))).GetCode(), Code::kPermission);
    EXPECT_EQ(upload->Finish().GetCode(), Code::kPermission) << "a part of it is missing";
  }
  EXPECT_EQ(completion_, "");
  EXPECT_THAT(Steps(), ElementsAre("POST begin", "PUT 1", "PUT 2", "DELETE"));
}

TEST_F(S3UploadTest, SendsNoPartIfItCannotStart) {
  on_request_ = [](const SentRequest &sent) -> std::optional<S3Reply> {
    if (sent.method == "POST") return S3Answer(403, "AccessDenied");
    return {};
  };
  const auto upload = Upload();
  EXPECT_EQ(Append(*upload, Owned(Filled(kPart))).GetCode(), Code::kPermission);
  EXPECT_EQ(upload->Finish().GetCode(), Code::kPermission);
  EXPECT_THAT(Steps(), ElementsAre("POST begin"));
}

TEST_F(S3UploadTest, NeedsAnUploadIdAndETags) {
  for (const char *answer : {"", "<x/>", "<Result><UploadId/></Result>"}) {
    on_request_ = [=](const SentRequest &sent) -> std::optional<S3Reply> {
      if (sent.method == "POST") return Answer(200, answer);
      return {};
    };
    EXPECT_EQ(Append(*Upload(), Owned(Filled(kPart))).GetCode(), Code::kCorruptData) << answer;
  }
  Fail("PUT", Answer(200));
  const auto upload = Upload();
  ASSERT_TRUE(Append(*upload, Owned(Filled(kPart))).IsOk());
  EXPECT_THAT(MessageOf(upload->Finish()), HasSubstr("no ETag"));
}

TEST_F(S3UploadTest, AnErrorInAnAnswerOf200IsAFailure) {
  Fail("POST", S3Answer(200, "InternalError"), 3);
  {
    const auto upload = Upload();
    ASSERT_TRUE(Append(*upload, Owned(Filled(kPart))).IsOk());
    const Status failure = upload->Finish();
    EXPECT_EQ(failure.GetCode(), Code::kNetwork);
    EXPECT_THAT(MessageOf(failure), HasSubstr("InternalError (HTTP 200)"));
  }
  EXPECT_THAT(Steps(), ElementsAre("POST begin", "PUT 1", "POST", "POST", "POST", "DELETE"));
}

TEST_F(S3UploadTest, AnErrorInAnAnswerOf200MayPass) {
  Fail("POST", S3Answer(200, "InternalError"), 2);
  const auto upload = Upload();
  ASSERT_TRUE(Append(*upload, Owned(Filled(kPart))).IsOk());
  EXPECT_TRUE(upload->Finish().IsOk());
}

TEST_F(S3UploadTest, OutOfMemoryOmitsNoPart) {
  http_->SetOnStart([](const SentRequest &sent) {
    if (Queried(sent, "partNumber") == "2" || sent.method == "DELETE") throw std::bad_alloc();
  });
  {
    const auto upload = Upload();
    EXPECT_THROW((void)Append(*upload, Owned(Filled(2 * kPart))), std::bad_alloc);
    EXPECT_EQ(Append(*upload, Owned(Filled(kPart))).GetCode(), Code::kOutOfMemory);
    EXPECT_EQ(upload->Finish().GetCode(), Code::kOutOfMemory);
  }
  EXPECT_THAT(Steps(), ElementsAre("POST begin", "PUT 1")) << "the abort fails too";
  const auto upload = Upload();
  ASSERT_TRUE(Append(*upload, {nullptr, AsBytes("text")}).IsOk());
  http_->SetOnStart([](const SentRequest &) { throw std::bad_alloc(); });
  EXPECT_THROW((void)upload->Finish(), std::bad_alloc);
  EXPECT_EQ(upload->Finish().GetCode(), Code::kOutOfMemory);
}

class S3UploadLostAnswerTest : public S3UploadTest {
 protected:
  // Loses the first `lost` answers to Finish().  Then the service reports NoSuchUpload, and
  // has an object of this size.
  Status FinishAfter(int lost, uint64_t size, int status = 200) {
    on_request_ = [=, left = lost](const SentRequest &sent) mutable -> std::optional<S3Reply> {
      if (sent.method == "HEAD") {
        return Answer(status, "", {{"content-length", std::to_string(size)}});
      }
      if (sent.method != "POST" || sent.url.ends_with("?uploads=")) return {};
      return left-- > 0 ? S3Reply(NobodyThere()) : S3Reply(S3Answer(404, "NoSuchUpload"));
    };
    const auto upload = Upload();
    EXPECT_TRUE(Append(*upload, Owned(Filled(kPart + 1))).IsOk());
    return upload->Finish();
  }
};

TEST_F(S3UploadLostAnswerTest, AcceptsAnObjectOfEqualSize) {
  EXPECT_TRUE(FinishAfter(1, kPart + 1).IsOk());
  EXPECT_THAT(Steps(), Not(testing::Contains("DELETE")));
}

TEST_F(S3UploadLostAnswerTest, RefusesAnObjectOfAnotherSize) {
  EXPECT_EQ(FinishAfter(1, kPart).GetCode(), Code::kNotFound);
  EXPECT_EQ(FinishAfter(1, 0, 404).GetCode(), Code::kNotFound) << "none at all";
}

TEST_F(S3UploadLostAnswerTest, RefusesAnOlderObjectIfNoAnswerWasLost) {
  EXPECT_EQ(FinishAfter(0, kPart + 1).GetCode(), Code::kNotFound);
}

}  // namespace
}  // namespace smdebug::aws::s3_upload_test
