#include "aws/profile.h"

#include <vector>

#include "base/strings.h"

namespace smdebug::aws {
namespace {

// "profile x", "profile 'x y'" -> x; nothing for other sections.
std::optional<std::string_view> NameAfter(std::string_view kind, std::string_view section) {
  if (!section.starts_with(kind)) return {};
  std::string_view name = section.substr(kind.size());
  if (name.empty() || (name.front() != ' ' && name.front() != '\t')) return {};
  name = Trim(name);
  const bool is_quoted = name.size() >= 2 && name.front() == name.back() &&
                         (name.front() == '"' || name.front() == '\'');
  return is_quoted ? name.substr(1, name.size() - 2) : name;
}

const IniSection *FindNamed(const IniFile &file, std::string_view kind, std::string_view wanted) {
  for (const auto &[name, section] : file.sections) {
    if (NameAfter(kind, name) == wanted) return &section;
  }
  return nullptr;
}

std::string PathFrom(const Variables &variables, const char *variable, std::string_view usual) {
  const std::optional<std::string> path = variables.Find(variable);
  if (path) return variables.ExpandHome(*path);
  return variables.Find("HOME") ? variables.ExpandHome(usual) : "";
}

}  // namespace

const IniSection *Profiles::InCredentials(std::string_view profile) const {
  return credentials_.Find(profile);
}

const IniSection *Profiles::InConfig(std::string_view profile) const {
  const IniSection *section = FindNamed(config_, "profile", profile);
  return section == nullptr && profile == "default" ? config_.Find(profile) : section;
}

bool Profiles::Has(std::string_view profile) const {
  return InCredentials(profile) != nullptr || InConfig(profile) != nullptr;
}

Status Profiles::Check(std::string_view profile) const {
  if (profile == "default" || Has(profile)) return Status::Ok();
  std::vector<std::string_view> names;
  for (const auto &[name, section] : credentials_.sections) names.push_back(name);
  for (const auto &[name, section] : config_.sections) {
    if (const auto named = NameAfter("profile", name)) names.push_back(*named);
  }
  return InvalidConfig(StrCat("profile '", profile, "' is neither in ", credentials_.path,
                              " nor, as [profile ", profile, "], in ", config_.path,
                              DidYouMean(profile, names)));
}

std::optional<std::string> Profiles::Find(std::string_view profile, std::string_view key) const {
  for (const IniSection *section : {InCredentials(profile), InConfig(profile)}) {
    const std::string *found = section == nullptr ? nullptr : section->Find(key);
    if (found != nullptr) return *found;
  }
  return {};
}

std::optional<std::string> Profiles::FindNested(std::string_view key,
                                                std::string_view nested_key) const {
  const IniSection *section = InConfig(selected_);
  const std::string *found = section == nullptr ? nullptr : section->FindNested(key, nested_key);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<std::string> Profiles::FindForService(std::string_view service,
                                                    std::string_view key) const {
  const IniSection *section = InConfig(selected_);
  const std::string *name = section == nullptr ? nullptr : section->Find("services");
  const IniSection *services = name == nullptr ? nullptr : FindNamed(config_, "services", *name);
  const std::string *found = services == nullptr ? nullptr : services->FindNested(service, key);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

const IniSection *Profiles::SsoSession(std::string_view name) const {
  return FindNamed(config_, "sso-session", name);
}

ProfileFiles::ProfileFiles(const Variables &variables, std::string_view profile)
    : credentials_path_(PathFrom(variables, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")),
      config_path_(PathFrom(variables, "AWS_CONFIG_FILE", "~/.aws/config")),
      selected_(profile.empty() ? variables.Find("AWS_PROFILE").value_or("default") : profile) {}

Result<Profiles> ProfileFiles::Read() const {
  SMD_ASSIGN_OR_RETURN(IniFile credentials, ReadIni(credentials_path_));
  SMD_ASSIGN_OR_RETURN(IniFile config, ReadIni(config_path_));
  return Profiles(std::move(credentials), std::move(config), selected_);
}

}  // namespace smdebug::aws
