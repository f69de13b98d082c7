#include "aws/default_provider.h"

#include "aws/providers.h"

namespace smdebug::aws {
namespace {

std::vector<ProviderPtr> Places(const ProviderContext &context) {
  std::vector<ProviderPtr> places;
  if (!context.is_profile_given) places.push_back(MakeEnvironmentProvider(context.variables));
  places.push_back(MakeRoleProvider(context));
  places.push_back(MakeWebIdentityProvider(context));
  places.push_back(MakeSsoProvider(context));
  places.push_back(MakeCredentialsFileProvider(context));
  places.push_back(MakeProcessProvider(context));
  places.push_back(MakeConfigFileProvider(context));
  // After the keys: programs that sign on for the user store keys next to these settings.
  places.push_back(MakeSignOnRefusal(context));
  places.push_back(MakeContainerProvider(context));
  places.push_back(MakeInstanceProvider(context));
  return places;
}

}  // namespace

Result<std::shared_ptr<CredentialsProvider>> MakeDefaultProvider(const CredentialsOptions &options,
                                                                 const Variables &variables,
                                                                 std::shared_ptr<net::Http> http,
                                                                 Clock &clock,
                                                                 const Logger &logger) {
  if (options.access_key.empty() != options.secret_key.empty()) {
    return InvalidArgument("AWS access key and secret key: one is given, the other is not");
  }
  if (!options.access_key.empty()) {
    Credentials credentials{options.access_key, options.secret_key, options.session_token};
    credentials.source = "the given options";
    return MakeStaticProvider(std::move(credentials));
  }
  SMD_ASSIGN_OR_RETURN(const RetryPolicy retry, RetryPolicyFrom(variables));
  ProviderContext context{std::move(http), variables, ProfileFiles(variables, options.profile)};
  context.region = options.region;
  context.is_profile_given = !options.profile.empty();
  context.retry = retry;
  context.clock = &clock;
  context.logger = logger;
  return MakeCachingProvider(MakeChain(Places(context)), clock);
}

}  // namespace smdebug::aws
