#include "aws/sigv4.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "net/http_date.h"
#include "net/uri.h"

namespace smdebug::aws {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kBlanks = " \t\r\n";
constexpr size_t kDayLength = 8;

// Headers that proxies and clients change or add.
constexpr std::string_view kUnsignedHeaders[] = {
    "authorization", "connection", "expect", "transfer-encoding", "user-agent", "x-amzn-trace-id"};

using NameValue = std::pair<std::string, std::string>;

// Removes dot segments by RFC 3986 section 5.2.4, and merges adjacent slashes.
std::string WithoutDots(std::string_view path) {
  std::vector<std::string_view> kept;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part == ".." && !kept.empty()) kept.pop_back();
    if (!part.empty() && part != "." && part != "..") kept.push_back(part);
    begin = end + 1;
  }
  std::string out;
  for (const std::string_view part : kept) out.append("/").append(part);
  const bool is_folder = path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..");
  if (out.empty() || is_folder) out.push_back('/');
  return out;
}

std::string CanonicalPath(std::string_view path, const SigningOptions &options) {
  std::string out = options.normalize_path ? WithoutDots(path) : std::string(path);
  if (out.empty()) out.push_back('/');
  return options.encode_path_again ? net::PercentEncode(out, net::Slashes::kKept) : out;
}

std::string Joined(const std::vector<NameValue> &encoded) {
  std::string out;
  for (const auto &[name, value] : encoded) {
    if (!out.empty()) out.push_back('&');
    out.append(name).append("=").append(value);
  }
  return out;
}

std::vector<NameValue> EncodedQuery(std::span<const QueryParameter> query) {
  std::vector<NameValue> encoded;
  encoded.reserve(query.size());
  for (const QueryParameter &parameter : query) {
    encoded.emplace_back(net::PercentEncode(parameter.name), net::PercentEncode(parameter.value));
  }
  return encoded;
}

// Merges adjacent blanks into one, and removes leading and trailing blanks.
std::string CanonicalValue(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  bool blank_pending = false;
  for (const char letter : value) {
    if (kBlanks.find(letter) != std::string_view::npos) {
      blank_pending = !out.empty();
      continue;
    }
    if (std::exchange(blank_pending, false)) out.push_back(' ');
    out.push_back(letter);
  }
  return out;
}

struct CanonicalHeaders {
  std::string lines;
  std::string names;  // "host;x-amz-date"
};

CanonicalHeaders Canonical(std::span<const net::Header> given, std::span<const net::Header> added) {
  std::vector<NameValue> headers;
  headers.reserve(given.size() + added.size());
  for (const auto &part : {given, added}) {
    for (const net::Header &header : part) {
      std::string name = ToLower(header.name);
      if (std::ranges::find(kUnsignedHeaders, name) != std::end(kUnsignedHeaders)) continue;
      headers.emplace_back(std::move(name), CanonicalValue(header.value));
    }
  }
  // Stable, so that the values of a repeated header stay in order.
  std::stable_sort(headers.begin(), headers.end(),
                   [](const NameValue &a, const NameValue &b) { return a.first < b.first; });
  CanonicalHeaders out;
  for (size_t i = 0; i < headers.size(); ++i) {
    if (i > 0 && headers[i].first == headers[i - 1].first) {
      out.lines.back() = ',';
      out.lines.append(headers[i].second).push_back('\n');
      continue;
    }
    out.lines.append(headers[i].first).append(":").append(headers[i].second).push_back('\n');
    if (!out.names.empty()) out.names.push_back(';');
    out.names.append(headers[i].first);
  }
  return out;
}

bool HasControls(std::string_view text) {
  return std::ranges::any_of(text, [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F;
  });
}

Status CheckCarriable(const Credentials &credentials) {
  const std::string &key = credentials.access_key;
  const bool is_key = !key.empty() && !HasControls(key) && key.find(' ') == std::string::npos;
  if (is_key && !HasControls(credentials.session_token)) return Status::Ok();
  return {Code::kCredentials,
          StrCat("credentials (", credentials.source, "): the ",
                 is_key ? "session token" : "access key",
                 " is empty or contains blanks or control characters; check how it is quoted")};
}

// The last steps, which are the same for headers and URLs.
class Signer {
 public:
  Signer(const SigningRequest &request, const Credentials &credentials,
         const SigningOptions &options)
      : request_(request),
        credentials_(credentials),
        options_(options),
        time_(SigningTime(options.time)),
        scope_(StrCat(Day(), "/", options.region, "/", options.service, "/aws4_request")) {}

  const std::string &Time() const { return time_; }
  std::string Credential() const { return StrCat(credentials_.access_key, "/", scope_); }

  Status Sign(std::string query, const CanonicalHeaders &headers, Signature *signature) const {
    signature->query = std::move(query);
    signature->canonical_request = StrCat(
        request_.method, "\n", CanonicalPath(request_.path, options_), "\n", signature->query, "\n",
        headers.lines, "\n", headers.names, "\n", request_.payload_hash);
    SMD_ASSIGN_OR_RETURN(const Sha256Digest digest, Sha256(signature->canonical_request));
    signature->string_to_sign = StrCat(kAlgorithm, "\n", time_, "\n", scope_, "\n", ToHex(digest));
    SMD_ASSIGN_OR_RETURN(const Sha256Digest key, Key());
    SMD_ASSIGN_OR_RETURN(const Sha256Digest mac, HmacSha256(key, signature->string_to_sign));
    signature->hex = ToHex(mac);
    return Status::Ok();
  }

 private:
  std::string_view Day() const { return std::string_view(time_).substr(0, kDayLength); }

  Result<Sha256Digest> Key() const {
    if (options_.key != nullptr) return *options_.key;
    return DeriveSigningKey(credentials_.secret_key, Day(), options_.region, options_.service);
  }

  const SigningRequest &request_;
  const Credentials &credentials_;
  const SigningOptions &options_;
  const std::string time_;
  const std::string scope_;
};

}  // namespace

std::string SigningTime(double seconds) { return net::FormatBasicDate(seconds); }

Result<Sha256Digest> DeriveSigningKey(std::string_view secret_key, std::string_view day,
                                      std::string_view region, std::string_view service) {
  const std::string start = StrCat("AWS4", secret_key);
  SMD_ASSIGN_OR_RETURN(Sha256Digest key, HmacSha256(AsBytes(start), day));
  for (const std::string_view part : {region, service, std::string_view("aws4_request")}) {
    SMD_ASSIGN_OR_RETURN(key, HmacSha256(key, part));
  }
  return key;
}

Result<Signature> SignHeaders(const SigningRequest &request, const Credentials &credentials,
                              const SigningOptions &options) {
  SMD_RETURN_IF_ERROR(CheckCarriable(credentials));
  const Signer signer(request, credentials, options);
  const bool has_token = !credentials.session_token.empty();
  const net::Header token{"x-amz-security-token", credentials.session_token};

  Signature signature;
  signature.headers.reserve(5);
  signature.headers.push_back({"host", std::string(request.host)});
  signature.headers.push_back({"x-amz-date", signer.Time()});
  if (options.add_content_hash) {
    signature.headers.push_back({"x-amz-content-sha256", std::string(request.payload_hash)});
  }
  if (has_token && options.sign_session_token) signature.headers.push_back(token);

  const CanonicalHeaders headers = Canonical(request.headers, signature.headers);
  std::vector<NameValue> query = EncodedQuery(request.query);
  std::sort(query.begin(), query.end());
  SMD_RETURN_IF_ERROR(signer.Sign(Joined(query), headers, &signature));

  if (has_token && !options.sign_session_token) signature.headers.push_back(token);
  signature.headers.push_back(
      {"authorization", StrCat(kAlgorithm, " Credential=", signer.Credential(),
                               ", SignedHeaders=", headers.names, ", Signature=", signature.hex)});
  return signature;
}

Result<Signature> SignQuery(const SigningRequest &request, const Credentials &credentials,
                            const SigningOptions &options, int64_t lifetime) {
  SMD_RETURN_IF_ERROR(CheckCarriable(credentials));
  const Signer signer(request, credentials, options);
  const net::Header host{"host", std::string(request.host)};
  const CanonicalHeaders headers = Canonical(request.headers, {&host, 1});
  const NameValue token("X-Amz-Security-Token", net::PercentEncode(credentials.session_token));
  const bool has_token = !credentials.session_token.empty();

  std::vector<NameValue> query = EncodedQuery(request.query);
  query.emplace_back("X-Amz-Algorithm", kAlgorithm);
  query.emplace_back("X-Amz-Credential", net::PercentEncode(signer.Credential()));
  query.emplace_back("X-Amz-Date", signer.Time());
  query.emplace_back("X-Amz-Expires", std::to_string(lifetime));
  query.emplace_back("X-Amz-SignedHeaders", net::PercentEncode(headers.names));
  if (has_token && options.sign_session_token) query.push_back(token);
  std::sort(query.begin(), query.end());

  Signature signature;
  SMD_RETURN_IF_ERROR(signer.Sign(Joined(query), headers, &signature));
  if (has_token && !options.sign_session_token) {
    signature.query.append("&").append(token.first).append("=").append(token.second);
  }
  signature.query.append("&X-Amz-Signature=").append(signature.hex);
  return signature;
}

}  // namespace smdebug::aws
