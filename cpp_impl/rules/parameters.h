// Parameters of rules: texts, as they come from configurations and command lines.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smdebug::rules {

// Which defaults hold: those that the service documents, or ours, which find real faults
// and leave healthy runs alone.
enum class Profile { kAws, kCalibrated };

std::string_view ProfileName(Profile profile);
std::optional<Profile> ProfileFromName(std::string_view name);

// One parameter of a rule.
struct ParameterSpec {
  std::string_view name;
  std::string_view aws;         // the default as documented; "" for none
  std::string_view calibrated;  // ours
  std::string_view meaning;     // for people, without a dot at the end
};

// What was given for a rule, and the defaults for the rest.  Reading one that the rule's
// specs do not have is a fault of the program.
class Parameters {
 public:
  using Given = std::map<std::string, std::string, std::less<>>;

  // INVALID_CONFIG for a parameter that is not among `specs`, which names the nearest.
  static Result<Parameters> Make(std::string_view rule, std::span<const ParameterSpec> specs,
                                 Given given, Profile profile);
  // The members of a JSON object of texts, numbers and switches.  INVALID_CONFIG.
  static Result<Given> FromJson(std::string_view json);

  Profile GetProfile() const { return profile_; }

  // Each fails with INVALID_CONFIG, the rule's and the parameter's name and what would do.
  Result<double> Number(std::string_view name, double least, double most) const;
  Result<double> Positive(std::string_view name) const;
  Result<int64_t> Whole(std::string_view name, int64_t least, int64_t most) const;
  Result<bool> Switch(std::string_view name) const;
  // Nothing where the text is empty or "None".
  Result<std::optional<double>> OptionalNumber(std::string_view name) const;
  Result<std::optional<int64_t>> OptionalWhole(std::string_view name, int64_t least) const;
  // The parts between commas.
  std::vector<std::string> List(std::string_view name) const;
  // "" where it is "None".
  std::string Text(std::string_view name) const;
  bool IsGiven(std::string_view name) const { return given_.count(name) > 0; }

  // An INVALID_CONFIG that begins with the rule's name.
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
