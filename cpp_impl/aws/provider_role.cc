#include <algorithm>

#include "aws/providers.h"
#include "aws/sts.h"
#include "base/json.h"
#include "base/strings.h"

namespace smdebug::aws {
namespace {

// Follows source_profile from the selected profile to a profile with keys, then assumes the
// roles on the way back.
class RoleWalk {
 public:
  RoleWalk(const ProviderContext &context, const Profiles &profiles)
      : context_(context), profiles_(profiles) {}

  Result<Credentials> Assume(const std::string &profile) {
    const std::string place = StrCat("profile ", profile);
    const auto is_visited = std::ranges::find(visited_, profile) != visited_.end();
    visited_.push_back(profile);
    if (is_visited) {
      return Unusable(place, StrCat("its source_profile settings form a loop: ",
                                    Join(visited_, " -> "), "; give one of them keys"));
    }
    if (profiles_.Find(profile, "mfa_serial")) {
      return Unusable(place,
                      "mfa_serial: roles that require multi-factor authentication are not "
                      "supported; assume the role beforehand and export its keys");
    }
    SMD_ASSIGN_OR_RETURN(const Role role, RoleOf(profile, place));
    SMD_ASSIGN_OR_RETURN(const Credentials caller, CallerFor(profile, place));
    return AssumeRole(context_, profiles_, role, caller,
                      StrCat("role ", role.arn, " of profile ", profile));
  }

 private:
  Result<Role> RoleOf(const std::string &profile, const std::string &place) const {
    Role role;
    role.arn = profiles_.Find(profile, "role_arn").value_or("");
    role.session_name = profiles_.Find(profile, "role_session_name").value_or("");
    role.external_id = profiles_.Find(profile, "external_id").value_or("");
    if (const auto text = profiles_.Find(profile, "duration_seconds")) {
      role.duration_seconds = ParseInt(*text);
      if (!role.duration_seconds) return Unusable(place, "duration_seconds is not a whole number");
    }
    return role;
  }

  Result<Credentials> CallerFor(const std::string &profile, const std::string &place) {
    const auto source = profiles_.Find(profile, "source_profile");
    const auto kind = profiles_.Find(profile, "credential_source");
    if (source && kind) {
      return Unusable(place, "has both source_profile and credential_source; keep one");
    }
    if (kind) return FromSource(*kind, place);
    if (!source) {
      return Unusable(place, "has role_arn but neither source_profile nor credential_source");
    }
    if (!profiles_.Has(*source)) return Unusable(place, profiles_.Check(*source));
    return OfSourceProfile(*source);
  }

  Result<Credentials> FromSource(const std::string &kind, const std::string &place) const {
    ProviderPtr provider;
    if (kind == "Environment") {
      provider = MakeEnvironmentProvider(context_.variables);
    } else if (kind == "Ec2InstanceMetadata") {
      provider = MakeInstanceProvider(context_);
    } else if (kind == "EcsContainer") {
      provider = MakeContainerProvider(context_);
    } else {
      return Unusable(place, StrCat("credential_source '", Excerpt(kind),
                                    "' is unknown; use Environment, Ec2InstanceMetadata or "
                                    "EcsContainer"));
    }
    return MustHave(provider->Get(), place);
  }

  // The profile's own keys take precedence over its role, so a profile may be its own source.
  Result<Credentials> OfSourceProfile(const std::string &profile) {
    auto by_sso = BySso(context_, profiles_, profile);
    if (by_sso.IsOk() || by_sso.GetStatus().GetCode() != Code::kNotFound) return by_sso;
    for (const bool in_credentials : {true, false}) {
      const IniSection *section =
          in_credentials ? profiles_.InCredentials(profile) : profiles_.InConfig(profile);
      auto keys = KeysIn(section, profile,
                         in_credentials ? profiles_.CredentialsPath() : profiles_.ConfigPath());
      if (keys.IsOk() || keys.GetStatus().GetCode() != Code::kNotFound) return keys;
    }
    if (profiles_.Find(profile, "web_identity_token_file")) {
      return ByWebIdentity(context_, profiles_, profile);
    }
    if (profiles_.Find(profile, "role_arn")) return Assume(profile);
    auto by_process = ByProcess(profiles_, profile, {});
    if (by_process.IsOk() || by_process.GetStatus().GetCode() != Code::kNotFound) {
      return by_process;
    }
    SMD_RETURN_IF_ERROR(CheckNeedsNoSignOn(profiles_, profile));
    return Unusable(StrCat("profile ", profile),
                    "is a source_profile but has no keys, role or credential_process");
  }

  // Turns NOT_FOUND into an error: here no other place remains to search.
  static Result<Credentials> MustHave(Result<Credentials> found, const std::string &place) {
    if (found.IsOk() || found.GetStatus().GetCode() != Code::kNotFound) return found;
    return Unusable(
        place, StrCat("its credential_source has no credentials: ", found.GetStatus().Message()));
  }

  const ProviderContext &context_;
  const Profiles &profiles_;
  std::vector<std::string> visited_;
};

class RoleProvider final : public CredentialsProvider {
 public:
  explicit RoleProvider(ProviderContext context) : context_(std::move(context)) {}

  Result<Credentials> Get() override {
    SMD_ASSIGN_OR_RETURN(const Profiles profiles, ReadProfiles(context_));
    const std::string &profile = profiles.Selected();
    const auto has = [&](const char *key) { return profiles.Find(profile, key).has_value(); };
    const bool has_source = has("source_profile") || has("credential_source");
    if (!has("role_arn") || (has("web_identity_token_file") && !has_source)) {
      return NothingAt(StrCat("role of profile ", profile));
    }
    return RoleWalk(context_, profiles).Assume(profile);
  }

 private:
  const ProviderContext context_;
};

}  // namespace

ProviderPtr MakeRoleProvider(const ProviderContext &context) {
  return std::make_shared<RoleProvider>(context);
}

}  // namespace smdebug::aws
