// One provider for each place that may have credentials.
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

// Always returns `credentials`.
ProviderPtr MakeStaticProvider(Credentials credentials);

// Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
ProviderPtr MakeEnvironmentProvider(const Variables &variables);

// Assumes role_arn of the selected profile, with the credentials of its source_profile (which
// may have a role itself) or of its credential_source.  If the profiles form a loop, the
// message shows it.  mfa_serial is not supported.
ProviderPtr MakeRoleProvider(const ProviderContext &context);

// Uses AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN and AWS_ROLE_SESSION_NAME, or the equivalent
// settings of the selected profile.  Reads the token file each time.
ProviderPtr MakeWebIdentityProvider(const ProviderContext &context);

// Read the keys in the shared credentials file, and in the config file.
ProviderPtr MakeCredentialsFileProvider(const ProviderContext &context);
ProviderPtr MakeConfigFileProvider(const ProviderContext &context);

// Runs credential_process of the selected profile.
ProviderPtr MakeProcessProvider(const ProviderContext &context, const ProcessLimits &limits = {});

// Requests credentials for sso_account_id and sso_role_name of the selected profile from IAM
// Identity Center, with the token that `aws sso login` left in ~/.aws/sso/cache.  If the
// profile names an sso_session, renews the token shortly before it expires, and writes the new one
// to the cache.  The AWS command line needs it there: renewing may invalidate the old one.
ProviderPtr MakeSsoProvider(const ProviderContext &context);

// Never finds credentials.  Fails with CREDENTIALS if the selected profile has incomplete settings
// for SSO, or requires `aws login`.
ProviderPtr MakeSignOnRefusal(const ProviderContext &context);

// Requests AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, with the token of
// AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE or _TOKEN.
ProviderPtr MakeContainerProvider(const ProviderContext &context);

// Requests credentials from the machine's metadata service, version 2.  Fails with NOT_FOUND
// if there is no service, or the machine has no role.  The credentials may outlive their
// expiry.
ProviderPtr MakeInstanceProvider(const ProviderContext &context);

// Returns the result of the first provider that does not fail with NOT_FOUND.  If all do,
// fails with CREDENTIALS; the message lists all places and says what to do.
ProviderPtr MakeChain(std::vector<ProviderPtr> providers);

// Caches the credentials of `source` until shortly before they expire.
//   15 min before   one thread renews them, the others continue with the old credentials
//   10 min before   all threads wait for the new credentials
//   refused         all threads wait for the new credentials, once for each refusal
// If they cannot be renewed, returns the old credentials until they expire, and longer if
// they may outlive their expiry.  Retries the renewal after some seconds.
ProviderPtr MakeCachingProvider(ProviderPtr source, Clock &clock);

// Parts shared by several providers.  All fail as Get() does, with `profile` in the message.

// Returns the static keys in a section; `section` may be nullptr.
Result<Credentials> KeysIn(const IniSection *section, const std::string &profile,
                           const std::string &path);
// Returns the credentials from the profile's credential_process.
Result<Credentials> ByProcess(const Profiles &profiles, const std::string &profile,
                              const ProcessLimits &limits);
// Returns the credentials for the profile's web_identity_token_file and role_arn.
Result<Credentials> ByWebIdentity(const ProviderContext &context, const Profiles &profiles,
                                  const std::string &profile);
// Returns the credentials for the profile's sso_account_id and sso_role_name.
Result<Credentials> BySso(const ProviderContext &context, const Profiles &profiles,
                          const std::string &profile);
// Fails with CREDENTIALS as MakeSignOnRefusal() does.
Status CheckNeedsNoSignOn(const Profiles &profiles, const std::string &profile);

// Checks that credentials, or the token for them, may be sent to this server: any over https;
// over http only loopback and the addresses that AWS reserves for this.  Fails with
// UNSUPPORTED, or with INVALID_ARGUMENT if `url` is not a URL.  The message does not contain
// the URL.
Status CheckContainerUrl(std::string_view url);

}  // namespace smdebug::aws
