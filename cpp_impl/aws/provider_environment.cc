#include "aws/providers.h"

namespace smdebug::aws {
namespace {

class EnvironmentProvider final : public CredentialsProvider {
 public:
  explicit EnvironmentProvider(Variables variables) : variables_(std::move(variables)) {}

  Result<Credentials> Get() override {
    const std::optional<std::string> key = variables_.Find("AWS_ACCESS_KEY_ID");
    const std::optional<std::string> secret = variables_.Find("AWS_SECRET_ACCESS_KEY");
    if (!key && !secret) return NothingAt("environment (AWS_ACCESS_KEY_ID is not set)");
    if (!key) return Lacks("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID");
    if (!secret) return Lacks("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY");
    Credentials credentials{*key, *secret, variables_.Find("AWS_SESSION_TOKEN").value_or("")};
    credentials.source = "environment";
    return credentials;
  }

 private:
  static Status Lacks(const std::string &given, const std::string &missing) {
    return Unusable("environment", given + " is set but " + missing + " is not; set both");
  }

  const Variables variables_;
};

}  // namespace

ProviderPtr MakeEnvironmentProvider(const Variables &variables) {
  return std::make_shared<EnvironmentProvider>(variables);
}

}  // namespace smdebug::aws
