// The user's settings for reaching a store that is not a folder.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace smdebug::storage {

// Settings that are empty or zero are found as docs/s3.md describes, or have their defaults.
struct StoreOptions {
  std::string access_key;
  std::string secret_key;
  std::string session_token;
  std::string profile;
  std::string region;
  std::string endpoint;
  std::string addressing;  // "auto", "virtual" or "path"
  std::string ca_bundle;
  bool signs_payload = true;
  int max_attempts = 0;
  Clock::Duration connect_time{};
  Clock::Duration first_byte_time{};
  Clock::Duration stall_time{};

  // Returns true if Set() accepts the name.  All such names begin with "s3_".
  static bool IsName(std::string_view name);
  // Returns all names, for suggestions.
  static std::vector<std::string_view> Names();

  // Sets an option from text.  Fails with INVALID_ARGUMENT for an unknown name, INVALID_CONFIG for
  // a bad value.  Messages never hold a secret.
  Status Set(std::string_view name, std::string_view value);

  // Returns these options plus those from the environment's SMDEBUG_S3_... variables, which have
  // the same names in capitals.
  Result<StoreOptions> WithEnvironment() const;

 private:
  std::set<std::string, std::less<>> given_;
};

}  // namespace smdebug::storage
