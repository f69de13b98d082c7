#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "aws/providers.h"
#include "aws/sso_service.h"
#include "aws/sso_token.h"
#include "base/file_descriptor.h"
#include "base/json.h"
#include "base/strings.h"

namespace smdebug::aws {
namespace {

// Seconds before expiry at which a session's token is renewed, as in the libraries of AWS.
constexpr double kRenewalWindow = 15 * 60;
// The longest wait for another process that renews the same token.
constexpr Clock::Duration kLockTime = std::chrono::seconds(10);
constexpr Clock::Duration kLockPause = std::chrono::milliseconds(50);

bool NeedsSso(const Profiles &profiles, const std::string &profile) {
  return profiles.Find(profile, "sso_account_id") || profiles.Find(profile, "sso_role_name");
}

// Serialises renewals by the processes of this machine: a refresh token may be valid only once.
// If the lock cannot be had, the renewal continues without it.
class RenewalLock {
 public:
  RenewalLock(const std::string &folder, Clock &clock)
      : file_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    const Deadline deadline = Deadline::After(clock, kLockTime);
    while (IsHeldElsewhere() && !deadline.IsOver(clock)) Pause(clock, kLockPause);
  }
  RenewalLock(const RenewalLock &) = delete;
  RenewalLock &operator=(const RenewalLock &) = delete;

 private:
  bool IsHeldElsewhere() const {
    return file_.IsOpen() && flock(file_.Number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  }

  const FileDescriptor file_;
};

// Reads the settings of a profile, and of its sso_session.
class SettingsReader {
 public:
  SettingsReader(const Profiles &profiles, const std::string &profile)
      : profiles_(profiles), profile_(profile), place_(StrCat("profile ", profile)) {}

  Result<SsoSettings> Read() {
    SsoSettings settings;
    settings.session = profiles_.Find(profile_, "sso_session").value_or("");
    if (!settings.session.empty()) {
      session_ = profiles_.SsoSession(settings.session);
      if (session_ == nullptr) {
        return Unusable(place_, StrCat("its sso_session '", Excerpt(settings.session),
                                       "' does not exist; add [sso-session ...] to ",
                                       profiles_.ConfigPath(), " with `aws configure sso`"));
      }
    }
    for (const auto &[key, member] : {std::pair("sso_start_url", &settings.start_url),
                                      std::pair("sso_region", &settings.region),
                                      std::pair("sso_account_id", &settings.account_id),
                                      std::pair("sso_role_name", &settings.role_name)}) {
      SMD_ASSIGN_OR_RETURN(*member, SettingAt(key));
    }
    return settings;
  }

 private:
  Result<std::string> SettingAt(const char *key) const {
    const std::optional<std::string> own = profiles_.Find(profile_, key);
    const std::string *shared = session_ == nullptr ? nullptr : session_->Find(key);
    if (own && shared != nullptr && *own != *shared) {
      return Unusable(place_, StrCat(key, " differs from that of its sso_session; keep one"));
    }
    if (shared != nullptr) return *shared;
    if (own) return *own;
    return Unusable(place_,
                    StrCat(key, " is missing; run `aws configure sso --profile ", profile_, "`"));
  }

  const Profiles &profiles_;
  const std::string &profile_;
  const std::string place_;
  const IniSection *session_ = nullptr;
};

// Finds a token that is valid now.
class TokenFinder {
 public:
  TokenFinder(const ProviderContext &context, const Profiles &profiles, const SsoSettings &settings,
              std::string place, std::string login)
      : context_(context),
        profiles_(profiles),
        settings_(settings),
        place_(std::move(place)),
        login_(std::move(login)) {}

  Result<SsoToken> Find() {
    const std::string &name = settings_.session.empty() ? settings_.start_url : settings_.session;
    SMD_ASSIGN_OR_RETURN(const SsoTokenFile file,
                         SsoTokenFile::Of(context_.variables, name, place_));
    SMD_ASSIGN_OR_RETURN(const SsoToken token, Read(file));
    // The AWS command line renews only the tokens of sessions.
    if (settings_.session.empty() || SecondsLeft(token) > kRenewalWindow) {
      return IfValid(token);
    }
    Status unwritten;
    auto renewed = [&] {
      const RenewalLock lock(file.Folder(), *context_.clock);
      return Renew(file, &unwritten);
    }();
    if (!unwritten.IsOk()) {
      context_.logger.Warning(
          StrCat("the renewed SSO token is kept in memory, for its file cannot be written: ",
                 unwritten.Message(), "; for other programs, ", login_));
    }
    return renewed;
  }

 private:
  double SecondsLeft(const SsoToken &token) const {
    return token.expires_at - context_.clock->WallSeconds();
  }

  Result<SsoToken> IfValid(const SsoToken &token) const {
    if (SecondsLeft(token) > 0) return token;
    return Unusable(place_, StrCat("the SSO token has expired; ", login_));
  }

  // Returns the newest token: that of the file, or one that could not be written to it.
  Result<SsoToken> Read(const SsoTokenFile &file) const {
    auto token = file.Read();
    auto kept = context_.kept_sso_tokens->Find(file.Path());
    if (kept && (!token.IsOk() || token->expires_at < kept->expires_at)) return *std::move(kept);
    if (token.IsOk()) return token;
    if (token.GetStatus().GetCode() != Code::kNotFound) {
      return Status(Code::kCredentials, StrCat(token.GetStatus().Message(), "; ", login_));
    }
    return Unusable(place_, StrCat("there is no SSO token (", file.Path(), "); ", login_));
  }

  Result<SsoToken> Renew(const SsoTokenFile &file, Status *unwritten) {
    SMD_ASSIGN_OR_RETURN(const SsoToken token, Read(file));
    // Another process has renewed it in the meantime.
    if (SecondsLeft(token) > kRenewalWindow) return token;
    if (!token.CanBeRenewed(context_.clock->WallSeconds())) return IfValid(token);
    auto renewed = RenewSsoToken(context_, profiles_, settings_, token, place_);
    if (!renewed.IsOk()) {
      // On another machine with the same home folder, perhaps.
      auto newer = Read(file);
      if (newer.IsOk() && newer->access_token != token.access_token && SecondsLeft(*newer) > 0) {
        return newer;
      }
      const Status &failure = renewed.GetStatus();
      if (SecondsLeft(token) > 0) return token;
      if (failure.GetCode() == Code::kAfterFork) return failure;
      return Status(Code::kCredentials,
                    StrCat(failure.Message(), ": the SSO token has expired; ", login_));
    }
    *unwritten = file.Write(*renewed, settings_.start_url, settings_.region);
    if (!unwritten->IsOk()) context_.kept_sso_tokens->Keep(file.Path(), *renewed);
    return renewed;
  }

  const ProviderContext &context_;
  const Profiles &profiles_;
  const SsoSettings &settings_;
  const std::string place_;
  const std::string login_;  // says how to get a token
};

class SsoProvider final : public CredentialsProvider {
 public:
  explicit SsoProvider(ProviderContext context) : context_(std::move(context)) {}

  Result<Credentials> Get() override {
    SMD_ASSIGN_OR_RETURN(const Profiles profiles, ReadProfiles(context_));
    return BySso(context_, profiles, profiles.Selected());
  }

 private:
  const ProviderContext context_;
};

class SignOnRefusal final : public CredentialsProvider {
 public:
  explicit SignOnRefusal(ProviderContext context) : context_(std::move(context)) {}

  Result<Credentials> Get() override {
    SMD_ASSIGN_OR_RETURN(const Profiles profiles, ReadProfiles(context_));
    SMD_RETURN_IF_ERROR(CheckNeedsNoSignOn(profiles, profiles.Selected()));
    return NothingAt("");
  }

 private:
  const ProviderContext context_;
};

}  // namespace

Result<Credentials> BySso(const ProviderContext &context, const Profiles &profiles,
                          const std::string &profile) {
  const std::string place = StrCat("SSO of profile ", profile);
  if (!NeedsSso(profiles, profile)) return NothingAt(place);
  SMD_ASSIGN_OR_RETURN(const SsoSettings settings, SettingsReader(profiles, profile).Read());
  const std::string login = StrCat("run `aws sso login --profile ", profile, "`");
  SMD_ASSIGN_OR_RETURN(const SsoToken token,
                       TokenFinder(context, profiles, settings, place, login).Find());
  auto credentials = GetRoleCredentials(context, profiles, settings, token, place);
  if (credentials.IsOk()) return credentials;
  const Status &failure = credentials.GetStatus();
  if (failure.Detail("sso") == nullptr) return failure;
  return Status(Code::kCredentials,
                StrCat(failure.Message(), ": the SSO token is no longer valid; ", login));
}

Status CheckNeedsNoSignOn(const Profiles &profiles, const std::string &profile) {
  const std::string place = StrCat("profile ", profile);
  for (const char *key : {"sso_session", "sso_start_url"}) {
    if (!profiles.Find(profile, key)) continue;
    return Unusable(place, StrCat("has ", key,
                                  " but neither sso_account_id nor sso_role_name; run `aws "
                                  "configure sso --profile ",
                                  profile, "`"));
  }
  if (!profiles.Find(profile, "login_session")) return Status::Ok();
  return Unusable(place,
                  StrCat("login_session: profiles of `aws login` are not supported; export keys "
                         "with `aws configure export-credentials --profile ",
                         profile, " --format env`, or make that a credential_process"));
}

ProviderPtr MakeSsoProvider(const ProviderContext &context) {
  return std::make_shared<SsoProvider>(context);
}

ProviderPtr MakeSignOnRefusal(const ProviderContext &context) {
  return std::make_shared<SignOnRefusal>(context);
}

}  // namespace smdebug::aws
