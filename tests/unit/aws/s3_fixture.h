// An S3 service with answers of the test's choice, and a client.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aws/fake_http.h"
#include "aws/providers.h"
#include "aws/s3_client.h"
#include "base/fake_clock.h"
#include "base/mutex.h"
#include "base/strings.h"

namespace smdebug::aws {

// The reply of the network: a whole answer, or a truncated body.
struct S3Reply {
  S3Reply(net::Response whole) : answer(std::move(whole)) {}  // NOLINT(google-explicit-constructor)
  S3Reply(Status status) : failure(std::move(status)) {}      // NOLINT(google-explicit-constructor)

  net::Response answer;
  Status failure;  // occurs after the body of the answer, if any
};

inline net::Response Answer(int status, std::string body, std::vector<net::Header> headers) {
  net::Response response = Answer(status, std::move(body));
  response.headers = std::move(headers);
  return response;
}

inline net::Response S3Answer(int status, std::string_view code, std::string_view more = "") {
  return Answer(status, StrCat("<Error><Code>", code, "</Code><Message>It is so.</Message>", more,
                               "</Error>"));
}

// Returns the part of `content` that the range header "bytes=first-last" requests.
inline net::Response RangeOf(std::string_view content, const SentRequest &sent) {
  const std::string range = sent.Header("range");
  const size_t dash = range.find('-');
  if (!range.starts_with("bytes=") || dash == std::string::npos) return Answer(400);
  const auto first = static_cast<size_t>(ParseInt(range.substr(6, dash - 6)).value_or(0));
  const auto last = static_cast<size_t>(ParseInt(range.substr(dash + 1)).value_or(0));
  if (first >= content.size()) return Answer(416);
  const std::string part(content.substr(first, last - first + 1));
  return Answer(206, part,
                {{"content-range",
                  StrCat("bytes ", first, "-", first + part.size() - 1, "/", content.size())}});
}

inline S3Reply Cut(net::Response answer) {
  S3Reply reply(std::move(answer));
  reply.failure = Status(Code::kNetwork, "host.test:443: the body is cut").With("cause", "reset");
  return reply;
}

// Delivers only in Wait(), as late as a network may, and reads borrowed memory until the
// exchange is destroyed.  Safe from any thread.
class S3Http final : public net::Http {
 public:
  using Handler = std::function<S3Reply(const SentRequest &)>;

  std::unique_ptr<net::Exchange> Start(net::Request request) override {
    SentRequest sent{request.method, request.url, request.headers, "", request.may_use_proxy};
    for (const ByteSpan &piece : request.body) sent.body.append(AsText(piece));
    if (on_start_) on_start_(sent);
    const MutexLock lock(mutex_);
    sent_.push_back(sent);
    most_under_way_ = std::max(most_under_way_, ++under_way_);
    return std::make_unique<FakeExchange>(*this, std::move(request), std::move(sent));
  }

  void SetHandler(Handler handler) { handler_ = std::move(handler); }
  // `on_start` may throw, since Start() may.
  void SetOnStart(std::function<void(const SentRequest &)> on_start) {
    on_start_ = std::move(on_start);
  }
  std::vector<SentRequest> Sent() const {
    const MutexLock lock(mutex_);
    return sent_;
  }
  int UnderWay() const {
    const MutexLock lock(mutex_);
    return under_way_;
  }
  int MostUnderWay() const {
    const MutexLock lock(mutex_);
    return most_under_way_;
  }

 private:
  class FakeExchange final : public net::Exchange {
   public:
    FakeExchange(S3Http &http, net::Request request, SentRequest sent)
        : http_(http), request_(std::move(request)), sent_(std::move(sent)) {}
    ~FakeExchange() override {
      EXPECT_EQ(Lent(), sent_.body) << "the body changed during the request";
      if (request_.sink != nullptr) (void)request_.sink->Room();
      const MutexLock lock(http_.mutex_);
      --http_.under_way_;
    }

    Result<net::Response> Wait() override {
      EXPECT_EQ(Lent(), sent_.body) << "the body changed during the request";
      S3Reply reply = http_.handler_(sent_);
      net::Response &answer = reply.answer;
      answer.received = answer.body.size();
      if (request_.sink != nullptr && answer.status == request_.sink_status) {
        if (!Fill(answer.body)) return TooLong();
        answer.body.clear();
      } else if (answer.body.size() > request_.body_limit) {
        return TooLong();
      }
      if (!reply.failure.IsOk()) return reply.failure;
      return answer;
    }

   private:
    static Status TooLong() {
      return Status(Code::kCorruptData, "host.test:443: the body is longer than expected");
    }
    std::string Lent() const {
      std::string body;
      for (const ByteSpan &piece : request_.body) body.append(AsText(piece));
      return body;
    }
    bool Fill(std::string_view body) {
      while (!body.empty()) {
        const MutableByteSpan room = request_.sink->Room();
        const size_t fits = std::min(room.size(), body.size());
        if (fits == 0) return false;
        std::memcpy(room.data(), body.data(), fits);
        request_.sink->Advance(fits);
        body.remove_prefix(fits);
      }
      return true;
    }

    S3Http &http_;
    const net::Request request_;
    const SentRequest sent_;
  };

  Handler handler_ = [](const SentRequest &) { return NobodyThere(); };
  std::function<void(const SentRequest &)> on_start_;
  mutable Mutex mutex_;
  std::vector<SentRequest> sent_ SMD_GUARDED_BY(mutex_);
  int under_way_ SMD_GUARDED_BY(mutex_) = 0;
  int most_under_way_ SMD_GUARDED_BY(mutex_) = 0;
};

// Returns new credentials after each refusal.
class RefusableProvider final : public CredentialsProvider {
 public:
  Result<Credentials> Get() override {
    if (!failure.IsOk()) return failure;
    Credentials credentials{"AKID", "SECRETHUSH", StrCat("TOKENHUSH", number)};
    credentials.source = "the test";
    return credentials;
  }
  void Refuse(const Credentials &refused) override {
    ++refusals;
    EXPECT_EQ(refused.access_key, "AKID");
    if (can_renew) ++number;
  }

  Status failure;
  bool can_renew = true;
  int number = 1;
  int refusals = 0;
};

class S3Fixture : public testing::Test {
 protected:
  S3Fixture() {
    parts_.bucket = "bucket";
    parts_.settings.region = "us-east-1";
    parts_.settings.endpoint = "https://host.test";
    parts_.http = http_;
    parts_.credentials = credentials_;
    parts_.logger = Logger(LogLevel::kDebug,
                           [this](LogLevel, const std::string &line) { log_ += line + "\n"; });
    parts_.clock = &clock_;
    parts_.random = [] { return 0.5; };
  }
  ~S3Fixture() override {
    EXPECT_EQ(http_->UnderWay(), 0);
    EXPECT_THAT(log_, testing::Not(testing::HasSubstr("HUSH")));
  }

  // Creates the client from parts_ on first use.
  S3Client &Client() { return *SharedClient(); }
  std::shared_ptr<S3Client> SharedClient() {
    if (!client_) {
      auto made = S3Client::Open(parts_);
      if (!made.IsOk()) std::abort();
      client_ = *std::move(made);
    }
    return client_;
  }

  void Answering(S3Http::Handler handler) { http_->SetHandler(std::move(handler)); }
  // Replies in order; later requests fail to connect.
  void Replying(std::vector<S3Reply> replies) {
    Answering([replies = std::move(replies), next = size_t{0}](const SentRequest &) mutable {
      return next < replies.size() ? replies[next++] : S3Reply(NobodyThere());
    });
  }

  std::vector<SentRequest> Sent() const { return http_->Sent(); }
  SentRequest Sent(size_t index) const {
    const std::vector<SentRequest> sent = http_->Sent();
    EXPECT_LT(index, sent.size());
    return index < sent.size() ? sent[index] : SentRequest{};
  }
  // Returns "GET https://..." of each request, in order.
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const SentRequest &sent : http_->Sent()) lines.push_back(sent.method + " " + sent.url);
    return lines;
  }

  // Returns the message, and checks that neither it nor a detail contains a secret.
  static std::string MessageOf(const Status &status) {
    std::string all = status.Message();
    for (const char *name : {"path", "s3_code", "region", "request_id", "cause"})
      if (const std::string *detail = status.Detail(name)) all += *detail;
    EXPECT_THAT(all, testing::Not(testing::HasSubstr("HUSH")));
    return status.Message();
  }

  FakeClock clock_;
  std::string log_;
  const std::shared_ptr<S3Http> http_ = std::make_shared<S3Http>();
  const std::shared_ptr<RefusableProvider> credentials_ = std::make_shared<RefusableProvider>();
  S3Parts parts_;

 private:
  std::shared_ptr<S3Client> client_;
};

}  // namespace smdebug::aws
