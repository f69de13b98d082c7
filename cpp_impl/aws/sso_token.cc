#include "aws/sso_token.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "aws/credentials_json.h"
#include "aws/digest.h"
#include "aws/provider_context.h"
#include "base/small_file.h"
#include "base/strings.h"
#include "net/http_date.h"

namespace smdebug::aws {
namespace {

constexpr size_t kFileLimit = size_t{64} << 10;

// Old versions of the AWS command line wrote "2020-06-17T10:02:08UTC".
std::optional<double> ParseExpiry(std::string_view text) {
  if (!text.ends_with("UTC")) return net::ParseIsoDate(text);
  text.remove_suffix(3);
  return net::ParseIsoDate(StrCat(text, "Z"));
}

Status WriteAll(int file, std::string_view text, const std::string &path) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("writing", path, errno);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return fsync(file) == 0 ? Status::Ok() : SystemError("syncing", path, errno);
}

// Replaces the file by renaming a temporary file, which mkostemp() creates with mode 0600.
Status ReplaceFile(const std::string &path, std::string_view text) {
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return SystemError("creating a file next to", path, errno);
  Status written = WriteAll(file, text, path);
  if (close(file) != 0 && written.IsOk()) written = SystemError("closing", path, errno);
  if (written.IsOk() && rename(temporary.c_str(), path.c_str()) != 0) {
    written = SystemError("renaming a file to", path, errno);
  }
  if (!written.IsOk()) unlink(temporary.c_str());
  return written;
}

}  // namespace

bool SsoToken::CanBeRenewed(double now) const {
  if (refresh_token.empty() || client_id.empty() || client_secret.empty()) return false;
  const std::optional<double> registered_until = ParseExpiry(registration_expires_at);
  return registered_until && *registered_until > now;
}

Result<SsoTokenFile> SsoTokenFile::Of(const Variables &variables, std::string_view name,
                                      std::string place) {
  if (!variables.Find("HOME")) {
    return Unusable(place, "HOME is not set, so ~/.aws/sso/cache cannot be found");
  }
  auto digest = Sha1(name);
  if (!digest.IsOk()) return Unusable(place, digest.GetStatus());
  std::string folder = variables.ExpandHome("~/.aws/sso/cache");
  std::string path = StrCat(folder, "/", ToHex(*digest), ".json");
  return SsoTokenFile(std::move(folder), std::move(path), std::move(place));
}

Result<SsoToken> SsoTokenFile::Read() const {
  const auto text = ReadSmallFile(path_, kFileLimit);
  if (!text.IsOk() && text.GetStatus().GetCode() == Code::kNotFound) return NothingAt(path_);
  if (!text.IsOk()) return Unusable(place_, text.GetStatus());
  return ParseSsoToken(*text, StrCat(place_, ": ", path_));
}

Result<SsoToken> ParseSsoToken(std::string_view text, const std::string &source) {
  SMD_ASSIGN_OR_RETURN(const JsonDocument document, ParseSecretObject(text, "the file", source));
  const JsonValue root = document.Root();
  SsoToken token;
  SMD_ASSIGN_OR_RETURN(token.access_token, SecretTextAt(root, "accessToken", source));
  SMD_ASSIGN_OR_RETURN(const std::string expiry, SecretTextAt(root, "expiresAt", source));
  SMD_ASSIGN_OR_RETURN(token.refresh_token, SecretTextAt(root, "refreshToken", source));
  SMD_ASSIGN_OR_RETURN(token.client_id, SecretTextAt(root, "clientId", source));
  SMD_ASSIGN_OR_RETURN(token.client_secret, SecretTextAt(root, "clientSecret", source));
  SMD_ASSIGN_OR_RETURN(token.registration_expires_at,
                       SecretTextAt(root, "registrationExpiresAt", source));
  if (token.access_token.empty()) return Unusable(source, "'accessToken' is missing");
  if (!IsHeaderText(token.access_token)) {
    return Unusable(source, "'accessToken' contains a line end or control character");
  }
  const std::optional<double> expires_at = ParseExpiry(expiry);
  if (!expires_at) return Unusable(source, "'expiresAt' is missing, or not an ISO 8601 time");
  token.expires_at = *expires_at;
  return token;
}

Status SsoTokenFile::Write(const SsoToken &token, std::string_view start_url,
                           std::string_view region) const {
  JsonWriter json;
  const auto add = [&](std::string_view key, std::string_view text) {
    json.Key(key);
    json.Text(text);
  };
  json.BeginObject();
  add("startUrl", start_url);
  add("region", region);
  add("accessToken", token.access_token);
  add("expiresAt", net::FormatIsoDate(token.expires_at));
  add("clientId", token.client_id);
  add("clientSecret", token.client_secret);
  add("registrationExpiresAt", token.registration_expires_at);
  if (!token.refresh_token.empty()) add("refreshToken", token.refresh_token);
  json.EndObject();
  return ReplaceFile(path_, json.Written());
}

void KeptSsoTokens::Keep(const std::string &path, const SsoToken &token) {
  const MutexLock lock(mutex_);
  tokens_.insert_or_assign(path, token);
}

std::optional<SsoToken> KeptSsoTokens::Find(const std::string &path) const {
  const MutexLock lock(mutex_);
  const auto found = tokens_.find(path);
  return found == tokens_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace smdebug::aws
