#include "config/json_settings.h"

#include <cmath>

#include "base/strings.h"

namespace smdebug::config {
namespace {

Status Wrong(const JsonValue &json, std::string_view wanted, std::string_view text) {
  return InvalidConfig(
      StrCat(json.Place(), ": expected ", wanted, ", found '", Excerpt(text), "'"));
}

}  // namespace

std::optional<JsonValue> FindGiven(const JsonValue &object, std::string_view key) {
  std::optional<JsonValue> found = object.Find(key);
  if (found && found->IsNull()) return {};
  return found;
}

Status CheckIsObject(const JsonValue &json) {
  if (json.IsObject()) return Status::Ok();
  return InvalidConfig(StrCat(json.Place(), ": expected an object, found ", json.Kind()));
}

Result<int64_t> WholeNumber(const JsonValue &json) {
  if (!json.IsText()) return json.Int();
  SMD_ASSIGN_OR_RETURN(const std::string text, json.Text());
  const std::optional<int64_t> number = ParseInt(text);
  if (!number) return Wrong(json, "a whole number", text);
  return *number;
}

Result<double> Number(const JsonValue &json) {
  if (!json.IsText()) return json.Number();
  SMD_ASSIGN_OR_RETURN(const std::string text, json.Text());
  const std::optional<double> number = ParseDouble(Trim(text));
  if (!number || !std::isfinite(*number)) return Wrong(json, "a number", text);
  return *number;
}

Result<bool> Switch(const JsonValue &json) {
  if (!json.IsText()) return json.Bool();
  SMD_ASSIGN_OR_RETURN(const std::string text, json.Text());
  const std::string lower = ToLower(Trim(text));
  if (lower != "true" && lower != "false") return Wrong(json, "true or false", text);
  return lower == "true";
}

Result<std::vector<std::string>> Texts(const JsonValue &json) {
  if (!json.IsArray()) {
    return InvalidConfig(StrCat(json.Place(), ": expected a list of texts, found ", json.Kind()));
  }
  std::vector<std::string> texts;
  for (const JsonValue &item : json.Items()) {
    SMD_ASSIGN_OR_RETURN(std::string text, item.Text());
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace smdebug::config
