#include "profile/config_file.h"

#include <sys/stat.h>

#include "base/environment.h"
#include "base/small_file.h"

namespace smdebug::profile {

std::string ProfilerConfigPath(std::string_view path) {
  if (!path.empty()) return std::string(path);
  return Environment("SMPROFILER_CONFIG_PATH").value_or("/opt/ml/input/config/profilerconfig.json");
}

[[gnu::hot]] bool ConfigFile::HasChanged() {
  struct stat facts {};
  State now;
  if (stat(path_.c_str(), &facts) == 0) {
    now = {.exists = true,
           .file = facts.st_ino,
           .size = facts.st_size,
           .seconds = facts.st_mtim.tv_sec,
           .nanoseconds = facts.st_mtim.tv_nsec};
  }
  if (now == state_) return false;
  state_ = now;
  return true;
}

Result<std::optional<std::string>> ConfigFile::Read() const {
  auto text = ReadSmallFile(path_);
  if (text.GetStatus().GetCode() == Code::kNotFound) return std::optional<std::string>();
  SMD_RETURN_IF_ERROR(text.GetStatus());
  return std::optional<std::string>(*std::move(text));
}

}  // namespace smdebug::profile
