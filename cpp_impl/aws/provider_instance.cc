#include <algorithm>

#include "aws/credentials_json.h"
#include "aws/providers.h"
#include "base/strings.h"
#include "net/uri.h"

namespace smdebug::aws {
namespace {

constexpr std::string_view kUsualServer = "http://169.254.169.254";
constexpr std::string_view kUsualServerIpv6 = "http://[fd00:ec2::254]";
constexpr std::string_view kTokenPath = "/latest/api/token";
constexpr std::string_view kRolePath = "/latest/meta-data/iam/security-credentials/";
constexpr const char *kTokenLifetime = "21600";  // seconds, the longest allowed
constexpr uint64_t kAnswerLimit = uint64_t{1} << 20;
// The service is local to the machine.  Outside AWS there is no answer, and that must be found
// out quickly.
constexpr Clock::Duration kConnectTime = std::chrono::seconds(1);
constexpr Clock::Duration kAnswerTime = std::chrono::seconds(1);

// Returns true if there is no server, as opposed to a server with a bad answer.
bool IsAbsent(const Status &failure) {
  const std::string *cause = failure.Detail("cause");
  return cause != nullptr && (*cause == "connect" || *cause == "resolve");
}

class InstanceProvider final : public CredentialsProvider {
 public:
  explicit InstanceProvider(ProviderContext context) : context_(std::move(context)) {}

  Result<Credentials> Get() override {
    const Variables &variables = context_.variables;
    if (variables.IsTrue("AWS_EC2_METADATA_DISABLED")) {
      return NothingAt("instance metadata (AWS_EC2_METADATA_DISABLED)");
    }
    SMD_ASSIGN_OR_RETURN(const std::string server, Server());
    const std::string place = StrCat("instance metadata at ", server);
    SMD_ASSIGN_OR_RETURN(const std::string token, Token(server, place));
    SMD_ASSIGN_OR_RETURN(const std::string role, RoleName(server, token, place));
    SMD_ASSIGN_OR_RETURN(const std::string document,
                         Read(server, StrCat(kRolePath, net::PercentEncode(role)), token, place));
    SMD_ASSIGN_OR_RETURN(Credentials credentials, ParseCredentialsJson(document, "Token", place));
    credentials.may_outlive_expiry = true;
    return credentials;
  }

 private:
  Result<std::string> Server() const {
    const Variables &variables = context_.variables;
    std::string server = variables.Find("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("");
    if (server.empty()) {
      const auto mode = variables.Find("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
      return std::string(mode && ToLower(*mode) == "ipv6" ? kUsualServerIpv6 : kUsualServer);
    }
    const auto uri = net::ParseUri(server);
    if (!uri.IsOk() || uri->has_user_info || !uri->query.empty()) {
      return Unusable(
          "instance metadata",
          "AWS_EC2_METADATA_SERVICE_ENDPOINT must be an http or https URL without a user and a "
          "query");
    }
    while (server.ends_with('/')) server.pop_back();
    return server;
  }

  static net::Request Ask(const std::string &server, std::string_view path) {
    net::Request request;
    request.url = StrCat(server, path);
    request.may_use_proxy = false;
    request.body_limit = kAnswerLimit;
    request.timeouts.connect = kConnectTime;
    request.timeouts.first_byte = kAnswerTime;
    return request;
  }

  Result<std::string> Token(const std::string &server, const std::string &place) const {
    net::Request request = Ask(server, kTokenPath);
    request.method = "PUT";
    request.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", kTokenLifetime}};
    // One attempt without retries first: outside AWS each attempt takes a second.
    auto response = context_.http->Send(request);
    if (!response.IsOk() && IsAbsent(response.GetStatus())) {
      return NothingAt(StrCat(place, " (not reachable)"));
    }
    if (!response.IsOk() || response->status >= 500) response = SendWithRetries(context_, request);
    if (!response.IsOk()) return Unusable(place, response.GetStatus());
    // Another kind of server at that address, or a disabled metadata service.
    if (response->status == 403 || response->status == 404 || response->status == 405) {
      return NothingAt(StrCat(place, " (status ", response->status, " for a session token)"));
    }
    const std::string token(Trim(response->body));
    if (response->status != 200 || token.empty() || !IsHeaderText(token)) {
      return Unusable(place, StrCat("returned no session token (status ", response->status, ")"));
    }
    return token;
  }

  Result<std::string> RoleName(const std::string &server, const std::string &token,
                               const std::string &place) const {
    auto names = Read(server, kRolePath, token, place);
    if (!names.IsOk()) return names;
    const std::string_view all = *names;
    const std::string name(Trim(all.substr(0, all.find('\n'))));
    if (name.empty()) return NothingAt(StrCat(place, " (the machine has no role)"));
    return name;
  }

  Result<std::string> Read(const std::string &server, std::string_view path,
                           const std::string &token, const std::string &place) const {
    net::Request request = Ask(server, path);
    request.headers = {{"x-aws-ec2-metadata-token", token}};
    auto response = SendWithRetries(context_, request);
    if (!response.IsOk()) return Unusable(place, response.GetStatus());
    if (response->status == 404) return NothingAt(StrCat(place, " (the machine has no role)"));
    if (response->status != 200) {
      return Unusable(place, StrCat("answered with status ", response->status));
    }
    return std::move(response->body);
  }

  const ProviderContext context_;
};

}  // namespace

ProviderPtr MakeInstanceProvider(const ProviderContext &context) {
  return std::make_shared<InstanceProvider>(context);
}

}  // namespace smdebug::aws
