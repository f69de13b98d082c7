#include "storage/bucket.h"

#include "aws/s3_fixture.h"
#include "storage/aws_environment.h"

namespace smdebug::storage::bucket_test {
namespace {

using aws::Answer;
using aws::RangeOf;
using aws::S3Answer;
using aws::SentRequest;
using testing::ElementsAre;
using testing::HasSubstr;

class BucketTest : public aws::S3Fixture {
 protected:
  Bucket Opened() { return Bucket(SharedClient()); }
  // Serves one object.
  void Holding(const std::string &content) {
    Answering([content](const SentRequest &sent) -> aws::S3Reply {
      if (sent.method == "HEAD") {
        return Answer(200, "", {{"content-length", StrCat(content.size())}});
      }
      return sent.Header("range").starts_with("bytes=") ? RangeOf(content, sent)
                                                        : Answer(200, content);
    });
  }

  AwsEnvironment environment_;
};

TEST_F(BucketTest, IsOpenedByItsName) {
  EXPECT_TRUE(Bucket::Open("bucket", {}, {}).IsOk());
  for (const char *name : {"", "No_Bucket", "bucket/prefix", "s3://bucket"}) {
    EXPECT_EQ(Bucket::Open(name, {}, {}).GetStatus().GetCode(), Code::kInvalidArgument) << name;
  }
}

TEST_F(BucketTest, ListsKeysAsTheyAre) {
  Replying({Answer(200,
                   "<ListBucketResult><Contents><Key>a/</Key></Contents>"
                   "<Contents><Key>a//b</Key></Contents></ListBucketResult>")});
  const auto keys = Opened().List({.prefix = "a", .start_after = "A", .delimiter = ""});
  EXPECT_THAT(*keys, ElementsAre("a/", "a//b"));
  EXPECT_THAT(Sent(0).url, HasSubstr("&prefix=a&start-after=A"));
}

TEST_F(BucketTest, ReadsAWholeObjectByOneRequest) {
  Holding("content");
  const auto text = Opened().Read("k", 0, {});
  ASSERT_TRUE(text.IsOk()) << text.GetStatus().Message();
  EXPECT_EQ(*text, "content");
  EXPECT_EQ(Sent().size(), 1U);
}

TEST_F(BucketTest, ReadsRangesAndStopsAtTheEnd) {
  Holding("content");
  const Bucket bucket = Opened();
  EXPECT_EQ(*bucket.Read("k", 3, 2), "te");
  EXPECT_EQ(Sent().size(), 1U);
  EXPECT_EQ(*bucket.Read("k", 3, 100), "tent");
  EXPECT_EQ(*bucket.Read("k", 3, {}), "tent");
  EXPECT_EQ(*bucket.Read("k", 3, uint64_t{1} << 40), "tent") << "no memory for what is not there";
  EXPECT_EQ(*bucket.Read("k", 7, 1), "");
  EXPECT_EQ(*bucket.Read("k", 100, {}), "");
  EXPECT_EQ(*bucket.Read("k", 3, 0), "");
}

TEST_F(BucketTest, RefusesToReadMoreThanItsLimit) {
  Answering([](const SentRequest &sent) -> aws::S3Reply {
    if (sent.method != "HEAD") return Answer(416);
    return Answer(200, "", {{"content-length", StrCat(Bucket::kMostBytes + 2)}});
  });
  EXPECT_EQ(Opened().Read("k", 1, {}).GetStatus().GetCode(), Code::kUnsupported);
}

TEST_F(BucketTest, ReportsAMissingObject) {
  Answering([](const SentRequest &) { return S3Answer(404, "NoSuchKey"); });
  EXPECT_EQ(Opened().Read("k", 0, {}).GetStatus().GetCode(), Code::kNotFound);
  EXPECT_EQ(Opened().Read("k", 2, {}).GetStatus().GetCode(), Code::kNotFound);
  EXPECT_FALSE(Opened().SizeOf("k")->has_value());
  EXPECT_TRUE(Opened().Remove("k").IsOk());
}

TEST_F(BucketTest, WritesAnObject) {
  Replying({Answer(200), Answer(200), Answer(204)});
  const Bucket bucket = Opened();
  EXPECT_TRUE(bucket.Write("a/k", AsBytes("text")).IsOk());
  EXPECT_TRUE(bucket.Write("empty", {}).IsOk());
  EXPECT_TRUE(bucket.Remove("a/k").IsOk());
  EXPECT_THAT(Lines(),
              ElementsAre("PUT https://host.test/bucket/a/k", "PUT https://host.test/bucket/empty",
                          "DELETE https://host.test/bucket/a/k"));
  EXPECT_EQ(Sent(0).body, "text");
}

}  // namespace
}  // namespace smdebug::storage::bucket_test
