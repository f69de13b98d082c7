#include "aws/s3_objects.h"

#include "aws/base64.h"
#include "aws/s3_fixture.h"
#include "base/crc32c.h"

namespace smdebug::aws::s3_objects_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class S3ObjectsTest : public S3Fixture {
 protected:
  // Reads a range into content_, or returns the failure.
  Status Read(uint64_t offset, uint64_t length) {
    content_.assign(length, '?');
    auto *bytes = reinterpret_cast<std::byte *>(content_.data());
    SpanSink sink({bytes, content_.size()});
    const Status status = GetRange(Client(), {"key", offset, length, &sink});
    (void)MessageOf(status);
    return status;
  }
  std::vector<std::string> Ranges() const {
    std::vector<std::string> ranges;
    for (const SentRequest &sent : Sent()) ranges.push_back(sent.Header("range"));
    return ranges;
  }
  Result<std::string> Text(uint64_t limit = 1000) {
    return std::move(GetTexts(Client(), {"key"}, limit).front());
  }

  std::string content_;
};

// ---- ranges

TEST_F(S3ObjectsTest, ReadsARange) {
  Answering([](const SentRequest &sent) { return RangeOf("0123456789", sent); });
  EXPECT_TRUE(Read(2, 5).IsOk());
  EXPECT_EQ(content_, "23456");
  EXPECT_THAT(Ranges(), ElementsAre("bytes=2-6"));
  EXPECT_THAT(Sent(0).Header("authorization"), HasSubstr("host;range;"));
}

TEST_F(S3ObjectsTest, SendsNoRequestForAnEmptyRange) {
  EXPECT_TRUE(Read(2, 0).IsOk());
  EXPECT_THAT(Sent(), IsEmpty());
}

TEST_F(S3ObjectsTest, ResumesATruncatedBody) {
  Replying({Cut(Answer(206, "234", {{"content-range", "bytes 2-8/10"}})),
            Cut(Answer(206, "56", {{"content-range", "bytes 5-8/10"}})),
            Answer(206, "78", {{"content-range", "bytes 7-8/10"}})});
  EXPECT_TRUE(Read(2, 7).IsOk());
  EXPECT_EQ(content_, "2345678") << "every byte once";
  EXPECT_THAT(Ranges(), ElementsAre("bytes=2-8", "bytes=5-8", "bytes=7-8"));
}

TEST_F(S3ObjectsTest, ResumesAfterOtherFailures) {
  Replying({Cut(Answer(206, "23", {{"content-range", "bytes 2-5/10"}})),
            S3Answer(400, "ExpiredToken"), S3Answer(503, "SlowDown"),
            Answer(206, "45", {{"content-range", "bytes 4-5/10"}})});
  EXPECT_TRUE(Read(2, 4).IsOk());
  EXPECT_EQ(content_, "2345");
  EXPECT_THAT(Ranges(), ElementsAre("bytes=2-5", "bytes=4-5", "bytes=4-5", "bytes=4-5"));
}

TEST_F(S3ObjectsTest, SucceedsIfOnlyTheEndOfTheConnectionIsLost) {
  Replying({Cut(Answer(206, "2345", {{"content-range", "bytes 2-5/10"}})), Answer(200, "all")});
  EXPECT_TRUE(Read(2, 4).IsOk());
  EXPECT_EQ(content_, "2345");
  EXPECT_THAT(Sent(), SizeIs(1));
}

TEST_F(S3ObjectsTest, FailsIfABodyIsTruncatedRepeatedly) {
  Answering([](const SentRequest &sent) {
    net::Response answer = RangeOf("0123456789", sent);
    answer.body.resize(1);
    return Cut(answer);
  });
  const Status failure = Read(0, 10);
  EXPECT_EQ(failure.GetCode(), Code::kNetwork);
  EXPECT_THAT(failure.Message(), HasSubstr("reading failed (3 attempts)"));
  EXPECT_THAT(Ranges(), ElementsAre("bytes=0-9", "bytes=1-9", "bytes=2-9"));
}

TEST_F(S3ObjectsTest, RefusesAnotherRange) {
  Replying({Answer(206, "0123", {{"content-range", "bytes 0-3/10"}})});
  const Status failure = Read(2, 4);
  EXPECT_EQ(failure.GetCode(), Code::kCorruptData);
  EXPECT_THAT(failure.Message(),
              HasSubstr("another range (bytes 0-3/10) than the requested one (bytes 2-"));
  Replying({Answer(206, "0123")});
  EXPECT_EQ(Read(2, 4).GetCode(), Code::kCorruptData) << "none at all";
  Replying({Cut(Answer(206, "23", {{"content-range", "bytes 2-5/10"}})),
            Answer(206, "23", {{"content-range", "bytes 2-3/10"}})});
  EXPECT_EQ(Read(2, 4).GetCode(), Code::kCorruptData) << "of the second attempt";
}

TEST_F(S3ObjectsTest, RefusesAWholeObjectInsteadOfARange) {
  Replying({Answer(200, "0123456789")});
  const Status failure = Read(2, 4);
  EXPECT_EQ(failure.GetCode(), Code::kCorruptData);
  EXPECT_THAT(failure.Message(), HasSubstr("answered a range request with HTTP 200"));
  EXPECT_EQ(content_, "????");
}

TEST_F(S3ObjectsTest, RefusesMoreThanRequested) {
  Replying({Answer(206, "23456", {{"content-range", "bytes 2-6/10"}})});
  std::string room(100, '?');
  SpanSink sink({reinterpret_cast<std::byte *>(room.data()), room.size()});
  EXPECT_EQ(GetRange(Client(), {"key", 2, 4, &sink}).GetCode(), Code::kCorruptData);
  EXPECT_EQ(room.substr(0, 6), "2345??");
}

TEST_F(S3ObjectsTest, AnObjectThatEndsTooEarlyIsCorrupt) {
  Answering([](const SentRequest &sent) { return RangeOf("0123456789", sent); });
  Status failure = Read(8, 5);
  EXPECT_EQ(failure.GetCode(), Code::kCorruptData);
  EXPECT_THAT(failure.Message(), HasSubstr("s3://bucket/key"));
  EXPECT_THAT(failure.Message(), HasSubstr("it ends at 10, 3 bytes too early"));
  failure = Read(10, 5);
  EXPECT_EQ(failure.GetCode(), Code::kCorruptData);
  EXPECT_THAT(failure.Message(), HasSubstr("5 bytes at 10 are beyond the end of the object"));
  EXPECT_THAT(Sent(), SizeIs(2)) << "neither is retried";
}

TEST_F(S3ObjectsTest, ARangeThatNoObjectCanHaveIsCorrupt) {
  char byte = '?';
  SpanSink sink({reinterpret_cast<std::byte *>(&byte), 1});
  for (const uint64_t offset : {UINT64_MAX, UINT64_MAX - 8}) {
    EXPECT_EQ(GetRange(Client(), {"key", offset, 10, &sink}).GetCode(), Code::kCorruptData);
  }
  EXPECT_EQ(GetRange(Client(), {"key", 1, UINT64_MAX, &sink}).GetCode(), Code::kNetwork)
      << "the offset of the last byte is still valid";
  EXPECT_EQ(Sent(0).Header("range"), "bytes=1-18446744073709551615");
}

TEST_F(S3ObjectsTest, AMissingObjectHasNoRange) {
  Replying({S3Answer(404, "NoSuchKey")});
  EXPECT_EQ(Read(0, 4).GetCode(), Code::kNotFound);
}

TEST_F(S3ObjectsTest, ReadsManyRangesAtOnce) {
  Answering([](const SentRequest &sent) -> S3Reply {
    if (sent.url.ends_with("missing")) return S3Answer(404, "NoSuchKey");
    return RangeOf("0123456789", sent);
  });
  std::string out(6, '?');
  auto *bytes = reinterpret_cast<std::byte *>(out.data());
  SpanSink first({bytes, 2});
  SpanSink second({bytes + 2, 2});
  SpanSink third({bytes + 4, 2});
  const std::vector<ObjectRange> ranges = {
      {"a", 1, 2, &first}, {"missing", 1, 2, &second}, {"b", 7, 2, &third}};
  const std::vector<Status> read = GetRanges(Client(), ranges);
  ASSERT_EQ(read.size(), 3U);
  EXPECT_TRUE(read[0].IsOk());
  EXPECT_EQ(read[1].GetCode(), Code::kNotFound);
  EXPECT_TRUE(read[2].IsOk());
  EXPECT_EQ(out, "12??78");
  EXPECT_EQ(http_->MostUnderWay(), 3);
}

// ---- texts

TEST_F(S3ObjectsTest, ReadsTextsAtOnce) {
  Answering([](const SentRequest &sent) -> S3Reply {
    if (sent.url.ends_with("missing")) return S3Answer(404, "NoSuchKey");
    return Answer(200, sent.url.substr(sent.url.rfind('/')));
  });
  const auto texts = GetTexts(Client(), {"a", "missing", "b"}, 100);
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(*texts[0], "/a");
  EXPECT_EQ(texts[1].GetStatus().GetCode(), Code::kNotFound);
  EXPECT_EQ(*texts[2], "/b");
  EXPECT_EQ(http_->MostUnderWay(), 3);
  EXPECT_EQ(Sent(0).Header("x-amz-checksum-mode"), "ENABLED");
  EXPECT_THAT(GetTexts(Client(), {}, 100), IsEmpty());
}

TEST_F(S3ObjectsTest, OutOfMemoryStopsAllRequests) {
  http_->SetOnStart([](const SentRequest &sent) {
    if (sent.url.ends_with("/b")) throw std::bad_alloc();
  });
  EXPECT_THROW((void)GetTexts(Client(), {"a", "b", "c"}, 100), std::bad_alloc);
  EXPECT_THAT(Sent(), SizeIs(1));
  EXPECT_EQ(http_->UnderWay(), 0);
}

TEST_F(S3ObjectsTest, ATextOverTheLimitIsUnsupported) {
  Answering([](const SentRequest &) { return Answer(200, "12345"); });
  EXPECT_EQ(*Text(5), "12345");
  const Status failure = Text(4).GetStatus();
  EXPECT_EQ(failure.GetCode(), Code::kUnsupported);
  EXPECT_THAT(failure.Message(), HasSubstr("s3://bucket/key: has more bytes"));
  EXPECT_EQ(*failure.Detail("path"), "s3://bucket/key");
  EXPECT_THAT(Sent(), SizeIs(2));
}

TEST_F(S3ObjectsTest, VerifiesTheChecksumOfAText) {
  const std::vector<net::Header> right = {
      {"x-amz-checksum-crc32c", ChecksumText(ExtendCrc32c(0, AsBytes("text")))}};
  Replying({Answer(200, "text", right)});
  EXPECT_EQ(*Text(), "text");
  Replying({Answer(200, "next", right), Answer(200, "text", right)});
  EXPECT_EQ(*Text(), "text") << "damaged in transit once";
  Replying({Answer(200, "next", right), Answer(200, "next", right)});
  EXPECT_EQ(Text().GetStatus().GetCode(), Code::kCorruptData);
  Replying({Answer(200, "next", right), S3Answer(404, "NoSuchKey")});
  EXPECT_EQ(Text().GetStatus().GetCode(), Code::kNotFound);
  Replying({Answer(200, "next", {{"x-amz-checksum-crc32c", "4waSgw==-2"}})});
  EXPECT_EQ(*Text(), "next") << "the checksum of a multipart object is different";
}

// ---- existence of objects

TEST_F(S3ObjectsTest, ReportsAnObject) {
  Replying({Answer(
      200, "", {{"content-length", "17"}, {"last-modified", "Mon, 12 Jan 1970 13:46:40 GMT"}})});
  const auto info = HeadObject(Client(), "key");
  ASSERT_TRUE(info.IsOk() && info->has_value());
  EXPECT_EQ((*info)->size, 17U);
  EXPECT_EQ((*info)->modified_at, 1'000'000);
  EXPECT_THAT(Lines(), ElementsAre("HEAD https://host.test/bucket/key"));
}

TEST_F(S3ObjectsTest, RefusesInvalidSizes) {
  for (const char *length : {"-5", "99999999999999999999", "x", ""}) {
    Replying({Answer(200, "", {{"content-length", length}, {"last-modified", "once"}})});
    const auto info = HeadObject(Client(), "key");
    ASSERT_TRUE(info.IsOk() && info->has_value());
    EXPECT_EQ((*info)->size, 0U) << length;
    EXPECT_EQ((*info)->modified_at, 0);
  }
}

TEST_F(S3ObjectsTest, ReportsAMissingObject) {
  Replying({Answer(404)});
  const auto info = HeadObject(Client(), "key");
  ASSERT_TRUE(info.IsOk());
  EXPECT_FALSE(info->has_value());
}

TEST_F(S3ObjectsTest, RequestsTheReasonThatAHeadLacks) {
  for (const int status : {400, 403}) {
    Replying({Answer(status), S3Answer(403, "SignatureDoesNotMatch")});
    const Status failure = HeadObject(Client(), "key").GetStatus();
    EXPECT_EQ(failure.GetCode(), Code::kCredentialsRefused);
    EXPECT_EQ(Sent().back().method, "GET");
    EXPECT_EQ(Sent().back().Header("range"), "bytes=0-0");
  }
  Replying({Answer(403), S3Answer(404, "NoSuchKey")});
  const auto missing = HeadObject(Client(), "key");
  EXPECT_TRUE(missing.IsOk() && !missing->has_value());
}

TEST_F(S3ObjectsTest, RepeatsTheHeadIfTheReasonIsGone) {
  const net::Response there = Answer(200, "", {{"content-length", "17"}});
  for (const net::Response &reason :
       {Answer(206, "x"), Answer(416), Answer(200, std::string(10'000, 'x'))}) {
    const size_t before = Sent().size();
    Replying({Answer(403), reason, there});
    const auto info = HeadObject(Client(), "key");
    ASSERT_TRUE(info.IsOk() && info->has_value()) << reason.status;
    EXPECT_EQ((*info)->size, 17U);
    EXPECT_EQ(Sent().size(), before + 3);
  }
  Replying({Answer(400), S3Answer(400, "ExpiredToken"), Answer(206, "x"), there});
  EXPECT_TRUE(HeadObject(Client(), "key").IsOk());
  EXPECT_EQ(Sent().back().Header("x-amz-security-token"), "TOKENHUSH2");
}

TEST_F(S3ObjectsTest, DoesNotRepeatTheHeadForever) {
  Answering([](const SentRequest &sent) {
    return sent.method == "HEAD" ? Answer(403) : Answer(206, "x");
  });
  EXPECT_EQ(HeadObject(Client(), "key").GetStatus().GetCode(), Code::kPermission);
  EXPECT_THAT(Sent(), SizeIs(3));
}

TEST_F(S3ObjectsTest, AFailureIsNotAMissingObject) {
  EXPECT_EQ(HeadObject(Client(), "key").GetStatus().GetCode(), Code::kNetwork);
  EXPECT_THAT(Sent(), SizeIs(3));
}

// ---- writing and removing

TEST_F(S3ObjectsTest, PutsAnObject) {
  Replying({Answer(200), Answer(200)});
  EXPECT_TRUE(PutObject(Client(), "key", {AsBytes("te"), AsBytes("xt")}).IsOk());
  EXPECT_EQ(Sent(0).method, "PUT");
  EXPECT_EQ(Sent(0).body, "text");
  EXPECT_TRUE(PutObject(Client(), "key", {}).IsOk());
  EXPECT_EQ(Sent(1).body, "");
  EXPECT_EQ(Sent(1).Header("x-amz-checksum-crc32c"), "AAAAAA==");
}

TEST_F(S3ObjectsTest, ReportsAFailedPut) {
  Replying({S3Answer(403, "AccessDenied")});
  const Status failure = PutObject(Client(), "key", {});
  EXPECT_EQ(failure.GetCode(), Code::kPermission);
  EXPECT_THAT(failure.Message(), HasSubstr("s3://bucket/key: writing failed"));
}

TEST_F(S3ObjectsTest, RemovesAnObjectThatMayBeMissing) {
  Replying({Answer(204), S3Answer(404, "NoSuchKey"), S3Answer(403, "AccessDenied"),
            S3Answer(404, "NoSuchBucket")});
  EXPECT_TRUE(DeleteObject(Client(), "key").IsOk());
  EXPECT_TRUE(DeleteObject(Client(), "key").IsOk());
  EXPECT_EQ(DeleteObject(Client(), "key").GetCode(), Code::kPermission);
  EXPECT_EQ(DeleteObject(Client(), "key").GetCode(), Code::kBucketNotFound);
  EXPECT_EQ(Sent(0).method, "DELETE");
}

}  // namespace
}  // namespace smdebug::aws::s3_objects_test
