#include "storage/s3_store.h"

#include <array>

#include "aws/s3_fixture.h"
#include "storage/aws_environment.h"

namespace smdebug::storage::s3_store_test {
namespace {

using aws::Answer;
using aws::S3Answer;
using aws::SentRequest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class S3StoreTest : public aws::S3Fixture {
 protected:
  // A trial at "a/trial".
  S3Store &Store() {
    if (!store_) store_ = std::make_unique<S3Store>(SharedClient(), "a/trial");
    return *store_;
  }
  // The path and query of what was sent, behind the bucket.
  std::string Asked(size_t index = 0) const {
    const SentRequest sent = Sent(index);
    return sent.method + " " + sent.url.substr(sizeof("https://host.test/bucket") - 1);
  }
  static net::Response Keys(const std::vector<std::string> &keys) {
    std::string text = "<ListBucketResult>";
    for (const std::string &key : keys) text += StrCat("<Contents><Key>", key, "</Key></Contents>");
    return Answer(200, text + "</ListBucketResult>");
  }
  static std::vector<net::Header> Head(std::string_view size) {
    return {{"content-length", std::string(size)},
            {"last-modified", "Mon, 12 Jan 1970 13:46:40 GMT"}};
  }

  AwsEnvironment environment_;
  std::unique_ptr<S3Store> store_;
};

TEST_F(S3StoreTest, NamesObjectsBelowItsPrefix) {
  EXPECT_EQ(Store().Location(), "s3://bucket/a/trial");
  Replying({Answer(200)});
  EXPECT_TRUE(Store().WriteText("index/0/x.json", "text", true).IsOk());
  EXPECT_EQ(Asked(), "PUT /a/trial/index/0/x.json");
  EXPECT_EQ(Sent(0).body, "text");
}

TEST_F(S3StoreTest, MayBeTheBucketItself) {
  S3Store whole(SharedClient(), "");
  EXPECT_EQ(whole.Location(), "s3://bucket");
  Replying({Answer(200), Keys({"x", "folder/y"}), Keys({"events/a/b"})});
  EXPECT_TRUE(whole.WriteText("x", "text", true).IsOk());
  EXPECT_EQ(Asked(0), "PUT /x");
  EXPECT_THAT(*whole.List(""), ElementsAre("x", "folder/y"));
  EXPECT_THAT(Asked(1), HasSubstr("&prefix="));
  EXPECT_THAT(*whole.Follow("events")->Next(), ElementsAre("events/a/b"));
  EXPECT_THAT(Asked(2), HasSubstr("&prefix=events%2F"));
}

TEST_F(S3StoreTest, AsksManyAtOnce) {
  EXPECT_GT(Store().WritesAtOnce(), 1);
  EXPECT_GT(Store().ReadsAtOnce(), 1);
}

TEST_F(S3StoreTest, OpensWithoutAsking) {
  ASSERT_TRUE(Store().Open("x").IsOk());
  EXPECT_THAT(Sent(), IsEmpty());
}

TEST_F(S3StoreTest, AsksForASizeOnce) {
  const auto file = *Store().Open("x");
  EXPECT_EQ(file->Size().GetStatus().GetCode(), Code::kNetwork);
  Replying({Answer(200, "", Head("17"))});
  EXPECT_EQ(*file->Size(), 17U) << "a failure is not remembered";
  EXPECT_EQ(*file->Size(), 17U);
  EXPECT_THAT(Sent(), SizeIs(4));
  EXPECT_EQ(Asked(3), "HEAD /a/trial/x");
}

TEST_F(S3StoreTest, AMissingFileHasNoSize) {
  Replying({Answer(404)});
  const Status failure = (*Store().Open("x"))->Size().GetStatus();
  EXPECT_EQ(failure.GetCode(), Code::kNotFound);
  EXPECT_EQ(failure.Message(), "s3://bucket/a/trial/x: no such file");
  EXPECT_EQ(*failure.Detail("path"), "s3://bucket/a/trial/x");
}

TEST_F(S3StoreTest, ReadsPartsOfAFile) {
  Answering([](const SentRequest &sent) { return aws::RangeOf("0123456789", sent); });
  std::array<std::byte, 3> out;
  EXPECT_TRUE((*Store().Open("x"))->ReadInto(4, out).IsOk());
  EXPECT_EQ(AsText(out), "456");
  EXPECT_EQ((*Store().Open("x"))->ReadInto(8, out).GetCode(), Code::kCorruptData);
}

TEST_F(S3StoreTest, ReadsRangesSideBySideAndNeighboursInOneRequest) {
  Answering([](const SentRequest &sent) -> aws::S3Reply {
    if (sent.url.ends_with("/missing")) return S3Answer(404, "NoSuchKey");
    return aws::RangeOf("0123456789", sent);
  });
  std::string out(8, '?');
  std::vector<SpanSink> sinks;
  for (size_t i = 0; i < 4; ++i) {
    sinks.emplace_back(MutableByteSpan(reinterpret_cast<std::byte *>(&out[2 * i]), 2));
  }
  const std::vector<Status> read =
      Store().ReadRanges(std::vector<RangeRead>{{"x", 6, 2, &sinks[0]},
                                                {"x", 1, 2, &sinks[1]},
                                                {"missing", 0, 2, &sinks[2]},
                                                {"y", 3, 2, &sinks[3]}});
  ASSERT_THAT(read, SizeIs(4));
  EXPECT_TRUE(read[0].IsOk() && read[1].IsOk() && read[3].IsOk());
  EXPECT_EQ(read[2].GetCode(), Code::kNotFound);
  EXPECT_EQ(out, "6712??34");
  EXPECT_THAT(Sent(), SizeIs(3));
  EXPECT_EQ(http_->MostUnderWay(), 3);
}

TEST_F(S3StoreTest, ReadsTexts) {
  Answering([](const SentRequest &sent) {
    return Answer(200, sent.url.substr(sent.url.rfind('/') + 1));
  });
  EXPECT_EQ(Store().ReadText("x", 10).GetStatus().GetCode(), Code::kOk);
  EXPECT_EQ(Store().ReadText("x", 0).GetStatus().GetCode(), Code::kUnsupported);
  const std::vector<std::string> names = {"1", "2", "3"};
  const auto texts = Store().ReadTexts(names);
  ASSERT_THAT(texts, SizeIs(3));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(*texts[i], names[i]);
  EXPECT_EQ(http_->MostUnderWay(), 3);
}

TEST_F(S3StoreTest, TellsWhenAFileWasWritten) {
  Replying({Answer(200, "", Head("1")), Answer(404), S3Answer(403, "AccessDenied")});
  EXPECT_EQ(**Store().ModifiedAt("x"), 1'000'000);
  EXPECT_FALSE(*Store().Exists("x"));
  EXPECT_EQ(Store().Exists("x").GetStatus().GetCode(), Code::kPermission);
}

TEST_F(S3StoreTest, ListsOneFolder) {
  Replying({Keys({"a/trial/c/", "a/trial/c/1", "a/trial/c/2"}), Keys({})});
  EXPECT_THAT(*Store().List("c"), ElementsAre("c/1", "c/2")) << "not what shows the folder";
  EXPECT_THAT(Asked(), HasSubstr("delimiter=%2F"));
  EXPECT_THAT(Asked(), HasSubstr("&prefix=a%2Ftrial%2Fc%2F"));
  EXPECT_THAT(*Store().List(""), IsEmpty());
  EXPECT_THAT(Asked(1), HasSubstr("&prefix=a%2Ftrial%2F"));
}

TEST_F(S3StoreTest, FollowsAFolderFromWhereItIsSettled) {
  Answering([](const SentRequest &) { return Keys({"a/trial/e/", "a/trial/e/0/2"}); });
  const auto listing = Store().Follow("e");
  EXPECT_THAT(*listing->Next(), ElementsAre("e/0/2"));
  EXPECT_THAT(Asked(0), Not(HasSubstr("start-after")));
  EXPECT_THAT(Asked(0), Not(HasSubstr("delimiter")));
  EXPECT_THAT(Asked(0), HasSubstr("&prefix=a%2Ftrial%2Fe%2F"));
  listing->Settle("e/0/2");
  EXPECT_THAT(*listing->Next(), ElementsAre("e/0/2"));
  EXPECT_THAT(Asked(1), HasSubstr("&start-after=a%2Ftrial%2Fe%2F0%2F2"));
  listing->Settle("e/0/1");
  EXPECT_TRUE(listing->Next().IsOk());
  EXPECT_THAT(Asked(2), HasSubstr("&start-after=a%2Ftrial%2Fe%2F0%2F2")) << "never back";
}

TEST_F(S3StoreTest, AListingThatFailsMaySucceedLater) {
  const auto listing = Store().Follow("e");
  Replying({S3Answer(404, "NoSuchBucket"), Keys({"a/trial/e/0/1"})});
  EXPECT_EQ(listing->Next().GetStatus().GetCode(), Code::kBucketNotFound);
  EXPECT_THAT(*listing->Next(), ElementsAre("e/0/1"));
}

TEST_F(S3StoreTest, AFileIsThereAtItsCommit) {
  Replying({Answer(200)});
  const auto file = *Store().Create("x");
  const std::array pieces = {Piece{nullptr, AsBytes("te")}, Piece{nullptr, AsBytes("xt")}};
  ASSERT_TRUE(file->Append(pieces).IsOk());
  EXPECT_THAT(Sent(), IsEmpty());
  ASSERT_TRUE(file->Commit(true).IsOk());
  EXPECT_EQ(Sent(0).body, "text");
}

TEST_F(S3StoreTest, RemovesAFile) {
  Replying({Answer(204)});
  EXPECT_TRUE(Store().Remove("x").IsOk());
  EXPECT_EQ(Asked(), "DELETE /a/trial/x");
}

TEST_F(S3StoreTest, IsWatchedByTimeUntilWoken) {
  const auto watcher = Store().Watch();
  watcher->Wait(Clock::Duration::zero());
  watcher->Wait(std::chrono::seconds(-1));
  watcher->Wait(std::chrono::milliseconds(1));
  watcher->Wake();
  watcher->Wait(std::chrono::hours(1));
  watcher->Wait(std::chrono::hours(1));
}

TEST_F(S3StoreTest, OneProcessRecords) {
  auto claim = Store().Acquire(".lock");
  ASSERT_TRUE(claim.IsOk());
  EXPECT_NE(*claim, nullptr);
  S3Store same(SharedClient(), "a/trial");
  EXPECT_EQ(*same.Acquire(".lock"), nullptr);
  EXPECT_NE(*same.Acquire(".other"), nullptr);
  S3Store other(SharedClient(), "another");
  EXPECT_NE(*other.Acquire(".lock"), nullptr);
  *claim = nullptr;
  EXPECT_NE(*same.Acquire(".lock"), nullptr);
  EXPECT_EQ(log_, "");
}

TEST_F(S3StoreTest, TheSameBucketOfAnotherServiceIsAnother) {
  const auto claim = Store().Acquire(".lock");
  parts_.settings.endpoint = "https://other.test";
  S3Store other(*aws::S3Client::Open(parts_), "a/trial");
  EXPECT_NE(*other.Acquire(".lock"), nullptr);
}

TEST_F(S3StoreTest, RecordsWhereNoClaimCanBe) {
  environment_.Set("TMPDIR", "/dev/null/none");
  const auto claim = Store().Acquire(".lock");
  ASSERT_TRUE(claim.IsOk());
  EXPECT_NE(*claim, nullptr);
  EXPECT_THAT(log_, HasSubstr("cannot see whether another process records there"));
}

// ---- opening

class S3OpeningTest : public testing::Test {
 protected:
  Result<std::shared_ptr<aws::S3Client>> Open() { return OpenS3Client("bucket", options_, {}); }
  std::string Failure() {
    const Status status = Open().GetStatus();
    EXPECT_EQ(status.GetCode(), Code::kInvalidConfig);
    EXPECT_THAT(status.Message(), Not(HasSubstr("HUSH")));
    return status.Message();
  }
  std::string Base() {
    const auto client = Open();
    return client.IsOk() ? (*client)->Endpoint().Base() : client.GetStatus().Message();
  }

  AwsEnvironment environment_;
  StoreOptions options_;
};

TEST_F(S3OpeningTest, TakesAUrl) {
  const auto store = S3Store::At("s3://bucket//a/b/", options_, {});
  ASSERT_TRUE(store.IsOk());
  EXPECT_EQ((*store)->Location(), "s3://bucket/a/b");
  EXPECT_EQ((*S3Store::At("s3://bucket", options_, {}))->Location(), "s3://bucket");
  EXPECT_EQ(S3Store::At("s3://Bucket", options_, {}).GetStatus().GetCode(), Code::kInvalidArgument);
  EXPECT_EQ(S3Store::At("s3:/bucket", options_, {}).GetStatus().GetCode(), Code::kInvalidArgument);
}

TEST_F(S3OpeningTest, TakesTheOptions) {
  options_.region = "eu-west-1";
  EXPECT_EQ(Base(), "https://bucket.s3.eu-west-1.amazonaws.com");
  options_.addressing = "path";
  EXPECT_EQ(Base(), "https://s3.eu-west-1.amazonaws.com/bucket");
  options_.endpoint = "http://host:9000";
  options_.addressing = "virtual";
  EXPECT_EQ(Base(), "http://bucket.host:9000");
  options_.addressing = "auto";
  EXPECT_EQ(Base(), "http://host:9000/bucket");
}

TEST_F(S3OpeningTest, TakesWhatTheRequestsNeed) {
  options_.access_key = "AKID";
  options_.secret_key = "SECRETHUSH";
  options_.session_token = "TOKENHUSH";
  options_.signs_payload = false;
  options_.connect_time = std::chrono::seconds(1);
  options_.first_byte_time = std::chrono::seconds(2);
  options_.stall_time = std::chrono::seconds(4);
  options_.max_attempts = 7;
  const auto client = Open();
  ASSERT_TRUE(client.IsOk());
  const aws::S3Parts &parts = (*client)->Parts();
  const auto credentials = parts.credentials->Get();
  ASSERT_TRUE(credentials.IsOk());
  EXPECT_EQ(credentials->access_key, "AKID");
  EXPECT_EQ(credentials->session_token, "TOKENHUSH");
  EXPECT_FALSE(parts.signs_payload);
  EXPECT_EQ(parts.timeouts.connect, std::chrono::seconds(1));
  EXPECT_EQ(parts.timeouts.first_byte, std::chrono::seconds(2));
  EXPECT_EQ(parts.timeouts.stall, std::chrono::seconds(4));
  EXPECT_EQ(parts.retry.max_attempts, 7);
}

TEST_F(S3OpeningTest, HasDefaults) {
  const auto client = Open();
  ASSERT_TRUE(client.IsOk());
  const aws::S3Parts &parts = (*client)->Parts();
  EXPECT_TRUE(parts.signs_payload);
  EXPECT_EQ(parts.timeouts.connect, std::chrono::seconds(3));
  EXPECT_EQ(parts.timeouts.first_byte, std::chrono::seconds(10));
  EXPECT_EQ(parts.timeouts.stall, std::chrono::seconds(10));
  EXPECT_EQ(parts.retry.max_attempts, 3);
  EXPECT_EQ((*client)->Endpoint().region, "us-east-1");
}

TEST_F(S3OpeningTest, TakesTheEnvironmentAndTheProfile) {
  environment_.Folder().Write("config",
                              "[default]\nregion = eu-west-3\n[profile x]\nregion = eu-north-1\n"
                              "endpoint_url = http://profile:1\n");
  EXPECT_EQ(Base(), "https://bucket.s3.eu-west-3.amazonaws.com");
  environment_.Set("AWS_REGION", "eu-west-2");
  EXPECT_EQ(Base(), "https://bucket.s3.eu-west-2.amazonaws.com");
  environment_.Set("SMDEBUG_S3_REGION", "eu-west-1");
  EXPECT_EQ(Base(), "https://bucket.s3.eu-west-1.amazonaws.com");
  options_.profile = "x";
  EXPECT_EQ(Base(), "http://profile:1/bucket");
  environment_.Set("AWS_ENDPOINT_URL_S3", "http://variable:1");
  EXPECT_EQ(Base(), "http://variable:1/bucket");
  environment_.Set("SMDEBUG_S3_ENDPOINT", "http://own:1");
  EXPECT_EQ(Base(), "http://own:1/bucket");
  environment_.Set("AWS_MAX_ATTEMPTS", "5");
  EXPECT_EQ((*Open())->Parts().retry.max_attempts, 5);
  environment_.Set("SMDEBUG_S3_MAX_ATTEMPTS", "9");
  EXPECT_EQ((*Open())->Parts().retry.max_attempts, 9);
}

TEST_F(S3OpeningTest, SaysWhatIsWrong) {
  environment_.Set("AWS_MAX_ATTEMPTS", "many");
  EXPECT_THAT(Failure(), HasSubstr("AWS_MAX_ATTEMPTS"));
  environment_.Set("AWS_MAX_ATTEMPTS", "3");
  environment_.Set("SMDEBUG_S3_ADDRESSING", "none");
  EXPECT_THAT(Failure(), HasSubstr("SMDEBUG_S3_ADDRESSING"));
  environment_.Set("SMDEBUG_S3_ADDRESSING", "auto");
  options_.region = "Europe";
  EXPECT_THAT(Failure(), HasSubstr("region 'Europe'"));
  options_.region = "";
  options_.endpoint = "http://user:PASSHUSH@host";
  EXPECT_THAT(Failure(), HasSubstr("S3 endpoint"));
}

}  // namespace
}  // namespace smdebug::storage::s3_store_test
