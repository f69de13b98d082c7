#include "aws/sts.h"

#include <array>
#include <utility>
#include <vector>

#include "aws/endpoint.h"
#include "aws/sigv4.h"
#include "base/json.h"
#include "base/strings.h"
#include "net/http_date.h"
#include "net/uri.h"
#include "net/xml.h"

namespace smdebug::aws {
namespace {

constexpr uint64_t kAnswerLimit = uint64_t{1} << 20;
constexpr std::string_view kFormType = "application/x-www-form-urlencoded";

struct StsServer {
  net::Uri uri;
  std::string region;
};

Result<StsServer> FindServer(const ProviderContext &context, const Profiles &profiles,
                             const std::string &source) {
  StsServer server;
  server.region =
      context.region.empty() ? ConfiguredRegion(context.variables, profiles) : context.region;
  if (server.region.empty()) server.region = "us-east-1";
  const Status is_region = CheckRegion(server.region);
  if (!is_region.IsOk()) return Unusable(source, is_region);
  std::string url = ConfiguredEndpoint("sts", context.variables, profiles);
  if (url.empty()) url = StrCat("https://sts.", server.region, ".", DnsSuffix(server.region));
  auto uri = net::ParseUri(url);
  if (!uri.IsOk() || uri->has_user_info || !uri->query.empty()) {
    return Unusable(
        source, "the endpoint URL for STS must be an http or https URL without a user and a query");
  }
  server.uri = *std::move(uri);
  return server;
}

std::string Form(std::string_view action, const Role &role, const ProviderContext &context) {
  const auto now = static_cast<int64_t>(context.clock->WallSeconds());
  const std::string session =
      role.session_name.empty() ? StrCat("smdebug-", now) : role.session_name;
  std::string form =
      StrCat("Action=", action, "&Version=2011-06-15&RoleArn=", net::PercentEncode(role.arn),
             "&RoleSessionName=", net::PercentEncode(session));
  if (role.duration_seconds)
    form.append("&DurationSeconds=" + std::to_string(*role.duration_seconds));
  if (!role.external_id.empty()) {
    form.append("&ExternalId=").append(net::PercentEncode(role.external_id));
  }
  return form;
}

Status CheckDuration(const Role &role, const std::string &source) {
  constexpr int64_t kShortest = 900;
  constexpr int64_t kLongest = 43200;
  const int64_t seconds = role.duration_seconds.value_or(kShortest);
  if (seconds >= kShortest && seconds <= kLongest) return Status::Ok();
  return Unusable(source, "duration_seconds is not between 900 and 43200");
}

net::Request Post(const StsServer &server, std::string_view form) {
  net::Request request;
  request.method = "POST";
  request.url = StrCat(server.uri.scheme, "://", server.uri.Authority(), server.uri.path);
  request.headers = {{"content-type", std::string(kFormType)}};
  request.body = {AsBytes(form)};
  request.body_limit = kAnswerLimit;
  return request;
}

struct StsError {
  std::string code;
  std::string message;
};

StsError ErrorIn(const net::Response &response) {
  const auto document = net::ParseXml(response.body);
  const net::Element *error = document.IsOk() ? document->Find("Error") : nullptr;
  if (error == nullptr) return {};
  return {std::string(error->TextOf("Code")), std::string(error->TextOf("Message"))};
}

// Returns the error of a refusal.  A hostile server may echo `secret`; the message omits it.
Status Refused(const net::Response &response, std::string_view secret, const std::string &source) {
  const StsError error = ErrorIn(response);
  const bool is_safe = error.message.find(secret) == std::string::npos &&
                       error.code.find(secret) == std::string::npos;
  const std::string code = is_safe ? Excerpt(error.code) : "";
  const std::string said = is_safe ? StrCat(" ", code, " ", Excerpt(error.message)) : "";
  return Unusable(source, StrCat("STS refused with status ", response.status, said,
                                 "; check the role, its trust policy and the caller's permissions"))
      .With("sts_code", code);
}

Result<Credentials> CredentialsIn(const net::Response &response, std::string_view action,
                                  const std::string &source) {
  const auto document = net::ParseXml(response.body);
  const net::Element *result = document.IsOk() ? document->Find(StrCat(action, "Result")) : nullptr;
  const net::Element *found = result == nullptr ? nullptr : result->Find("Credentials");
  if (found == nullptr) return Unusable(source, "STS's answer has no <Credentials>");
  Credentials credentials;
  credentials.access_key = found->TextOf("AccessKeyId");
  credentials.secret_key = found->TextOf("SecretAccessKey");
  credentials.session_token = found->TextOf("SessionToken");
  credentials.source = source;
  credentials.expires_at = net::ParseIsoDate(found->TextOf("Expiration"));
  const bool is_whole = !credentials.access_key.empty() && !credentials.secret_key.empty() &&
                        !credentials.session_token.empty() && credentials.expires_at;
  if (!is_whole) {
    return Unusable(source, "STS's answer lacks a key, the session token or the expiration");
  }
  return credentials;
}

Result<Credentials> Send(const ProviderContext &context, const net::Request &request,
                         std::string_view action, std::string_view secret,
                         const std::string &source) {
  const auto code_of = [](const net::Response &response) { return ErrorIn(response).code; };
  auto response = SendWithRetries(context, request, code_of);
  if (!response.IsOk()) return Unusable(source, response.GetStatus());
  if (response->status != 200) return Refused(*response, secret, source);
  return CredentialsIn(*response, action, source);
}

}  // namespace

Result<Credentials> AssumeRole(const ProviderContext &context, const Profiles &profiles,
                               const Role &role, const Credentials &caller,
                               const std::string &source) {
  SMD_RETURN_IF_ERROR(CheckDuration(role, source));
  SMD_ASSIGN_OR_RETURN(const StsServer server, FindServer(context, profiles, source));
  const std::string form = Form("AssumeRole", role, context);
  net::Request request = Post(server, form);
  const std::string host = server.uri.Authority();
  SMD_ASSIGN_OR_RETURN(const Sha256Digest digest, Sha256(form));
  const std::string hash = ToHex(digest);
  const SigningRequest to_sign{.method = "POST",
                               .path = server.uri.path,
                               .host = host,
                               .headers = request.headers,
                               .payload_hash = hash};
  SigningOptions options;
  options.region = server.region;
  options.service = "sts";
  options.time = context.clock->WallSeconds();
  options.add_content_hash = false;
  SMD_ASSIGN_OR_RETURN(const Signature signature, SignHeaders(to_sign, caller, options));
  request.headers.insert(request.headers.end(), signature.headers.begin(), signature.headers.end());
  return Send(context, request, "AssumeRole", caller.secret_key, source);
}

Result<Credentials> AssumeRoleWithWebIdentity(const ProviderContext &context,
                                              const Profiles &profiles, const Role &role,
                                              std::string_view token, const std::string &source) {
  SMD_RETURN_IF_ERROR(CheckDuration(role, source));
  SMD_ASSIGN_OR_RETURN(const StsServer server, FindServer(context, profiles, source));
  std::string form = Form("AssumeRoleWithWebIdentity", role, context);
  form.append("&WebIdentityToken=").append(net::PercentEncode(token));
  return Send(context, Post(server, form), "AssumeRoleWithWebIdentity", token, source);
}

}  // namespace smdebug::aws
