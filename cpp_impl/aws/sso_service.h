// The two requests to IAM Identity Center (SSO) that lead from a cached token to credentials.
#pragma once

#include <string>
#include <string_view>

#include "aws/credentials.h"
#include "aws/provider_context.h"
#include "aws/sso_token.h"
#include "base/result.h"

namespace smdebug::aws {

// A profile's settings for SSO, complete.
struct SsoSettings {
  std::string session;  // empty: the profile has its own start URL
  std::string start_url;
  std::string region;
  std::string account_id;
  std::string role_name;
};

// These functions send tokens over https to any server, and over http only to a loopback address.
// They fail with CREDENTIALS; messages begin with `place` and contain no secret, even if the server
// echoes one.  If the service refuses the token, the detail "sso" is "refused".

// Requests the credentials of the account's role.  `place` becomes their source.
Result<Credentials> GetRoleCredentials(const ProviderContext &context, const Profiles &profiles,
                                       const SsoSettings &settings, const SsoToken &token,
                                       const std::string &place);

// Exchanges the refresh token for a new token.
Result<SsoToken> RenewSsoToken(const ProviderContext &context, const Profiles &profiles,
                               const SsoSettings &settings, const SsoToken &token,
                               const std::string &place);

}  // namespace smdebug::aws
