// Named profiles in the configuration files of the AWS command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "aws/ini.h"
#include "aws/variables.h"
#include "base/result.h"

namespace smdebug::aws {

// The contents of both files.
class Profiles {
 public:
  Profiles(IniFile credentials, IniFile config, std::string selected)
      : credentials_(std::move(credentials)),
        config_(std::move(config)),
        selected_(std::move(selected)) {}

  // Returns the profile in use: the requested one, else AWS_PROFILE, else "default".
  const std::string &Selected() const { return selected_; }

  // Return the profile's section of a file, or nullptr.
  const IniSection *InCredentials(std::string_view profile) const;
  const IniSection *InConfig(std::string_view profile) const;

  bool Has(std::string_view profile) const;
  // Fails with INVALID_CONFIG if the profile does not exist, except for "default"; the message
  // has both paths and the most similar name.
  Status Check(std::string_view profile) const;

  // Returns a setting of either file; the credentials file takes precedence.
  std::optional<std::string> Find(std::string_view profile, std::string_view key) const;
  // Returns a nested setting of the selected profile: for `s3 =` with `addressing_style =
  // path` below it, these are `key` and `nested_key`.
  std::optional<std::string> FindNested(std::string_view key, std::string_view nested_key) const;
  // Returns a setting of the section [services x] that the selected profile refers to.
  std::optional<std::string> FindForService(std::string_view service, std::string_view key) const;

  // Returns the section [sso-session `name`], or nullptr.
  const IniSection *SsoSession(std::string_view name) const;

  const std::string &CredentialsPath() const { return credentials_.path; }
  const std::string &ConfigPath() const { return config_.path; }

 private:
  IniFile credentials_;
  IniFile config_;
  std::string selected_;
};

// The paths of both files.  They are read each time credentials are needed, since other
// programs renew the keys in them.
class ProfileFiles {
 public:
  // The paths are AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE, else credentials and
  // config in ~/.aws.  `profile` may be empty.
  ProfileFiles(const Variables &variables, std::string_view profile);

  // A missing file counts as empty.  Fails with INVALID_CONFIG, PERMISSION or IO; messages
  // contain the file and line, never a value.
  Result<Profiles> Read() const;

  const std::string &Selected() const { return selected_; }
  const std::string &CredentialsPath() const { return credentials_path_; }
  const std::string &ConfigPath() const { return config_path_; }

 private:
  std::string credentials_path_;  // empty if HOME is unknown
  std::string config_path_;
  std::string selected_;
};

}  // namespace smdebug::aws
