// Who asks: keys, and where they come from.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace smdebug::aws {

// Never printed: no stream operator, no message holds one.
struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;           // empty: none
  std::optional<double> expires_at{};  // seconds since 1970; never, if empty
  std::string source{};                // "environment", "profile default", ...; for messages
  // Better than none when they have expired and no others can be had: while a machine's
  // metadata service is down, AWS goes on to accept what it gave.
  bool may_outlive_expiry = false;
};

// One place to look, or several, or one that remembers.  Safe from any thread.
class CredentialsProvider {
 public:
  virtual ~CredentialsProvider() = default;

  // Fails with NOT_FOUND where this source has none and the next is to be asked, with
  // CREDENTIALS (the message says which file, variable or server, and what to do)
  // where it should have some and does not.
  virtual Result<Credentials> Get() = 0;

  // The server refused what Get() gave as expired: the next Get() asks anew.
  virtual void Refuse(const Credentials &refused) { (void)refused; }
};

}  // namespace smdebug::aws
