// How a store that is not a folder is reached, as its user says it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace smdebug::storage {

// What is empty or zero is found as docs/s3.md says, or has its default.
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

  // Whether Set() knows it: all such names begin with "s3_".
  static bool IsName(std::string_view name);
  // All names, for suggestions.
  static std::vector<std::string_view> Names();

  // INVALID_ARGUMENT for an unknown name, INVALID_CONFIG for a bad value; messages never
  // hold a secret.
  Status Set(std::string_view name, std::string_view value);

  // This with what the environment's SMDEBUG_S3_... say in addition, by the same names
  // in capitals.
  Result<StoreOptions> WithEnvironment() const;

 private:
  std::set<std::string, std::less<>> given_;
};

}  // namespace smdebug::storage
