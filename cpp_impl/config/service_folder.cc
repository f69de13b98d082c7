#include "config/service_folder.h"

#include "base/environment.h"
#include "base/json.h"
#include "base/small_file.h"
#include "base/strings.h"
#include "config/json_settings.h"

namespace smdebug::config {
namespace {

Result<std::optional<std::string>> ReadFolder(std::string_view text) {
  SMD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  const JsonValue root = document.Root();
  SMD_RETURN_IF_ERROR(CheckIsObject(root));
  const std::optional<JsonValue> folder = root.Find("LocalPath");
  if (!folder) return std::optional<std::string>();
  SMD_ASSIGN_OR_RETURN(std::string named, folder->Text());
  return std::optional<std::string>(std::move(named));
}

}  // namespace

Result<std::optional<std::string>> ServiceFolder(const char *variable, const char *default_path) {
  const std::string path = Environment(variable).value_or(default_path);
  const auto text = ReadSmallFile(path);
  if (text.GetStatus().GetCode() == Code::kNotFound) return std::optional<std::string>();
  SMD_RETURN_IF_ERROR(text.GetStatus());
  auto folder = ReadFolder(*text);
  if (folder.IsOk()) return folder;
  return InvalidConfig(StrCat(path, ": ", folder.GetStatus().Message())).With("path", path);
}

}  // namespace smdebug::config
