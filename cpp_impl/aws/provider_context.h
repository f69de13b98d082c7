// What the providers of credentials ask, and how they fail.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "aws/credentials.h"
#include "aws/profile.h"
#include "aws/retry.h"
#include "aws/variables.h"
#include "base/clock.h"
#include "net/http.h"

namespace smdebug::aws {

struct ProviderContext {
  std::shared_ptr<net::Http> http;
  Variables variables;
  ProfileFiles files;
  std::string region{};  // empty: as ConfiguredRegion()
  // The profile was chosen by the program, which counts more than keys that happen to be
  // in the environment.
  bool is_profile_given = false;
  RetryPolicy retry{};
  Clock *clock = &Clock::System();
  RandomSource random = SystemRandom();
};

// Says that a place holds nothing: `place` in a few words, as a list of them can hold it.
Status NothingAt(std::string place);

// Says that a place holds something that is no use.
Status Unusable(std::string_view place, std::string_view what);
// The same because of another failure, whose message must hold no secret and whose code
// becomes the detail "cause".  AFTER_FORK stays what it is.
Status Unusable(std::string_view place, const Status &cause);

// Both files, with the selected profile in one of them; else as Unusable().
Result<Profiles> ReadProfiles(const ProviderContext &context);

// The <Code> of a refusal, or empty.
using ServiceCode = std::string (*)(const net::Response &response);

// Tries again as the context's policy says what cannot be had for now; then gives the last
// answer or failure.
Result<net::Response> SendWithRetries(const ProviderContext &context, const net::Request &request,
                                      ServiceCode service_code = nullptr);

// A header can carry it: no control characters.
bool IsHeaderText(std::string_view text);

}  // namespace smdebug::aws
