// Credentials as the AWS command line would find them.
#pragma once

#include <memory>
#include <string>

#include "aws/credentials.h"
#include "aws/variables.h"
#include "base/clock.h"
#include "base/result.h"
#include "net/http.h"

namespace smdebug::aws {

// What the program itself says; all may be empty.
struct CredentialsOptions {
  std::string access_key{};
  std::string secret_key{};
  std::string session_token{};
  std::string profile{};
  std::string region{};  // of STS
};

// Looks, in this order, at: the options' keys; the environment (not if the options name a
// profile); the profile's role; web identity; the shared credentials file;
// credential_process; the config file; the container's server; the machine's.  Remembers
// what it finds until shortly before that expires.  Asks nobody before the first Get().
// Fails with INVALID_ARGUMENT for half a pair of keys, and with INVALID_CONFIG for a wrong
// AWS_MAX_ATTEMPTS.
Result<std::shared_ptr<CredentialsProvider>> MakeDefaultProvider(const CredentialsOptions &options,
                                                                 const Variables &variables,
                                                                 std::shared_ptr<net::Http> http,
                                                                 Clock &clock = Clock::System());

}  // namespace smdebug::aws
