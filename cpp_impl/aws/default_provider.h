// Finds the credentials that the AWS command line would find.
#pragma once

#include <memory>
#include <string>

#include "aws/credentials.h"
#include "aws/variables.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "net/http.h"

namespace smdebug::aws {

// Credentials that the program sets; all may be empty.
struct CredentialsOptions {
  std::string access_key{};
  std::string secret_key{};
  std::string session_token{};
  std::string profile{};
  std::string region{};  // for STS
};

// Returns a provider that searches, in this order: the keys in `options`; the environment
// (unless `options` names a profile); the profile's role; web identity; IAM
// Identity Center (SSO); the shared credentials file; credential_process; the config file; the
// container's credentials server; the machine's metadata service.  Caches the credentials until
// shortly before they expire. Sends no request before the first Get(). Fails with INVALID_ARGUMENT
// if only one of the two keys is set, and with INVALID_CONFIG if AWS_MAX_ATTEMPTS is wrong.
Result<std::shared_ptr<CredentialsProvider>> MakeDefaultProvider(const CredentialsOptions &options,
                                                                 const Variables &variables,
                                                                 std::shared_ptr<net::Http> http,
                                                                 Clock &clock = Clock::System(),
                                                                 const Logger &logger = {});

}  // namespace smdebug::aws
