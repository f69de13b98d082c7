// AWS keys, and the providers that find them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace smdebug::aws {

// Must never be printed: there is no stream operator, and no message contains a key.
struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;           // empty if there is none
  std::optional<double> expires_at{};  // seconds since 1970; empty: never
  std::string source{};                // "environment", "profile default", ...; for messages
  // Use these after their expiry if they cannot be renewed.  While a machine's metadata
  // service is down, AWS continues to accept the credentials that it returned.
  bool may_outlive_expiry = false;
};

// Finds credentials in one place, in several, or in a cache.  Safe from any thread.
class CredentialsProvider {
 public:
  virtual ~CredentialsProvider() = default;

  // Fails with NOT_FOUND if this source has no credentials and the next one should be tried.
  // Fails with CREDENTIALS if this source should have credentials but they are missing or
  // unusable; the message names the file, variable or server, and says what to do.
  virtual Result<Credentials> Get() = 0;

  // Reports that the server refused these credentials as expired; the next Get() renews them.
  virtual void Refuse(const Credentials &refused) { (void)refused; }
};

}  // namespace smdebug::aws
