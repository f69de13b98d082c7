#include "aws/s3_error.h"

#include <algorithm>

#include "aws/retry.h"
#include "base/strings.h"

namespace smdebug::aws {
namespace {

struct Meaning {
  std::string_view s3_code;
  Code code;
};

constexpr Meaning kMeanings[] = {
    {"AccessDenied", Code::kPermission},
    {"AllAccessDisabled", Code::kPermission},
    {"AccountProblem", Code::kPermission},
    {"AuthorizationHeaderMalformed", Code::kWrongRegion},
    {"BadRequest", Code::kIo},
    {"ExpiredToken", Code::kCredentialsExpired},
    {"ExpiredTokenException", Code::kCredentialsExpired},
    {"InternalError", Code::kNetwork},
    {"InvalidAccessKeyId", Code::kCredentialsRefused},
    {"InvalidToken", Code::kCredentialsRefused},
    {"NoSuchBucket", Code::kBucketNotFound},
    {"NoSuchKey", Code::kNotFound},
    {"NotSignedUp", Code::kCredentialsRefused},
    {"PermanentRedirect", Code::kWrongRegion},
    {"RequestExpired", Code::kClockSkewed},
    {"RequestTimeTooSkewed", Code::kClockSkewed},
    {"RequestTimeout", Code::kTimeout},
    {"ServiceUnavailable", Code::kNetwork},
    {"SignatureDoesNotMatch", Code::kCredentialsRefused},
    {"TemporaryRedirect", Code::kWrongRegion},
    {"TokenRefreshRequired", Code::kCredentialsExpired},
};

Code CodeOfStatus(int http_status) {
  switch (http_status) {
    case 301:
    case 307: return Code::kWrongRegion;
    case 401:
    case 403: return Code::kPermission;
    case 404: return Code::kNotFound;
    case 408: return Code::kTimeout;
    default: return http_status >= 500 ? Code::kNetwork : Code::kIo;
  }
}

Code CodeOf(const S3Error &error) {
  if (Classify(error.http_status, error.code) == RetryKind::kThrottling) return Code::kThrottled;
  const auto *const found =
      std::find_if(std::begin(kMeanings), std::end(kMeanings),
                   [&](const Meaning &meaning) { return meaning.s3_code == error.code; });
  return found == std::end(kMeanings) ? CodeOfStatus(error.http_status) : found->code;
}

std::string Advice(Code code, const S3Error &error, std::string_view source) {
  switch (code) {
    case Code::kPermission:
      return "; these credentials do not permit this request: see the policy in docs/s3.md";
    case Code::kCredentialsRefused:
      return StrCat("; the access key is unknown or the secret is wrong: check the credentials of ",
                    source);
    case Code::kCredentialsExpired:
      return StrCat("; the session token is no longer valid: renew the credentials of ", source);
    case Code::kClockSkewed:
      return "; this machine's clock is wrong by minutes: set it (chrony, ntpd)";
    case Code::kWrongRegion:
      return error.region.empty()
                 ? "; the bucket is in another region: set the region"
                 : StrCat("; the bucket is in another region: set the region to ", error.region);
    case Code::kBucketNotFound: return "; there is no such bucket: check its name, or create it";
    case Code::kThrottled: return "; the service limits requests: save less often";
    default: return {};
  }
}

// Cuts the text to at most `longest` bytes, without splitting a character.
std::string_view Cut(std::string_view text, size_t longest) {
  if (text.size() <= longest) return text;
  const auto is_within = [&] {
    return (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80;
  };
  while (longest > 0 && is_within()) --longest;
  return text.substr(0, longest);
}

S3Error Shortened(const S3Error &error) {
  constexpr size_t kLongestName = 64;
  constexpr size_t kLongestSentence = 200;
  const auto name = [](std::string_view text) { return std::string(Cut(text, kLongestName)); };
  return {error.http_status, name(error.code), std::string(Cut(error.message, kLongestSentence)),
          name(error.region), name(error.request_id)};
}

// Returns one line for a message; the service may be hostile.
std::string Sentence(const S3Error &error) {
  std::string text = error.code.empty() ? StrCat("HTTP ", error.http_status)
                                        : StrCat(error.code, " (HTTP ", error.http_status, ")");
  if (!error.message.empty()) {
    text += ": " + error.message;
    while (text.ends_with('.')) text.pop_back();
  }
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

}  // namespace

Status S3Failure(std::string_view action, std::string_view location, std::string_view source,
                 const S3Error &said) {
  const S3Error error = Shortened(said);
  const Code code = CodeOf(error);
  Status status(code, StrCat(location, ": ", action, " failed: ", Sentence(error),
                             Advice(code, error, source)));
  status = std::move(status)
               .With("path", std::string(location))
               .With("http_status", std::to_string(error.http_status));
  if (!error.code.empty()) status = std::move(status).With("s3_code", error.code);
  if (!error.region.empty()) status = std::move(status).With("region", error.region);
  if (!error.request_id.empty()) status = std::move(status).With("request_id", error.request_id);
  return status;
}

}  // namespace smdebug::aws
