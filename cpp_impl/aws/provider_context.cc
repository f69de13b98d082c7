#include "aws/provider_context.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/strings.h"

namespace smdebug::aws {

Status NothingAt(std::string place) { return {Code::kNotFound, std::move(place)}; }

Status Unusable(std::string_view place, std::string_view what) {
  return {Code::kCredentials, StrCat("AWS credentials: ", place, ": ", what)};
}

Status Unusable(std::string_view place, const Status &cause) {
  if (cause.GetCode() == Code::kAfterFork) return cause;
  return Unusable(place, cause.Message()).With("cause", CodeName(cause.GetCode()));
}

Result<Profiles> ReadProfiles(const ProviderContext &context) {
  auto profiles = context.files.Read();
  if (!profiles.IsOk()) return Unusable("profiles", profiles.GetStatus());
  const Status is_there = profiles->Check(profiles->Selected());
  if (!is_there.IsOk()) return Unusable("profiles", is_there);
  return profiles;
}

Result<net::Response> SendWithRetries(const ProviderContext &context, const net::Request &request,
                                      ServiceCode service_code) {
  RetryBudget budget;
  Retries retries(context.retry, budget, context.random);
  while (true) {
    auto response = context.http->Send(request);
    RetryKind kind = RetryKind::kNone;
    std::optional<Clock::Duration> asked;
    if (response.IsOk()) {
      const bool has_code = service_code != nullptr && response->status >= 400;
      kind = Classify(response->status, has_code ? service_code(*response) : "");
      asked = RetryAfter(*response);
    } else {
      kind = Classify(response.GetStatus());
    }
    const std::optional<Clock::Duration> delay = retries.Next(kind, asked);
    if (!delay) return response;
    Pause(*context.clock, *delay);
  }
}

// Accepts only four decimal numbers: resolvers disagree on "127.1" or "0x7f.0.0.1".
bool IsLoopback(const std::string &host) {
  if (host == "localhost") return true;
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) == 1) return ntohl(address.s_addr) >> 24U == 127;
  in6_addr address6{};
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return is_bracketed &&
         inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address6) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&address6);
}

bool IsHeaderText(std::string_view text) {
  return std::ranges::none_of(text, [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F;
  });
}

}  // namespace smdebug::aws
