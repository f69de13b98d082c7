// Signature Version 4, which authenticates requests to AWS.
// Source: "AWS Signature Version 4 for API requests", IAM user guide, and its test suite.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aws/credentials.h"
#include "aws/digest.h"
#include "base/result.h"
#include "net/http.h"

namespace smdebug::aws {

inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
// The hash of an empty payload.
inline constexpr std::string_view kEmptyPayloadHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct QueryParameter {
  std::string name;  // not encoded
  std::string value;
};

// The parts of a request that SigV4 signs.  All members are borrowed.
struct SigningRequest {
  std::string_view method{};
  std::string_view path{};  // encoded, as sent
  std::span<const QueryParameter> query{};
  std::string_view host{};  // with the port, unless it is the scheme's default
  // All are signed except those that proxies and clients change (user-agent, connection,
  // ...).  Must not include a header that signing adds.
  std::span<const net::Header> headers{};
  std::string_view payload_hash = kEmptyPayloadHash;  // hex, or kUnsignedPayload
};

struct SigningOptions {
  std::string_view region;
  std::string_view service;
  double time = 0;  // seconds since 1970
  // The result of DeriveSigningKey() for this day, region, service and secret; nullptr:
  // derived.
  const Sha256Digest *key = nullptr;
  // The defaults are for S3, which signs the path as sent.  Other services normalise it and
  // encode it again.
  bool normalize_path = false;
  bool encode_path_again = false;
  bool add_content_hash = true;  // x-amz-content-sha256; for SignHeaders() only
  bool sign_session_token = true;
};

struct Signature {
  // The headers to add, with names in lower case: host, x-amz-date, x-amz-content-sha256,
  // x-amz-security-token, authorization.  Empty for a presigned URL.
  std::vector<net::Header> headers;
  // The query to send: encoded and sorted, without '?'.
  std::string query;
  std::string hex;
  std::string canonical_request;
  std::string string_to_sign;
};

// Returns "20130524T000000Z"; the first eight characters are the day of a signing key.
std::string SigningTime(double seconds);

// Fails as Sha256() does.
Result<Sha256Digest> DeriveSigningKey(std::string_view secret_key, std::string_view day,
                                      std::string_view region, std::string_view service);

// Signs a request by headers.  Fails with CREDENTIALS if no header can contain the key or
// token (control characters or, in the key, blanks), and as Sha256() does.  Has no side
// effects.
Result<Signature> SignHeaders(const SigningRequest &request, const Credentials &credentials,
                              const SigningOptions &options);

// Signs a URL that anyone may use for `lifetime` seconds.  Fails as SignHeaders().
Result<Signature> SignQuery(const SigningRequest &request, const Credentials &credentials,
                            const SigningOptions &options, int64_t lifetime);

}  // namespace smdebug::aws
