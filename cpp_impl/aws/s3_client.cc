#include "aws/s3_client.h"

#include <cmath>

#include "base/strings.h"
#include "net/uri.h"

namespace smdebug::aws {
namespace {

// A smaller difference may be the duration of a request.
constexpr double kLeastSkew = 60;

}  // namespace

Result<std::shared_ptr<S3Client>> S3Client::Open(S3Parts parts) {
  SMD_ASSIGN_OR_RETURN(S3Endpoint endpoint, ResolveS3Endpoint(parts.bucket, parts.settings));
  return std::shared_ptr<S3Client>(new S3Client(std::move(parts), std::move(endpoint)));
}

std::string S3Client::LocationOf(std::string_view key) const {
  return key.empty() ? StrCat("s3://", parts_.bucket) : StrCat("s3://", parts_.bucket, "/", key);
}

S3Endpoint S3Client::Endpoint() {
  const MutexLock lock(mutex_);
  return endpoint_;
}

bool S3Client::MoveTo(const std::string &region) {
  S3Settings settings = parts_.settings;
  settings.region = region;
  auto moved = ResolveS3Endpoint(parts_.bucket, settings);
  const MutexLock lock(mutex_);
  if (!moved.IsOk() || endpoint_.region == moved->region) return false;
  endpoint_ = *std::move(moved);
  return true;
}

bool S3Client::SetTime(double service_time) {
  const double skew = service_time - parts_.clock->WallSeconds();
  const MutexLock lock(mutex_);
  if (std::abs(skew - skew_) < kLeastSkew) return false;
  skew_ = skew;
  return true;
}

double S3Client::Skew() {
  const MutexLock lock(mutex_);
  return skew_;
}

Result<Sha256Digest> S3Client::SigningKey(const std::string &secret, const std::string &day,
                                          const std::string &region) {
  const std::string scope = StrCat(day, "/", region, "/", secret);
  const MutexLock lock(mutex_);
  if (scope != key_scope_) {
    SMD_ASSIGN_OR_RETURN(key_, DeriveSigningKey(secret, day, region, "s3"));
    key_scope_ = scope;
  }
  return key_;
}

Result<std::string> S3Client::HashPayload(const std::vector<ByteSpan> &body) {
  if (body.empty()) return std::string(kEmptyPayloadHash);
  if (!parts_.signs_payload && Endpoint().IsTls()) return std::string(kUnsignedPayload);
  SMD_ASSIGN_OR_RETURN(const Sha256Digest digest, Sha256(body));
  return ToHex(digest);
}

Result<S3Client::Signed> S3Client::Sign(const S3Request &request, std::string_view payload_hash) {
  SMD_ASSIGN_OR_RETURN(Credentials credentials, parts_.credentials->Get());
  const S3Endpoint endpoint = Endpoint();
  const double now = parts_.clock->WallSeconds() + Skew();
  SMD_ASSIGN_OR_RETURN(
      const Sha256Digest key,
      SigningKey(credentials.secret_key, SigningTime(now).substr(0, 8), endpoint.region));
  const std::string path =
      StrCat(endpoint.path_prefix, "/", net::PercentEncode(request.key, net::Slashes::kKept));
  SigningOptions options{.region = endpoint.region, .service = "s3"};
  options.time = now;
  options.key = &key;
  const SigningRequest to_sign{.method = request.method,
                               .path = path,
                               .query = request.query,
                               .host = endpoint.host,
                               .headers = request.headers,
                               .payload_hash = payload_hash};
  SMD_ASSIGN_OR_RETURN(Signature signature, SignHeaders(to_sign, credentials, options));
  Signed made{{}, std::move(credentials)};
  made.request.method = request.method;
  made.request.url = StrCat(endpoint.scheme, "://", endpoint.host, path,
                            signature.query.empty() ? "" : "?", signature.query);
  made.request.headers = request.headers;
  for (net::Header &header : signature.headers) {
    made.request.headers.push_back(std::move(header));
  }
  made.request.body = request.body;
  made.request.body_limit = request.body_limit;
  made.request.timeouts = parts_.timeouts;
  return made;
}

}  // namespace smdebug::aws
