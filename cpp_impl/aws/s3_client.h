// One bucket, asked over HTTP.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/credentials.h"
#include "aws/endpoint.h"
#include "aws/retry.h"
#include "aws/sigv4.h"
#include "base/byte_sink.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "net/http.h"

namespace smdebug::aws {

// What a client is made from.
struct S3Parts {
  std::string bucket;
  S3Settings settings;
  // Over TLS the payload may go unsigned, which spares its SHA-256.  Never over http.
  bool signs_payload = true;
  RetryPolicy retry;
  net::Timeouts timeouts;
  std::shared_ptr<net::Http> http;
  std::shared_ptr<CredentialsProvider> credentials;
  Logger logger{};
  Clock *clock = &Clock::System();
  RandomSource random = SystemRandom();
};

// One request as S3 means it; what it points to is lent until its call has ended.
struct S3Request {
  std::string_view action;  // for messages: "reading", "writing", "listing"
  std::string method = "GET";
  std::string key{};  // not encoded; empty: the bucket
  std::vector<QueryParameter> query{};
  std::vector<net::Header> headers{};  // names in lower case
  std::vector<ByteSpan> body{};
  // Where the body of a 206 answer goes: `range_length` bytes from `range_offset` on.
  ByteSink *sink = nullptr;
  uint64_t range_offset = 0;
  uint64_t range_length = 0;
  uint64_t body_limit = uint64_t{64} << 20;
  // Answers with 200 may hold an <Error> all the same.
  bool may_fail_late = false;
};

// Safe from any thread.
class S3Client {
 public:
  // Fails as ResolveS3Endpoint().
  static Result<std::shared_ptr<S3Client>> Open(S3Parts parts);

  const std::string &Bucket() const { return parts_.bucket; }
  // "s3://bucket/key"
  std::string LocationOf(std::string_view key) const;

  // What a call needs.
  struct Signed {
    net::Request request;
    Credentials credentials;
  };
  // Fails as the credentials' provider.
  Result<Signed> Sign(const S3Request &request, std::string_view payload_hash);
  // UNSIGNED-PAYLOAD where that is allowed.
  Result<std::string> HashPayload(const std::vector<ByteSpan> &body);
  const S3Parts &Parts() const { return parts_; }
  RetryBudget &Budget() { return budget_; }

  // The bucket lies there; false if that is where it was looked for.
  bool MoveTo(const std::string &region) SMD_EXCLUDES(mutex_);
  // The service's time is that; false if it was thought so before.
  bool SetTime(double service_time) SMD_EXCLUDES(mutex_);
  // Seconds that this machine's clock is behind the service's.
  double Skew() SMD_EXCLUDES(mutex_);
  S3Endpoint Endpoint() SMD_EXCLUDES(mutex_);

 private:
  S3Client(S3Parts parts, S3Endpoint endpoint)
      : parts_(std::move(parts)), endpoint_(std::move(endpoint)) {}

  Result<Sha256Digest> SigningKey(const std::string &secret, const std::string &day,
                                  const std::string &region) SMD_EXCLUDES(mutex_);

  const S3Parts parts_;
  RetryBudget budget_;
  Mutex mutex_;
  S3Endpoint endpoint_ SMD_GUARDED_BY(mutex_);
  double skew_ SMD_GUARDED_BY(mutex_) = 0;
  // The key derived last, and what it is for.
  std::string key_scope_ SMD_GUARDED_BY(mutex_);
  Sha256Digest key_ SMD_GUARDED_BY(mutex_){};
};

}  // namespace smdebug::aws
