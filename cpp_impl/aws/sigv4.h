// Signature Version 4: what must be added to a request so that AWS believes who sent it.
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
// Of no bytes at all.
inline constexpr std::string_view kEmptyPayloadHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct QueryParameter {
  std::string name;  // not encoded
  std::string value;
};

// What is signed; all lent.
struct SigningRequest {
  std::string_view method{};
  std::string_view path{};  // encoded, as it is sent
  std::span<const QueryParameter> query{};
  std::string_view host{};  // with the port, unless it is the scheme's own
  // All are signed but those that proxies and clients change (user-agent, connection,
  // ...).  Must not hold one that signing adds.
  std::span<const net::Header> headers{};
  std::string_view payload_hash = kEmptyPayloadHash;  // hex, or kUnsignedPayload
};

struct SigningOptions {
  std::string_view region;
  std::string_view service;
  double time = 0;  // seconds since 1970
  // As DeriveSigningKey() gave it for that day, region, service and secret; else derived.
  const Sha256Digest *key = nullptr;
  // As S3 wants it: the path is signed as it is sent.  Other services normalise and
  // encode it once more.
  bool normalize_path = false;
  bool encode_path_again = false;
  bool add_content_hash = true;  // x-amz-content-sha256; in headers only
  bool sign_session_token = true;
};

struct Signature {
  // To add, names in lower case: host, x-amz-date, x-amz-content-sha256,
  // x-amz-security-token, authorization.  Empty for a presigned URL.
  std::vector<net::Header> headers;
  // Encoded and sorted, without '?': what must be sent.
  std::string query;
  std::string hex;
  std::string canonical_request;
  std::string string_to_sign;
};

// "20130524T000000Z"; the first eight characters are the day of a signing key.
std::string SigningTime(double seconds);

// Fails as Sha256() does.
Result<Sha256Digest> DeriveSigningKey(std::string_view secret_key, std::string_view day,
                                      std::string_view region, std::string_view service);

// Fails with CREDENTIALS for a key or token that no header can carry (it holds control
// characters or, in the key, blanks), and as Sha256() does.  Pure.
Result<Signature> SignHeaders(const SigningRequest &request, const Credentials &credentials,
                              const SigningOptions &options);

// The same for a URL that anybody may use for `lifetime` seconds.
Result<Signature> SignQuery(const SigningRequest &request, const Credentials &credentials,
                            const SigningOptions &options, int64_t lifetime);

}  // namespace smdebug::aws
