#include "aws/s3_fixture.h"
#include "aws/s3_objects.h"

namespace smdebug::aws::s3_listing_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class S3ListingTest : public S3Fixture {
 protected:
  static net::Response Page(const std::vector<std::string> &keys, std::string_view token = "",
                            std::string_view more = "") {
    std::string text = StrCat("<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3/\">",
                              "<IsTruncated>", token.empty() ? "false" : "true", "</IsTruncated>");
    for (const std::string &key : keys) {
      text += StrCat("<Contents><Size>1</Size><Key>", key, "</Key></Contents>");
    }
    if (!token.empty())
      text += StrCat("<NextContinuationToken>", token, "</NextContinuationToken>");
    return Answer(200, StrCat(text, more, "</ListBucketResult>"));
  }

  Result<std::vector<std::string>> List(const ListQuery &query = {.prefix = "p/"}) {
    auto keys = ListKeys(Client(), query);
    (void)MessageOf(keys.GetStatus());
    return keys;
  }
  Status Failure() {
    const auto keys = List();
    EXPECT_FALSE(keys.IsOk());
    return keys.GetStatus();
  }
};

TEST_F(S3ListingTest, RequestsKeysByPrefix) {
  Replying({Page({"p/a", "p/b"})});
  EXPECT_THAT(*List(), ElementsAre("p/a", "p/b"));
  EXPECT_THAT(Lines(), ElementsAre("GET https://host.test/bucket/?encoding-type=url&list-type=2"
                                   "&max-keys=1000&prefix=p%2F"));
}

TEST_F(S3ListingTest, RequestsLaterKeysOfOneFolder) {
  ListQuery query{.prefix = "p/"};
  query.start_after = "p/a+b c";
  query.is_flat = true;
  Replying({Page({"p/b"}, "T"), Page({"p/c"})});
  EXPECT_THAT(*List(query), ElementsAre("p/b", "p/c"));
  EXPECT_THAT(Sent(0).url, HasSubstr("?delimiter=%2F&"));
  EXPECT_THAT(Sent(0).url, HasSubstr("&start-after=p%2Fa%2Bb%20c"));
  EXPECT_THAT(Sent(1).url, HasSubstr("delimiter=%2F"));
  EXPECT_THAT(Sent(1).url, Not(HasSubstr("start-after"))) << "the token knows";
}

TEST_F(S3ListingTest, ListsGroupsBetweenTheKeys) {
  ListQuery query{.prefix = "p/"};
  query.delimiter = "-";
  const std::string groups =
      "<CommonPrefixes><Prefix>p/a-</Prefix></CommonPrefixes>"
      "<CommonPrefixes><Prefix>p/c-</Prefix></CommonPrefixes>";
  Replying({Page({"p/b", "p/d"}, "T", groups), Page({"p/e"})});
  EXPECT_THAT(*List(query), ElementsAre("p/a-", "p/b", "p/c-", "p/d", "p/e"));
  EXPECT_THAT(Sent(0).url, HasSubstr("?delimiter=-&"));
}

TEST_F(S3ListingTest, FindsNothing) {
  Replying({Page({})});
  const auto keys = List();
  ASSERT_TRUE(keys.IsOk());
  EXPECT_THAT(*keys, IsEmpty());
}

TEST_F(S3ListingTest, SkipsFoldersAndUnknownElements) {
  Replying(
      {Page({"p/a"}, "",
            "<CommonPrefixes><Prefix>p/x/</Prefix></CommonPrefixes><New><Key>no</Key></New>")});
  EXPECT_THAT(*List(), ElementsAre("p/a"));
}

TEST_F(S3ListingTest, DecodesKeysIfTheyAreEncoded) {
  const std::vector<std::string> keys = {"p/a%2Bb+c", "p/d%25", "p/%E2%82%AC&amp;"};
  Replying({Page(keys, "", "<EncodingType>url</EncodingType>")});
  EXPECT_THAT(*List(), ElementsAre("p/a+b c", "p/d%", "p/\xE2\x82\xAC&"));
  Replying({Page(keys)});
  EXPECT_THAT(*List(), ElementsAre("p/a%2Bb+c", "p/d%25", "p/%E2%82%AC&"));
}

TEST_F(S3ListingTest, FollowsThePages) {
  std::vector<S3Reply> pages;
  for (int i = 100; i < 200; ++i) {
    pages.push_back(Page({StrCat("p/", i)}, i < 199 ? StrCat("T+", i) : ""));
  }
  Replying(pages);
  const auto keys = List();
  ASSERT_TRUE(keys.IsOk());
  EXPECT_THAT(*keys, SizeIs(100));
  EXPECT_EQ(keys->back(), "p/199");
  EXPECT_THAT(Sent(0).url, Not(HasSubstr("continuation")));
  EXPECT_THAT(Sent(1).url, HasSubstr("?continuation-token=T%2B100&"));
  EXPECT_THAT(Sent(99).url, HasSubstr("?continuation-token=T%2B198&"));
}

TEST_F(S3ListingTest, FollowsPagesWithoutKeys) {
  Replying({Page({}, "A"), Page({}, "B"), Page({"p/a"}, "C"), Page({})});
  EXPECT_THAT(*List(), ElementsAre("p/a"));
}

TEST_F(S3ListingTest, StopsWhenItHasEnough) {
  ListQuery query{.prefix = "p/"};
  query.most = 2;
  Replying({Page({"p/a"}, "A"), Page({"p/b"}, "B"), Page({"p/c"}, "C")});
  EXPECT_THAT(*List(query), SizeIs(2));
  EXPECT_THAT(Sent(), SizeIs(2));
  EXPECT_THAT(Sent(0).url, HasSubstr("max-keys=2&"));
  query.most = 5000;
  Replying({Page({"p/a"})});
  EXPECT_THAT(*List(query), SizeIs(1));
  EXPECT_THAT(Sent(2).url, HasSubstr("max-keys=1000&"));
}

TEST_F(S3ListingTest, KeysThatWereNotAskedForAreAnError) {
  Replying({Page({"p/a", "q\n"})});
  const Status failure = Failure();
  EXPECT_EQ(failure.GetCode(), Code::kCorruptData);
  EXPECT_THAT(failure.Message(), HasSubstr("s3://bucket/p/: listing failed"));
  EXPECT_THAT(failure.Message(), HasSubstr("'q?', which was not requested"));
}

TEST_F(S3ListingTest, ATruncatedPageNeedsAToken) {
  net::Response page = Page({"p/a"}, "T");
  const size_t token = page.body.find("<NextC");
  page.body.erase(token, page.body.find("</ListB") - token);
  Replying({page});
  const Status failure = Failure();
  EXPECT_EQ(failure.GetCode(), Code::kCorruptData);
  EXPECT_THAT(failure.Message(), HasSubstr("s3://bucket/p/: listing failed"));
  EXPECT_THAT(failure.Message(), HasSubstr("no continuation token"));
  EXPECT_EQ(*failure.Detail("path"), "s3://bucket/p/");
}

TEST_F(S3ListingTest, StopsAtARepeatedToken) {
  Answering([n = 0](const SentRequest &) mutable { return Page({StrCat("p/", ++n)}, "T"); });
  const Status failure = Failure();
  EXPECT_EQ(failure.GetCode(), Code::kCorruptData);
  EXPECT_THAT(failure.Message(), HasSubstr("does not end"));
  EXPECT_THAT(Sent(), SizeIs(2));
}

TEST_F(S3ListingTest, StopsAtARepeatedPage) {
  Answering([n = 0](const SentRequest &) mutable { return Page({"p/a", "p/b"}, StrCat(++n)); });
  EXPECT_EQ(Failure().GetCode(), Code::kCorruptData);
  EXPECT_THAT(Sent(), SizeIs(2));
}

TEST_F(S3ListingTest, StopsAtEndlessPagesWithoutKeys) {
  Answering([n = 0](const SentRequest &) mutable { return Page({}, StrCat(++n)); });
  EXPECT_EQ(Failure().GetCode(), Code::kCorruptData);
  EXPECT_THAT(Sent(), SizeIs(1000));
}

TEST_F(S3ListingTest, WhatIsNoListingIsCorrupt) {
  for (const char *body : {"", "garbage", "<html/>", "<ListBucketResult>", "<Error/>",
                           "<!DOCTYPE x><ListBucketResult/>", "{}"}) {
    Replying({Answer(200, body)});
    EXPECT_EQ(Failure().GetCode(), Code::kCorruptData) << body;
  }
  Replying({Page({"p/%zz"}, "", "<EncodingType>url</EncodingType>")});
  EXPECT_EQ(Failure().GetCode(), Code::kCorruptData) << "no encoding";
}

TEST_F(S3ListingTest, AMissingBucketIsNotEmpty) {
  Replying({S3Answer(404, "NoSuchBucket")});
  EXPECT_EQ(Failure().GetCode(), Code::kBucketNotFound);
  Replying({Answer(404)});
  EXPECT_EQ(Failure().GetCode(), Code::kNotFound);
}

TEST_F(S3ListingTest, FailsIfALaterPageDoes) {
  Replying({Page({"p/a"}, "T"), S3Answer(403, "AccessDenied")});
  EXPECT_EQ(Failure().GetCode(), Code::kPermission);
}

}  // namespace
}  // namespace smdebug::aws::s3_listing_test
