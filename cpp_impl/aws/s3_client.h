// A client of one bucket, over HTTP.
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

// The parts of a client.
struct S3Parts {
  std::string bucket;
  S3Settings settings;
  // If false, payloads are not signed over TLS, which saves their SHA-256.  Over http they are
  // always signed.
  bool signs_payload = true;
  RetryPolicy retry;
  net::Timeouts timeouts;
  std::shared_ptr<net::Http> http;
  std::shared_ptr<CredentialsProvider> credentials;
  Logger logger{};
  Clock *clock = &Clock::System();
  RandomSource random = SystemRandom();
};

// One S3 request.  What it points to is borrowed until its call is destroyed.
struct S3Request {
  std::string_view action;  // for messages: "reading", "writing", "listing"
  std::string method = "GET";
  std::string key{};     // not encoded; empty: the bucket
  std::string prefix{};  // of the keys that a listing is about, for messages
  std::vector<QueryParameter> query{};
  std::vector<net::Header> headers{};  // names in lower case
  std::vector<ByteSpan> body{};
  // Receives the body of a 206 answer: `range_length` bytes from `range_offset` on.
  ByteSink *sink = nullptr;
  uint64_t range_offset = 0;
  uint64_t range_length = 0;
  uint64_t body_limit = uint64_t{64} << 20;
  // An answer with status 200 may contain an <Error>.
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

  // A signed request, and the credentials that signed it.
  struct Signed {
    net::Request request;
    Credentials credentials;
  };
  // Fails as the credentials provider.
  Result<Signed> Sign(const S3Request &request, std::string_view payload_hash);
  // Returns the payload hash, or UNSIGNED-PAYLOAD if that is allowed.
  Result<std::string> HashPayload(const std::vector<ByteSpan> &body);
  const S3Parts &Parts() const { return parts_; }
  RetryBudget &Budget() { return budget_; }

  // Sets the bucket's region.  Returns false if that is already the region in use.
  bool MoveTo(const std::string &region) SMD_EXCLUDES(mutex_);
  // Sets the service's time.  Returns false if the known skew already matches it.
  bool SetTime(double service_time) SMD_EXCLUDES(mutex_);
  // Returns how many seconds this machine's clock is behind that of the service.
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
  // The last derived key, and its scope.
  std::string key_scope_ SMD_GUARDED_BY(mutex_);
  Sha256Digest key_ SMD_GUARDED_BY(mutex_){};
};

}  // namespace smdebug::aws
