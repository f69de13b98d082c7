#include "aws/providers.h"
#include "aws/sts.h"
#include "base/small_file.h"
#include "base/strings.h"

namespace smdebug::aws {
namespace {

constexpr size_t kTokenLimit = size_t{64} << 10;

Result<Credentials> Exchange(const ProviderContext &context, const Profiles &profiles,
                             const Role &role, const std::string &token_file,
                             const std::string &place) {
  const auto text = ReadSmallFile(token_file, kTokenLimit);
  if (!text.IsOk()) return Unusable(place, text.GetStatus());
  const std::string_view token = Trim(*text);
  if (token.empty()) return Unusable(place, StrCat(token_file, ": is empty"));
  return AssumeRoleWithWebIdentity(context, profiles, role, token, place);
}

class WebIdentityProvider final : public CredentialsProvider {
 public:
  explicit WebIdentityProvider(ProviderContext context) : context_(std::move(context)) {}

  Result<Credentials> Get() override {
    const Variables &variables = context_.variables;
    const std::optional<std::string> file = variables.Find("AWS_WEB_IDENTITY_TOKEN_FILE");
    if (!file || context_.is_profile_given) {
      SMD_ASSIGN_OR_RETURN(const Profiles profiles, ReadProfiles(context_));
      return ByWebIdentity(context_, profiles, profiles.Selected());
    }
    const std::optional<std::string> arn = variables.Find("AWS_ROLE_ARN");
    if (!arn) {
      return Unusable("web identity",
                      "AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN is not; set both");
    }
    // The files may contain the region; the selected profile need not exist.
    const auto profiles = context_.files.Read();
    if (!profiles.IsOk()) return Unusable("web identity", profiles.GetStatus());
    const Role role{*arn, variables.Find("AWS_ROLE_SESSION_NAME").value_or("")};
    return Exchange(context_, *profiles, role, *file, StrCat("web identity for ", *arn));
  }

 private:
  const ProviderContext context_;
};

}  // namespace

Result<Credentials> ByWebIdentity(const ProviderContext &context, const Profiles &profiles,
                                  const std::string &profile) {
  const std::string place = StrCat("web identity of profile ", profile);
  const auto file = profiles.Find(profile, "web_identity_token_file");
  if (!file) return NothingAt("web identity (AWS_WEB_IDENTITY_TOKEN_FILE is not set)");
  const auto arn = profiles.Find(profile, "role_arn");
  if (!arn) return Unusable(place, "web_identity_token_file is set but role_arn is not");
  const Role role{*arn, profiles.Find(profile, "role_session_name").value_or("")};
  return Exchange(context, profiles, role, context.variables.ExpandHome(*file), place);
}

ProviderPtr MakeWebIdentityProvider(const ProviderContext &context) {
  return std::make_shared<WebIdentityProvider>(context);
}

}  // namespace smdebug::aws
