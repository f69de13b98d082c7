// Assumes roles through the Security Token Service.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "aws/credentials.h"
#include "aws/profile.h"
#include "aws/provider_context.h"
#include "base/result.h"

namespace smdebug::aws {

struct Role {
  std::string arn;
  std::string session_name{};  // empty: a default name
  std::string external_id{};
  std::optional<int64_t> duration_seconds{};
};

// Both functions send a request to https://sts.<region>.amazonaws.com, or to the endpoint that
// is configured for "sts".  They fail with CREDENTIALS.  The message includes the service's
// message, but no secret or token; the detail "sts_code" is the service's code.  `source`
// becomes the source of the credentials.

Result<Credentials> AssumeRole(const ProviderContext &context, const Profiles &profiles,
                               const Role &role, const Credentials &caller,
                               const std::string &source);

Result<Credentials> AssumeRoleWithWebIdentity(const ProviderContext &context,
                                              const Profiles &profiles, const Role &role,
                                              std::string_view token, const std::string &source);

}  // namespace smdebug::aws
