// Named profiles: what the files of the AWS command line say about one of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "aws/ini.h"
#include "aws/variables.h"
#include "base/result.h"

namespace smdebug::aws {

// Both files as they were read.
class Profiles {
 public:
  Profiles(IniFile credentials, IniFile config, std::string selected)
      : credentials_(std::move(credentials)),
        config_(std::move(config)),
        selected_(std::move(selected)) {}

  // The profile that is used: the one asked for, else AWS_PROFILE, else "default".
  const std::string &Selected() const { return selected_; }

  // The profile's section of a file, or nullptr.
  const IniSection *InCredentials(std::string_view profile) const;
  const IniSection *InConfig(std::string_view profile) const;

  bool Has(std::string_view profile) const;
  // INVALID_CONFIG, with both paths and the nearest name, if there is no such profile;
  // "default" need not be there.
  Status Check(std::string_view profile) const;

  // A setting of either file; the credentials file counts first.
  std::optional<std::string> Find(std::string_view profile, std::string_view key) const;
  // Of the selected profile: `s3 =` and below it `addressing_style = path`.
  std::optional<std::string> FindNested(std::string_view key, std::string_view nested_key) const;
  // Of the section [services x] that the selected profile names.
  std::optional<std::string> FindForService(std::string_view service, std::string_view key) const;

  const std::string &CredentialsPath() const { return credentials_.path; }
  const std::string &ConfigPath() const { return config_.path; }

 private:
  IniFile credentials_;
  IniFile config_;
  std::string selected_;
};

// Where the files are, to be read whenever credentials are wanted: other programs renew
// keys in them.
class ProfileFiles {
 public:
  // AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE, else credentials and config in
  // ~/.aws.  `profile` may be empty.
  ProfileFiles(const Variables &variables, std::string_view profile);

  // Missing files are empty ones.  Fails with INVALID_CONFIG, PERMISSION or IO; messages
  // name the file and line, never a value.
  Result<Profiles> Read() const;

  const std::string &Selected() const { return selected_; }
  const std::string &CredentialsPath() const { return credentials_path_; }
  const std::string &ConfigPath() const { return config_path_; }

 private:
  std::string credentials_path_;  // empty if HOME is not known
  std::string config_path_;
  std::string selected_;
};

}  // namespace smdebug::aws
