// The places where credentials are looked for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aws/credentials.h"
#include "aws/ini.h"
#include "aws/process.h"
#include "aws/profile.h"
#include "aws/provider_context.h"

namespace smdebug::aws {

using ProviderPtr = std::shared_ptr<CredentialsProvider>;

// Always the same.
ProviderPtr MakeStaticProvider(Credentials credentials);

// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
ProviderPtr MakeEnvironmentProvider(const Variables &variables);

// The selected profile's role_arn, with credentials of its source_profile (which may have
// a role itself) or of its credential_source.  A loop of profiles fails with a message
// that shows it; mfa_serial is not supported.
ProviderPtr MakeRoleProvider(const ProviderContext &context);

// AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME, or the settings of
// those names in the selected profile.  The token file is read each time.
ProviderPtr MakeWebIdentityProvider(const ProviderContext &context);

// Keys in the shared credentials file, and in the config file.
ProviderPtr MakeCredentialsFileProvider(const ProviderContext &context);
ProviderPtr MakeConfigFileProvider(const ProviderContext &context);

// The selected profile's credential_process.
ProviderPtr MakeProcessProvider(const ProviderContext &context, const ProcessLimits &limits = {});

// Has none ever, and fails with CREDENTIALS if the selected profile wants a sign-on in a
// browser (SSO, `aws login`).
ProviderPtr MakeSsoRefusal(const ProviderContext &context);

// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, with the token of
// AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE or _TOKEN.
ProviderPtr MakeContainerProvider(const ProviderContext &context);

// The machine's metadata service, version 2.  NOT_FOUND if there is none, or the machine
// has no role; its credentials may outlive their expiry.
ProviderPtr MakeInstanceProvider(const ProviderContext &context);

// The first that does not fail with NOT_FOUND.  If all do: CREDENTIALS, with all the
// places and what to do.
ProviderPtr MakeChain(std::vector<ProviderPtr> providers);

// Remembers what `source` gave until shortly before it expires.
//   15 min before   one thread asks anew, the others go on with the old ones
//   10 min before   all wait for the new ones
//   refused         all wait for the new ones, once for each refusal
// If none can be had, the old ones are given until they expire, and beyond that if they
// may outlive it; asked for again after some seconds.
ProviderPtr MakeCachingProvider(ProviderPtr source, Clock &clock);

// Parts of several providers.  All fail as Get() does, with `profile` in the message.

// The static keys in a section; `section` may be nullptr.
Result<Credentials> KeysIn(const IniSection *section, const std::string &profile,
                           const std::string &path);
// Of the profile's credential_process.
Result<Credentials> ByProcess(const Profiles &profiles, const std::string &profile,
                              const ProcessLimits &limits);
// Of the profile's web_identity_token_file and role_arn.
Result<Credentials> ByWebIdentity(const ProviderContext &context, const Profiles &profiles,
                                  const std::string &profile);
// CREDENTIALS if the profile wants a sign-on in a browser.
Status CheckNeedsNoSso(const Profiles &profiles, const std::string &profile);

// Whether credentials, or the token for them, may be sent to such a server of one's own:
// over https any; over http only loopback and the addresses that AWS sets aside.
// UNSUPPORTED, or INVALID_ARGUMENT for what is no URL; the message does not hold it.
Status CheckContainerUrl(std::string_view url);

}  // namespace smdebug::aws
