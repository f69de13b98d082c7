#include "aws/default_provider.h"
#include "aws/endpoint.h"
#include "aws/profile.h"
#include "aws/variables.h"
#include "net/curl_http.h"
#include "storage/s3_store.h"
#include "storage/s3_support.h"

namespace smdebug::storage {
namespace {

aws::Addressing AddressingOf(const std::string &name) {
  if (name == "virtual") return aws::Addressing::kVirtualHost;
  return name == "path" ? aws::Addressing::kPath : aws::Addressing::kAutomatic;
}

Result<aws::RetryPolicy> PolicyOf(const StoreOptions &options, const aws::Variables &variables) {
  SMD_ASSIGN_OR_RETURN(aws::RetryPolicy policy, aws::RetryPolicyFrom(variables));
  if (options.max_attempts > 0) policy.max_attempts = options.max_attempts;
  return policy;
}

net::Timeouts TimeoutsOf(const StoreOptions &options) {
  net::Timeouts timeouts;
  const auto set = [](Clock::Duration given, Clock::Duration *timeout) {
    if (given > Clock::Duration::zero()) *timeout = given;
  };
  set(options.connect_time, &timeouts.connect);
  set(options.first_byte_time, &timeouts.first_byte);
  set(options.stall_time, &timeouts.stall);
  return timeouts;
}

}  // namespace

bool HasS3() { return true; }

Result<std::shared_ptr<aws::S3Client>> OpenS3Client(const std::string &bucket,
                                                    const StoreOptions &given,
                                                    const Logger &logger) {
  SMD_ASSIGN_OR_RETURN(const StoreOptions options, given.WithEnvironment());
  const aws::Variables variables = aws::Variables::OfProcess();
  SMD_ASSIGN_OR_RETURN(const aws::Profiles profiles,
                       aws::ProfileFiles(variables, options.profile).Read());
  aws::S3Parts parts;
  parts.bucket = bucket;
  const aws::S3Settings settings{options.region, options.endpoint, AddressingOf(options.addressing),
                                 options.ca_bundle};
  SMD_ASSIGN_OR_RETURN(parts.settings, aws::FindS3Settings(settings, variables, profiles));
  parts.signs_payload = options.signs_payload;
  SMD_ASSIGN_OR_RETURN(parts.retry, PolicyOf(options, variables));
  parts.timeouts = TimeoutsOf(options);
  net::HttpOptions http;
  http.ca_bundle = parts.settings.ca_bundle;
  SMD_ASSIGN_OR_RETURN(parts.http, net::OpenCurlHttp(http));
  aws::CredentialsOptions credentials;
  credentials.access_key = options.access_key;
  credentials.secret_key = options.secret_key;
  credentials.session_token = options.session_token;
  credentials.profile = options.profile;
  credentials.region = parts.settings.region;
  SMD_ASSIGN_OR_RETURN(
      parts.credentials,
      aws::MakeDefaultProvider(credentials, variables, parts.http, *parts.clock, logger));
  parts.logger = logger;
  return aws::S3Client::Open(std::move(parts));
}

}  // namespace smdebug::storage
