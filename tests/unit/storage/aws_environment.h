// An environment in which nobody has said anything of AWS.
#pragma once

#include <stdlib.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/temporary_folder.h"

extern char **environ;

namespace smdebug::storage {

// Only while no other thread reads the environment.
class AwsEnvironment {
 public:
  AwsEnvironment() {
    std::vector<std::string> names;
    for (char **entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text(*entry);
      const std::string_view name = text.substr(0, text.find('='));
      const bool is_proxy = name.ends_with("_proxy") || name.ends_with("_PROXY");
      if (name.starts_with("AWS_") || name.starts_with("SMDEBUG_S3_") || is_proxy ||
          name == "TMPDIR") {
        before_.emplace(name, text.substr(name.size() + 1));
      }
    }
    for (const auto &[name, value] : before_) unsetenv(name.c_str());
    Set("AWS_SHARED_CREDENTIALS_FILE", folder_.Path("credentials"));
    Set("AWS_CONFIG_FILE", folder_.Path("config"));
    Set("AWS_EC2_METADATA_DISABLED", "true");
    Set("TMPDIR", folder_.Path());
  }
  ~AwsEnvironment() {
    for (const std::string &name : set_) unsetenv(name.c_str());
    for (const auto &[name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  AwsEnvironment(const AwsEnvironment &) = delete;
  AwsEnvironment &operator=(const AwsEnvironment &) = delete;

  void Set(const std::string &name, const std::string &value) {
    set_.push_back(name);
    setenv(name.c_str(), value.c_str(), 1);
  }
  const TemporaryFolder &Folder() const { return folder_; }

 private:
  const TemporaryFolder folder_;
  std::map<std::string, std::string> before_;
  std::vector<std::string> set_;
};

}  // namespace smdebug::storage
