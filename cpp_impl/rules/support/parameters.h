// Reads the parameters of rules, which configurations and command lines give as texts.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smdebug::rules {

// Selects the defaults: those that the service documents, or those of this library.  The latter
// find real faults and rarely report anything on a healthy run.
enum class Profile { kAws, kCalibrated };
inline constexpr Profile kDefaultProfile = Profile::kCalibrated;

std::string_view ProfileName(Profile profile);
std::optional<Profile> ProfileFromName(std::string_view name);

// Describes one parameter of a rule.
struct ParameterSpec {
  std::string_view name;
  std::string_view aws;         // the default as documented; "" for none
  std::string_view calibrated;  // the default of this library
  std::string_view meaning;     // for people, without a full stop
};

// Holds the parameters given for a rule, with defaults for the rest.  Reading a parameter that the
// rule's specs do not have is a bug.
class Parameters {
 public:
  using Given = std::map<std::string, std::string, std::less<>>;

  // Fails with INVALID_CONFIG for a parameter that is not in `specs`.  The error names the nearest
  // parameter.
  static Result<Parameters> Make(std::string_view rule, std::span<const ParameterSpec> specs,
                                 Given given, Profile profile);
  // Reads the members of a JSON object of texts, numbers and booleans.  Fails with INVALID_CONFIG
  // if it is anything else.
  static Result<Given> FromJson(std::string_view json);

  Profile GetProfile() const { return profile_; }

  // Each function fails with INVALID_CONFIG.  The error gives the rule's and the parameter's name
  // and the accepted values.
  Result<double> Number(std::string_view name, double least, double most) const;
  Result<double> Positive(std::string_view name) const;
  Result<int64_t> Whole(std::string_view name, int64_t least, int64_t most) const;
  Result<bool> Switch(std::string_view name) const;
  // Returns nothing if the text is empty or "None".
  Result<std::optional<double>> OptionalNumber(std::string_view name) const;
  Result<std::optional<int64_t>> OptionalWhole(std::string_view name, int64_t least) const;
  // Returns the parts between commas.
  std::vector<std::string> List(std::string_view name) const;
  // Returns "" if the text is "None".
  std::string Text(std::string_view name) const;
  bool IsGiven(std::string_view name) const { return given_.count(name) > 0; }

  // Returns an INVALID_CONFIG error that begins with the rule's name.
  Status Refuse(std::string_view why) const;

 private:
  Parameters(std::string_view rule, std::span<const ParameterSpec> specs, Given given,
             Profile profile)
      : rule_(rule), specs_(specs), given_(std::move(given)), profile_(profile) {}
  std::string_view ValueOf(std::string_view name) const;
  Status BadValue(std::string_view name, std::string_view wanted) const;

  std::string rule_;
  std::span<const ParameterSpec> specs_;
  Given given_;
  Profile profile_;
};

}  // namespace smdebug::rules
