#include "aws/s3_call.h"

#include "aws/s3_fixture.h"
#include "net/http_date.h"

namespace smdebug::aws::s3_call_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

class S3CallTest : public S3Fixture {
 protected:
  static S3Request Get() {
    S3Request request{.action = "reading"};
    request.key = "key";
    return request;
  }
  static S3Request Head() {
    S3Request request = Get();
    request.method = "HEAD";
    return request;
  }

  Result<net::Response> Send(S3Request request) { return Call(Client(), std::move(request)); }
  Status Failure(S3Request request) {
    const Status failure = Send(std::move(request)).GetStatus();
    (void)MessageOf(failure);
    return failure;
  }
  Code CodeOf(S3Request request) { return Failure(std::move(request)).GetCode(); }
  double Elapsed() { return clock_.WallSeconds() - 1'000'000; }
};

// ---- retries

TEST_F(S3CallTest, ReturnsTheAnswer) {
  Replying({Answer(200, "text")});
  const auto response = Send(Get());
  ASSERT_TRUE(response.IsOk());
  EXPECT_EQ(response->body, "text");
  EXPECT_THAT(Lines(), testing::ElementsAre("GET https://host.test/bucket/key"));
  EXPECT_EQ(Elapsed(), 0);
}

TEST_F(S3CallTest, StartsBeforeWait) {
  Replying({Answer(200)});
  S3Call call(Client(), Get());
  EXPECT_EQ(http_->UnderWay(), 1);
  EXPECT_TRUE(call.Wait().IsOk());
}

TEST_F(S3CallTest, CanBeCancelled) {
  { const S3Call call(Client(), Get()); }
  EXPECT_EQ(http_->UnderWay(), 0);
}

TEST_F(S3CallTest, RetriesTransientFailures) {
  for (const S3Reply &first :
       {S3Reply(Answer(500)), S3Reply(Answer(502)), S3Reply(Answer(503)), S3Reply(Answer(504)),
        S3Reply(S3Answer(400, "RequestTimeout")), S3Reply(S3Answer(500, "InternalError")),
        S3Reply(NobodyThere()), S3Reply(Status(Code::kTimeout, "slow")), Cut(Answer(200, "x"))}) {
    const double before = Elapsed();
    const size_t sent = Sent().size();
    Replying({first, Answer(200, "ok")});
    EXPECT_TRUE(Send(Get()).IsOk()) << first.answer.body;
    EXPECT_EQ(Sent().size(), sent + 2);
    EXPECT_NEAR(Elapsed() - before, 0.025, 1e-6) << "half of 50 ms";
  }
}

TEST_F(S3CallTest, RetriesThrottledRequestsLater) {
  for (const net::Response &first :
       {S3Answer(503, "SlowDown"), Answer(429), S3Answer(400, "Throttling")}) {
    const double before = Elapsed();
    Replying({first, Answer(200)});
    EXPECT_TRUE(Send(Get()).IsOk());
    EXPECT_NEAR(Elapsed() - before, 0.5, 1e-6) << "half a second";
  }
}

TEST_F(S3CallTest, DoesNotRetryPermanentFailures) {
  for (const S3Reply &only :
       {S3Reply(S3Answer(403, "AccessDenied")), S3Reply(S3Answer(404, "NoSuchKey")),
        S3Reply(Answer(302)), S3Reply(Answer(400)), S3Reply(Status(Code::kTls, "bad certificate")),
        S3Reply(Status(Code::kAfterFork, "fork")), S3Reply(Status(Code::kOutOfMemory, "full"))}) {
    const size_t sent = Sent().size();
    Replying({only, Answer(200)});
    EXPECT_FALSE(Send(Get()).IsOk());
    EXPECT_EQ(Sent().size(), sent + 1);
  }
  EXPECT_EQ(Elapsed(), 0);
}

TEST_F(S3CallTest, StopsAfterItsAttempts) {
  const Status nobody = Failure(Get());
  EXPECT_EQ(nobody.GetCode(), Code::kNetwork);
  EXPECT_EQ(nobody.Message(),
            "s3://bucket/key: reading failed (3 attempts): h:80: connecting failed");
  EXPECT_EQ(*nobody.Detail("path"), "s3://bucket/key");
  EXPECT_EQ(*nobody.Detail("cause"), "connect");
  EXPECT_EQ(Sent().size(), 3U);
  EXPECT_NEAR(Elapsed(), 0.025 + 0.05, 1e-6) << "the second delay is twice as long";
}

TEST_F(S3CallTest, TakesTheNumberOfAttemptsFromThePolicy) {
  parts_.retry.max_attempts = 1;
  EXPECT_EQ(Failure(Get()).Message(), "s3://bucket/key: reading failed: h:80: connecting failed");
  EXPECT_EQ(Sent().size(), 1U);
}

TEST_F(S3CallTest, StopsWhenTheBudgetIsUsedUp) {
  parts_.retry.max_attempts = 100;
  EXPECT_EQ(CodeOf(Get()), Code::kNetwork);
  EXPECT_EQ(Sent().size(), 1U + 500 / 14);
  EXPECT_EQ(CodeOf(Get()), Code::kNetwork);
  EXPECT_EQ(Sent().size(), 2U + 500 / 14) << "no retry any more";
}

TEST_F(S3CallTest, ASuccessRefundsTheBudget) {
  Replying({Answer(500), Answer(200)});
  EXPECT_TRUE(Send(Get()).IsOk());
  EXPECT_EQ(Client().Budget().Left(), RetryBudget::kCapacity);
}

TEST_F(S3CallTest, WaitsAsLongAsTheServiceRequests) {
  Replying({Answer(503, "", {{"x-amz-retry-after", "1500"}}), Answer(200)});
  EXPECT_TRUE(Send(Get()).IsOk());
  EXPECT_NEAR(Elapsed(), 1.5, 1e-6);
}

TEST_F(S3CallTest, WaitsLittleLongerThanItWouldHave) {
  Replying({Answer(503, "", {{"x-amz-retry-after", "600000"}}), Answer(200)});
  EXPECT_TRUE(Send(Get()).IsOk());
  EXPECT_NEAR(Elapsed(), 5.025, 1e-6);
}

TEST_F(S3CallTest, FailsAsTheProviderDoes) {
  credentials_->failure = Status(Code::kCredentials, "nobody has any");
  EXPECT_EQ(Failure(Get()).Message(), "s3://bucket/key: reading failed: nobody has any");
  EXPECT_EQ(CodeOf(Get()), Code::kCredentials);
  EXPECT_TRUE(Sent().empty());
}

TEST_F(S3CallTest, SignsEachAttempt) {
  Replying({S3Answer(503, "SlowDown"), S3Answer(503, "SlowDown"), Answer(200)});
  parts_.random = [] { return 0.999; };
  EXPECT_TRUE(Send(Get()).IsOk());
  EXPECT_EQ(Sent(0).Header("x-amz-date"), "19700112T134640Z");
  EXPECT_EQ(Sent(2).Header("x-amz-date"), "19700112T134642Z");
  EXPECT_NE(Sent(0).Header("authorization"), Sent(2).Header("authorization"));
}

// ---- checksums

TEST_F(S3CallTest, APutHasTheChecksumOfItsBody) {
  Replying({Answer(500), Answer(200)});
  S3Request request = Get();
  request.method = "PUT";
  request.body = {AsBytes("12345"), AsBytes("6789")};
  EXPECT_TRUE(Send(std::move(request)).IsOk());
  for (const size_t attempt : {size_t{0}, size_t{1}}) {
    EXPECT_EQ(Sent(attempt).Header("x-amz-checksum-crc32c"), "4waSgw==");
    EXPECT_EQ(Sent(attempt).body, "123456789");
    EXPECT_THAT(Sent(attempt).Header("authorization"), HasSubstr("x-amz-checksum-crc32c"));
    EXPECT_EQ(Sent(attempt).Header("x-amz-content-sha256"),
              "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225");
  }
}

TEST_F(S3CallTest, NoOtherMethodHasAChecksum) {
  Answering([](const SentRequest &) { return Answer(200); });
  for (const char *method : {"GET", "HEAD", "POST", "DELETE"}) {
    S3Request request = Get();
    request.method = method;
    EXPECT_TRUE(Send(std::move(request)).IsOk());
    EXPECT_EQ(Sent().back().Header("x-amz-checksum-crc32c"), "(none)") << method;
  }
}

// ---- region

class S3CallRegionTest : public S3CallTest {
 protected:
  static net::Response Moved(int status, const std::string &region) {
    return Answer(status, "", {{"x-amz-bucket-region", region}});
  }
  static std::string RegionOf(const SentRequest &sent) {
    const std::string text = sent.Header("authorization");
    const size_t begin = text.find("/19700112/") + 10;
    return text.substr(begin, text.find('/', begin) - begin);
  }
};

TEST_F(S3CallRegionTest, IsCorrected) {
  const std::string inner = "<Region>eu-west-1</Region>";
  for (const net::Response &answer :
       {Moved(301, "eu-west-1"), Moved(307, "eu-west-1"), S3Answer(301, "PermanentRedirect", inner),
        S3Answer(307, "TemporaryRedirect", inner),
        S3Answer(400, "AuthorizationHeaderMalformed", inner),
        S3Answer(400, "IllegalLocationConstraintException", inner)}) {
    auto client = S3Client::Open(parts_);
    ASSERT_TRUE(client.IsOk());
    const size_t before = Sent().size();
    Replying({answer, Answer(200)});
    EXPECT_TRUE(Call(**client, Get()).IsOk());
    ASSERT_EQ(Sent().size(), before + 2);
    EXPECT_EQ(RegionOf(Sent(before)), "us-east-1");
    EXPECT_EQ(RegionOf(Sent(before + 1)), "eu-west-1");
    EXPECT_EQ((*client)->Endpoint().region, "eu-west-1") << "for all later calls";
  }
  EXPECT_EQ(Elapsed(), 0);
}

TEST_F(S3CallRegionTest, AHeadReadsItFromAHeader) {
  Replying({Moved(400, "eu-west-1"), Answer(200)});
  EXPECT_TRUE(Send(Head()).IsOk());
  EXPECT_EQ(RegionOf(Sent(1)), "eu-west-1");
}

TEST_F(S3CallRegionTest, IsNotCorrectedIfTheServiceDoesNotReportIt) {
  Replying({Answer(301)});
  EXPECT_EQ(CodeOf(Get()), Code::kWrongRegion);
  Replying({Moved(400, "eu-west-1")});
  EXPECT_EQ(CodeOf(Get()), Code::kIo) << "only a HEAD has no reason in its body";
  Replying({Moved(403, "eu-west-1")});
  EXPECT_EQ(CodeOf(Head()), Code::kPermission);
  EXPECT_EQ(Sent().size(), 3U);
  EXPECT_EQ(Client().Endpoint().region, "us-east-1");
}

TEST_F(S3CallRegionTest, IsCorrectedOnlyOnce) {
  Answering([](const SentRequest &) { return Moved(301, "eu-west-1"); });
  const Status failure = Failure(Get());
  EXPECT_EQ(failure.GetCode(), Code::kWrongRegion);
  EXPECT_THAT(failure.Message(), HasSubstr("set the region to eu-west-1"));
  EXPECT_EQ(Sent().size(), 2U);
}

TEST_F(S3CallRegionTest, IsNotCorrectedToAnInvalidRegion) {
  parts_.settings.endpoint = "";
  for (const char *region : {"evil.test/", "us-east-1.evil", "a b", "-x", "EU"}) {
    Replying({Moved(301, region), Answer(200)});
    EXPECT_EQ(CodeOf(Get()), Code::kWrongRegion) << region;
  }
  for (const SentRequest &sent : Sent()) {
    EXPECT_THAT(sent.url, StartsWith("https://bucket.s3.us-east-1.amazonaws.com/"));
  }
}

TEST_F(S3CallRegionTest, IsNotCorrectedToAnEndlessName) {
  Replying({Moved(301, std::string(1 << 20, 'x')), Answer(200)});
  const Status failure = Failure(Get());
  EXPECT_EQ(failure.GetCode(), Code::kWrongRegion);
  EXPECT_LT(failure.Message().size(), 500U);
}

TEST_F(S3CallRegionTest, IgnoresLocationHeaders) {
  Replying({Answer(307, "", {{"location", "https://evil.test/"}}), Answer(200)});
  EXPECT_EQ(CodeOf(Get()), Code::kWrongRegion);
  EXPECT_EQ(Sent().size(), 1U);
}

TEST_F(S3CallRegionTest, MayBeCorrectedByAnotherCall) {
  Replying({Moved(301, "eu-west-1"), Answer(200)});
  S3Call call(Client(), Get());
  EXPECT_TRUE(Client().MoveTo("eu-west-1"));
  EXPECT_TRUE(call.Wait().IsOk());
}

// ---- clock

class S3CallClockTest : public S3CallTest {
 protected:
  // The service's clock is an hour ahead.
  static std::vector<net::Header> Date() { return {{"date", "Mon, 12 Jan 1970 14:46:40 GMT"}}; }
  static net::Response Skewed(std::string_view code) {
    net::Response answer = S3Answer(403, code);
    answer.headers = Date();
    return answer;
  }
};

TEST_F(S3CallClockTest, IsCorrected) {
  for (const char *code : {"RequestTimeTooSkewed", "RequestExpired"}) {
    auto client = S3Client::Open(parts_);
    ASSERT_TRUE(client.IsOk());
    Replying({Skewed(code), Answer(200)});
    EXPECT_TRUE(Call(**client, Get()).IsOk()) << code;
    EXPECT_EQ(Sent().back().Header("x-amz-date"), "19700112T144640Z");
    EXPECT_NEAR((*client)->Skew(), 3600, 1e-6);
  }
  EXPECT_THAT(log_, HasSubstr("s3://bucket: this machine's clock is wrong by 3600 seconds"));
}

TEST_F(S3CallClockTest, IsCorrectedForAHeadWithoutABody) {
  Replying({Answer(403, "", Date()), Answer(200)});
  EXPECT_TRUE(Send(Head()).IsOk());
  EXPECT_EQ(Sent(1).Header("x-amz-date"), "19700112T144640Z");
}

TEST_F(S3CallClockTest, IsNotCorrectedIfAHeadIsRefusedForAnotherReason) {
  Replying({Answer(403, "", {{"date", "Mon, 12 Jan 1970 13:50:00 GMT"}})});
  EXPECT_EQ(CodeOf(Head()), Code::kPermission) << "200 s are tolerated";
  Replying({Answer(403)});
  EXPECT_EQ(CodeOf(Head()), Code::kPermission) << "no date";
  EXPECT_EQ(Sent().size(), 2U);
  EXPECT_EQ(Client().Skew(), 0);
}

TEST_F(S3CallClockTest, IsNotCorrectedIfAGetIsRefused) {
  Replying({Answer(403, "", Date())});
  EXPECT_EQ(CodeOf(Get()), Code::kPermission);
  EXPECT_EQ(Client().Skew(), 0);
}

TEST_F(S3CallClockTest, IsCorrectedOnlyOnce) {
  Answering([](const SentRequest &) { return Skewed("RequestTimeTooSkewed"); });
  EXPECT_EQ(CodeOf(Get()), Code::kClockSkewed);
  EXPECT_EQ(Sent().size(), 2U);
}

TEST_F(S3CallClockTest, NeedsADate) {
  Replying({S3Answer(403, "RequestTimeTooSkewed")});
  EXPECT_EQ(CodeOf(Get()), Code::kClockSkewed);
  net::Response answer = S3Answer(403, "RequestTimeTooSkewed");
  answer.headers = {{"date", "some time ago"}};
  Replying({answer});
  EXPECT_EQ(CodeOf(Get()), Code::kClockSkewed);
  EXPECT_EQ(Sent().size(), 2U);
}

TEST_F(S3CallClockTest, AnAbsurdDateIsNotBelieved) {
  net::Response answer = S3Answer(403, "RequestTimeTooSkewed");
  answer.headers = {{"date", "Fri, 31 Dec 9999 23:59:59 GMT"}};
  Replying({answer});
  EXPECT_EQ(CodeOf(Get()), Code::kClockSkewed);
  EXPECT_EQ(Sent().size(), 1U);
  EXPECT_EQ(Client().Skew(), 0);
}

// ---- credentials

TEST_F(S3CallTest, RenewsExpiredCredentialsOnce) {
  for (const char *code : {"ExpiredToken", "TokenRefreshRequired", "ExpiredTokenException"}) {
    const size_t before = Sent().size();
    Replying({S3Answer(400, code), Answer(200)});
    EXPECT_TRUE(Send(Get()).IsOk()) << code;
    EXPECT_NE(Sent(before).Header("x-amz-security-token"),
              Sent(before + 1).Header("x-amz-security-token"));
  }
  EXPECT_EQ(credentials_->refusals, 3);
  Answering([](const SentRequest &) { return S3Answer(400, "ExpiredToken"); });
  const size_t before = Sent().size();
  EXPECT_EQ(CodeOf(Get()), Code::kCredentialsExpired);
  EXPECT_EQ(Sent().size(), before + 2);
}

TEST_F(S3CallTest, DoesNotSendTheSameExpiredCredentialsAgain) {
  credentials_->can_renew = false;
  Replying({S3Answer(400, "ExpiredToken"), Answer(200)});
  const Status failure = Failure(Get());
  EXPECT_EQ(failure.GetCode(), Code::kCredentialsExpired);
  EXPECT_THAT(failure.Message(), HasSubstr("renew the credentials of the test"));
  EXPECT_EQ(Sent().size(), 1U);
}

TEST_F(S3CallTest, CorrectsAllThreeInOneCall) {
  net::Response skewed = S3Answer(403, "RequestTimeTooSkewed");
  skewed.headers = {{"date", "Mon, 12 Jan 1970 14:46:40 GMT"}};
  Replying({S3Answer(400, "ExpiredToken"),
            S3Answer(400, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"), skewed,
            Answer(500), Answer(200)});
  EXPECT_TRUE(Send(Get()).IsOk());
}

TEST_F(S3CallTest, QuotesNoSecretThatTheServiceRepeats) {
  for (const char *secret : {"SECRETHUSH", "TOKENHUSH1"}) {
    Replying({Answer(403,
                     StrCat("<Error><Code>", secret, "</Code><Message>not ", secret, "!</Message>",
                            "<RequestId>", secret, "</RequestId></Error>"),
                     {{"x-amz-bucket-region", secret}})});
    EXPECT_EQ(CodeOf(Get()), Code::kPermission);
  }
}

// ---- late failures

TEST_F(S3CallTest, ASuccessMayContainAnError) {
  S3Request request = Get();
  request.method = "POST";
  request.may_fail_late = true;
  for (const std::string &body :
       {S3Answer(200, "InternalError").body, std::string("<Error/>"), std::string(),
        std::string("<"), std::string("<html>proxy</html>"), S3Answer(200, "SECRETHUSH").body}) {
    const size_t before = Sent().size();
    Replying({Answer(200, body), Answer(200, "<SomeResult/>")});
    EXPECT_TRUE(Send(request).IsOk()) << body;
    EXPECT_EQ(Sent().size(), before + 2) << body;
  }
  Replying({S3Answer(200, "AccessDenied")});
  EXPECT_EQ(CodeOf(request), Code::kPermission);
}

TEST_F(S3CallTest, AnObjectMayLookLikeAnError) {
  Replying({S3Answer(200, "InternalError")});
  EXPECT_TRUE(Send(Get()).IsOk());
}

}  // namespace
}  // namespace smdebug::aws::s3_call_test
