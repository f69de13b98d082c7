#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "aws/credentials_json.h"
#include "aws/providers.h"
#include "base/small_file.h"
#include "base/strings.h"
#include "net/uri.h"

namespace smdebug::aws {
namespace {

constexpr std::string_view kContainerServer = "http://169.254.170.2";
constexpr uint64_t kAnswerLimit = uint64_t{1} << 20;
constexpr Clock::Duration kConnectTime = std::chrono::seconds(2);
constexpr Clock::Duration kAnswerTime = std::chrono::seconds(5);

bool IsTrustedIpv4(const std::string &host) {
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) != 1) return false;
  const uint32_t number = ntohl(address.s_addr);
  constexpr uint32_t kEcs = 0xA9FEAA02;  // 169.254.170.2
  constexpr uint32_t kEks = 0xA9FEAA17;  // 169.254.170.23
  return number == kEcs || number == kEks;
}

bool IsTrustedIpv6(const std::string &host) {
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return false;
  in6_addr address{};
  if (inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) != 1) return false;
  constexpr std::array<uint8_t, 16> kEks = {0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0,
                                            0,    0,    0,    0,    0, 0, 0, 0x23};
  return std::memcmp(&address, kEks.data(), kEks.size()) == 0;
}

class ContainerProvider final : public CredentialsProvider {
 public:
  explicit ContainerProvider(ProviderContext context) : context_(std::move(context)) {}

  Result<Credentials> Get() override {
    SMD_ASSIGN_OR_RETURN(const std::string url, Url());
    const auto uri = net::ParseUri(url);
    const std::string place = StrCat("container at ", uri.IsOk() ? uri->HostAndPort() : "?");
    net::Request request;
    request.url = url;
    request.headers = {{"accept", "application/json"}};
    request.may_use_proxy = false;
    request.body_limit = kAnswerLimit;
    request.timeouts.connect = kConnectTime;
    request.timeouts.first_byte = kAnswerTime;
    SMD_ASSIGN_OR_RETURN(const std::string token, Token(place));
    if (!token.empty()) request.headers.push_back({"authorization", token});
    auto response = SendWithRetries(context_, request);
    if (!response.IsOk()) return Unusable(place, response.GetStatus());
    if (response->status != 200) {
      return Unusable(place, StrCat("answered with status ", response->status,
                                    "; check that the task or pod has a role"));
    }
    return ParseCredentialsJson(response->body, "Token", place);
  }

 private:
  Result<std::string> Url() const {
    const auto relative = context_.variables.Find("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    if (relative) {
      // Without the slash, "@host" would turn the server into a user name.
      if (!relative->starts_with('/')) {
        return Unusable("container",
                        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with '/'");
      }
      std::string url = StrCat(kContainerServer, *relative);
      const Status allowed = CheckContainerUrl(url);
      if (allowed.IsOk()) return url;
      return Unusable("container, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", allowed);
    }
    auto full = context_.variables.Find("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (!full) return NothingAt("container (AWS_CONTAINER_CREDENTIALS_*_URI is not set)");
    const Status allowed = CheckContainerUrl(*full);
    if (allowed.IsOk()) return *std::move(full);
    return Unusable("container, AWS_CONTAINER_CREDENTIALS_FULL_URI", allowed);
  }

  // Reads the file each time, since its owner renews it.
  Result<std::string> Token(const std::string &place) const {
    std::string token = context_.variables.Find("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or("");
    const auto file = context_.variables.Find("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    if (file) {
      auto text = ReadSmallFile(*file);
      if (!text.IsOk()) return Unusable(place, text.GetStatus());
      token = *std::move(text);
    }
    if (IsHeaderText(token)) return token;
    return Unusable(place, StrCat(file ? *file : "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                                  ": the token contains a line end or control character"));
  }

  const ProviderContext context_;
};

}  // namespace

Status CheckContainerUrl(std::string_view url) {
  SMD_ASSIGN_OR_RETURN(const net::Uri uri, net::ParseUri(url));
  if (uri.has_user_info) return Unsupported("the URL contains a user name; remove it");
  if (uri.IsTls() || IsLoopback(uri.host)) return Status::Ok();
  if (IsTrustedIpv4(uri.host) || IsTrustedIpv6(uri.host)) return Status::Ok();
  return Unsupported(StrCat("http to ", uri.HostAndPort(),
                            " is refused: use https, or one of loopback, 169.254.170.2, "
                            "169.254.170.23 and fd00:ec2::23"));
}

ProviderPtr MakeContainerProvider(const ProviderContext &context) {
  return std::make_shared<ContainerProvider>(context);
}

}  // namespace smdebug::aws
