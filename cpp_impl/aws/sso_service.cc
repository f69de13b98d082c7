#include "aws/sso_service.h"

#include <algorithm>
#include <initializer_list>

#include "aws/credentials_json.h"
#include "aws/endpoint.h"
#include "base/strings.h"
#include "net/uri.h"

namespace smdebug::aws {
namespace {

constexpr uint64_t kAnswerLimit = uint64_t{1} << 20;

struct Service {
  std::string_view key;   // in AWS_ENDPOINT_URL_SSO and [services x]
  std::string_view host;  // before the region
};
constexpr Service kPortal = {"sso", "portal.sso"};
constexpr Service kOidc = {"sso_oidc", "oidc"};

// Returns the URL of the service, without a trailing slash.
Result<std::string> UrlOf(const Service &service, const ProviderContext &context,
                          const Profiles &profiles, const SsoSettings &settings,
                          const std::string &place) {
  const Status is_region = CheckRegion(settings.region);
  if (!is_region.IsOk()) return Unusable(StrCat(place, ": sso_region"), is_region);
  std::string url = ConfiguredEndpoint(service.key, context.variables, profiles);
  if (url.empty()) {
    return StrCat("https://", service.host, ".", settings.region, ".", DnsSuffix(settings.region));
  }
  const auto uri = net::ParseUri(url);
  if (!uri.IsOk() || uri->has_user_info || !uri->query.empty()) {
    return Unusable(place, StrCat("the endpoint URL for ", service.key,
                                  " must be an http or https URL without a user and a query"));
  }
  if (!uri->IsTls() && !IsLoopback(uri->host)) {
    return Unusable(place,
                    StrCat("the endpoint URL for ", service.key, " leads to ", uri->HostAndPort(),
                           " over http, which would expose the SSO token; use https"));
  }
  while (url.ends_with('/')) url.pop_back();
  return url;
}

net::Request RequestTo(std::string url) {
  net::Request request;
  request.may_use_proxy = url.starts_with("https:");  // a proxy may not see the token
  request.url = std::move(url);
  request.body_limit = kAnswerLimit;
  return request;
}

// Returns "UnauthorizedException" for "UnauthorizedException:http://...".
std::string ErrorCode(const net::Response &response) {
  const std::string *type = response.Find("x-amzn-errortype");
  return type == nullptr ? std::string() : type->substr(0, type->find(':'));
}

// Returns the error of an answer other than 200.  A hostile server may echo a secret.
Status Refused(const net::Response &response, std::initializer_list<std::string_view> secrets,
               const std::string &place, std::string_view request) {
  const std::string code = ErrorCode(response);
  const bool is_safe = std::ranges::none_of(secrets, [&](std::string_view secret) {
    return !secret.empty() && code.find(secret) != std::string::npos;
  });
  Status refused =
      Unusable(place, StrCat(request, " failed with status ", response.status,
                             is_safe && !code.empty() ? " " : "", is_safe ? Excerpt(code) : ""));
  const bool is_refusal = response.status == 401 || code == "UnauthorizedException" ||
                          code == "InvalidGrantException" || code == "ExpiredTokenException";
  return is_refusal ? std::move(refused).With("sso", "refused") : refused;
}

Result<Credentials> CredentialsIn(const net::Response &response, const std::string &place) {
  SMD_ASSIGN_OR_RETURN(const JsonDocument document,
                       ParseSecretObject(response.body, "the answer", place));
  const std::optional<JsonValue> found = document.Root().Find("roleCredentials");
  if (!found || !found->IsObject()) return Unusable(place, "the answer has no 'roleCredentials'");
  Credentials credentials;
  credentials.source = place;
  SMD_ASSIGN_OR_RETURN(credentials.access_key, SecretTextAt(*found, "accessKeyId", place));
  SMD_ASSIGN_OR_RETURN(credentials.secret_key, SecretTextAt(*found, "secretAccessKey", place));
  SMD_ASSIGN_OR_RETURN(credentials.session_token, SecretTextAt(*found, "sessionToken", place));
  const std::optional<JsonValue> expiration = found->Find("expiration");
  const auto milliseconds = expiration ? expiration->Number() : Result<double>(0.0);
  if (credentials.access_key.empty() || credentials.secret_key.empty() ||
      credentials.session_token.empty() || !milliseconds.IsOk() || *milliseconds <= 0) {
    return Unusable(place, "the answer lacks a key, the session token or the expiration");
  }
  credentials.expires_at = *milliseconds / 1000;
  return credentials;
}

Result<SsoToken> TokenIn(const net::Response &response, const SsoToken &old, double now,
                         const std::string &place) {
  SMD_ASSIGN_OR_RETURN(const JsonDocument document,
                       ParseSecretObject(response.body, "the answer", place));
  const JsonValue root = document.Root();
  SsoToken token = old;
  SMD_ASSIGN_OR_RETURN(token.access_token, SecretTextAt(root, "accessToken", place));
  SMD_ASSIGN_OR_RETURN(const std::string refresh_token, SecretTextAt(root, "refreshToken", place));
  const std::optional<JsonValue> lifetime = root.Find("expiresIn");
  const auto seconds = lifetime ? lifetime->Int() : Result<int64_t>(0);
  constexpr int64_t kLongest = int64_t{10} * 365 * 86400;
  if (token.access_token.empty() || !IsHeaderText(token.access_token) || !seconds.IsOk() ||
      *seconds <= 0 || *seconds > kLongest) {
    return Unusable(place, "the answer lacks a usable 'accessToken' or 'expiresIn'");
  }
  // A service that returns no new refresh token continues to accept the old one.
  if (!refresh_token.empty()) token.refresh_token = refresh_token;
  token.expires_at = now + static_cast<double>(*seconds);
  return token;
}

}  // namespace

Result<Credentials> GetRoleCredentials(const ProviderContext &context, const Profiles &profiles,
                                       const SsoSettings &settings, const SsoToken &token,
                                       const std::string &place) {
  SMD_ASSIGN_OR_RETURN(const std::string url, UrlOf(kPortal, context, profiles, settings, place));
  net::Request request = RequestTo(
      StrCat(url, "/federation/credentials?role_name=", net::PercentEncode(settings.role_name),
             "&account_id=", net::PercentEncode(settings.account_id)));
  request.headers = {{"x-amz-sso_bearer_token", token.access_token}};
  auto response = SendWithRetries(context, request, ErrorCode);
  if (!response.IsOk()) return Unusable(place, response.GetStatus());
  if (response->status != 200) {
    return Refused(*response, {token.access_token}, place, "GetRoleCredentials");
  }
  return CredentialsIn(*response, place);
}

Result<SsoToken> RenewSsoToken(const ProviderContext &context, const Profiles &profiles,
                               const SsoSettings &settings, const SsoToken &token,
                               const std::string &place) {
  SMD_ASSIGN_OR_RETURN(const std::string url, UrlOf(kOidc, context, profiles, settings, place));
  JsonWriter json;
  const auto add = [&](std::string_view key, std::string_view text) {
    json.Key(key);
    json.Text(text);
  };
  json.BeginObject();
  add("grantType", "refresh_token");
  add("clientId", token.client_id);
  add("clientSecret", token.client_secret);
  add("refreshToken", token.refresh_token);
  json.EndObject();
  net::Request request = RequestTo(url + "/token");
  request.method = "POST";
  request.headers = {{"content-type", "application/json"}};
  request.body = {AsBytes(json.Written())};
  auto response = SendWithRetries(context, request, ErrorCode);
  if (!response.IsOk()) return Unusable(place, response.GetStatus());
  if (response->status != 200) {
    return Refused(*response,
                   {token.access_token, token.refresh_token, token.client_id, token.client_secret},
                   place, "CreateToken");
  }
  return TokenIn(*response, token, context.clock->WallSeconds(), place);
}

}  // namespace smdebug::aws
