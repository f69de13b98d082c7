// The tokens of IAM Identity Center (SSO) that `aws sso login` caches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "aws/variables.h"
#include "base/mutex.h"
#include "base/result.h"

namespace smdebug::aws {

// Must never be printed.
struct SsoToken {
  std::string access_token;
  double expires_at = 0;  // seconds since 1970
  // These renew the token; all may be empty.
  std::string refresh_token{};
  std::string client_id{};
  std::string client_secret{};
  std::string registration_expires_at{};  // as in the file

  // Returns true if the token can be renewed at this time.
  bool CanBeRenewed(double now) const;
};

// Parses the content of a cache file.  Fails with CREDENTIALS; the message begins with `source` and
// contains nothing of the content.
Result<SsoToken> ParseSsoToken(std::string_view text, const std::string &source);

// The file of one session in ~/.aws/sso/cache.  `place` begins every message.
class SsoTokenFile {
 public:
  // `name` is the session's name, or the start URL of a profile without a session.  Fails with
  // CREDENTIALS if HOME is not set.
  static Result<SsoTokenFile> Of(const Variables &variables, std::string_view name,
                                 std::string place);

  // Fails with NOT_FOUND if there is no file.  Fails with CREDENTIALS if it cannot be read, or is
  // not a token; the message contains nothing of its content.
  Result<SsoToken> Read() const;

  // Replaces the file as the AWS command line does: as a whole, readable only by its user.  Fails
  // with IO or PERMISSION.
  Status Write(const SsoToken &token, std::string_view start_url, std::string_view region) const;

  const std::string &Path() const { return path_; }
  const std::string &Folder() const { return folder_; }

 private:
  SsoTokenFile(std::string folder, std::string path, std::string place)
      : folder_(std::move(folder)), path_(std::move(path)), place_(std::move(place)) {}

  std::string folder_;
  std::string path_;
  std::string place_;
};

// Renewed tokens whose files could not be written.  Safe from any thread.
class KeptSsoTokens {
 public:
  void Keep(const std::string &path, const SsoToken &token) SMD_EXCLUDES(mutex_);
  // Returns the token kept for a file, or nothing.
  std::optional<SsoToken> Find(const std::string &path) const SMD_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::map<std::string, SsoToken> tokens_ SMD_GUARDED_BY(mutex_);
};

}  // namespace smdebug::aws
