// What all credentials providers share: their inputs, their requests and their errors.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "aws/credentials.h"
#include "aws/profile.h"
#include "aws/retry.h"
#include "aws/sso_token.h"
#include "aws/variables.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/http.h"

namespace smdebug::aws {

struct ProviderContext {
  std::shared_ptr<net::Http> http;
  Variables variables;
  ProfileFiles files;
  std::string region{};  // empty: the result of ConfiguredRegion()
  // The program selected the profile, so it takes precedence over keys in the environment.
  bool is_profile_given = false;
  RetryPolicy retry{};
  Clock *clock = &Clock::System();
  RandomSource random = SystemRandom();
  Logger logger{};
  // Shared by all copies of this context.
  std::shared_ptr<KeptSsoTokens> kept_sso_tokens = std::make_shared<KeptSsoTokens>();
};

// Returns NOT_FOUND for a place without credentials.  `place` is a few words, suitable for a
// list of places.
Status NothingAt(std::string place);

// Returns CREDENTIALS for a place whose contents cannot be used.
Status Unusable(std::string_view place, std::string_view what);
// Returns the same error because of another failure.  The message of `cause` must not contain
// a secret; its code becomes the detail "cause".  Returns AFTER_FORK unchanged.
Status Unusable(std::string_view place, const Status &cause);

// Reads both files and checks that one of them has the selected profile.  Fails as
// Unusable().
Result<Profiles> ReadProfiles(const ProviderContext &context);

// Returns the <Code> of an error answer, or an empty string.
using ServiceCode = std::string (*)(const net::Response &response);

// Sends a request, and retries transient failures by the context's policy.  Returns the last
// answer or failure.
Result<net::Response> SendWithRetries(const ProviderContext &context, const net::Request &request,
                                      ServiceCode service_code = nullptr);

// Returns true if `host`, of a parsed URL, is "localhost" or a loopback address in its usual form.
bool IsLoopback(const std::string &host);

// Returns true if a header can contain the text: it has no control characters.
bool IsHeaderText(std::string_view text);

}  // namespace smdebug::aws
