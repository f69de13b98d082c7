#include "aws/providers.h"
#include "base/strings.h"

namespace smdebug::aws {
namespace {

class SsoRefusal final : public CredentialsProvider {
 public:
  explicit SsoRefusal(ProviderContext context) : context_(std::move(context)) {}

  Result<Credentials> Get() override {
    SMD_ASSIGN_OR_RETURN(const Profiles profiles, ReadProfiles(context_));
    SMD_RETURN_IF_ERROR(CheckNeedsNoSso(profiles, profiles.Selected()));
    return NothingAt("");
  }

 private:
  const ProviderContext context_;
};

}  // namespace

Status CheckNeedsNoSso(const Profiles &profiles, const std::string &profile) {
  for (const char *key : {"sso_session", "sso_start_url", "sso_account_id", "login_session"}) {
    if (!profiles.Find(profile, key)) continue;
    return Unusable(StrCat("profile ", profile),
                    StrCat("'", key,
                           "': SSO and login profiles are not supported; export keys with `aws "
                           "configure export-credentials --profile ",
                           profile, " --format env`, or make that a credential_process"));
  }
  return Status::Ok();
}

ProviderPtr MakeSsoRefusal(const ProviderContext &context) {
  return std::make_shared<SsoRefusal>(context);
}

}  // namespace smdebug::aws
