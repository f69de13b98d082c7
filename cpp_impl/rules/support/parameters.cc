#include "rules/support/parameters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/strings.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

bool IsNone(std::string_view text) { return text.empty() || text == "None"; }

// Returns a text as it is, and a number or a truth value as a text that stands for it.
Result<std::string> TextOf(const JsonValue &value) {
  if (value.IsBool()) {
    SMD_ASSIGN_OR_RETURN(const bool is_true, value.Bool());
    return std::string(is_true ? "true" : "false");
  }
  if (!value.IsNumber()) return value.Text();
  if (const Result<int64_t> whole = value.Int(); whole.IsOk()) return std::to_string(*whole);
  SMD_ASSIGN_OR_RETURN(const double number, value.Number());
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return std::string(text.data(), end);
}

}  // namespace

std::string_view ProfileName(Profile profile) {
  return profile == Profile::kAws ? "aws" : "calibrated";
}

std::optional<Profile> ProfileFromName(std::string_view name) {
  if (name == "aws") return Profile::kAws;
  if (name == "calibrated") return Profile::kCalibrated;
  return std::nullopt;
}

Result<Parameters> Parameters::Make(std::string_view rule, std::span<const ParameterSpec> specs,
                                    Given given, Profile profile) {
  std::vector<std::string_view> names;
  for (const ParameterSpec &spec : specs) names.push_back(spec.name);
  for (const auto &[name, value] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return InvalidConfig(StrCat(rule, " has no parameter '", name.substr(0, 64), "'",
                                DidYouMean(name, names)))
        .With("key", name);
  }
  return Parameters(rule, specs, std::move(given), profile);
}

Result<Parameters::Given> Parameters::FromJson(std::string_view json) {
  Given given;
  if (Trim(json).empty()) return given;
  SMD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  if (!document.Root().IsObject()) return InvalidConfig("rule parameters must be a JSON object");
  for (const auto &[name, value] : document.Root().Members()) {
    SMD_ASSIGN_OR_RETURN(given[name], TextOf(value));
  }
  return given;
}

std::string_view Parameters::ValueOf(std::string_view name) const {
  if (const auto given = given_.find(name); given != given_.end()) return Trim(given->second);
  for (const ParameterSpec &spec : specs_) {
    if (spec.name == name) return profile_ == Profile::kAws ? spec.aws : spec.calibrated;
  }
  return {};
}

Status Parameters::Refuse(std::string_view why) const {
  return InvalidConfig(StrCat(rule_, ": ", why));
}

Status Parameters::BadValue(std::string_view name, std::string_view wanted) const {
  return Refuse(StrCat(name, " is '", ValueOf(name).substr(0, 64), "'; it must be ", wanted))
      .With("key", std::string(name));
}

Result<double> Parameters::Number(std::string_view name, double least, double most) const {
  const std::optional<double> number = ParseDouble(ValueOf(name));
  if (number && *number >= least && *number <= most) return *number;
  return BadValue(name, StrCat("a number from ", Shortest(least), " to ", Shortest(most)));
}

Result<double> Parameters::Positive(std::string_view name) const {
  const std::optional<double> number = ParseDouble(ValueOf(name));
  if (number && *number > 0 && std::isfinite(*number)) return *number;
  return BadValue(name, "a number above 0");
}

Result<int64_t> Parameters::Whole(std::string_view name, int64_t least, int64_t most) const {
  // Configurations contain "10.0" for a whole number.
  const std::optional<double> number = ParseDouble(ValueOf(name));
  if (number && *number == std::floor(*number) && *number >= static_cast<double>(least) &&
      *number <= static_cast<double>(most)) {
    return static_cast<int64_t>(*number);
  }
  return BadValue(name, StrCat("a whole number from ", least, " to ", most));
}

Result<bool> Parameters::Switch(std::string_view name) const {
  const std::optional<bool> is_on = ParseBool(ValueOf(name));
  if (is_on) return *is_on;
  return BadValue(name, "true or false");
}

Result<std::optional<double>> Parameters::OptionalNumber(std::string_view name) const {
  if (IsNone(ValueOf(name))) return std::optional<double>();
  const std::optional<double> number = ParseDouble(ValueOf(name));
  if (number && !std::isnan(*number)) return number;
  return BadValue(name, "a number or None");
}

Result<std::optional<int64_t>> Parameters::OptionalWhole(std::string_view name,
                                                         int64_t least) const {
  if (IsNone(ValueOf(name))) return std::optional<int64_t>();
  SMD_ASSIGN_OR_RETURN(const int64_t number, Whole(name, least, int64_t{1} << 53));
  return std::optional<int64_t>(number);
}

std::vector<std::string> Parameters::List(std::string_view name) const {
  const std::string_view text = ValueOf(name);
  return IsNone(text) ? std::vector<std::string>() : SplitList(text);
}

std::string Parameters::Text(std::string_view name) const {
  const std::string_view text = ValueOf(name);
  return IsNone(text) ? std::string() : std::string(text);
}

}  // namespace smdebug::rules
