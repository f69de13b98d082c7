#include "storage/store_options.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/environment.h"
#include "base/strings.h"

namespace smdebug::storage {
namespace {

Status SetText(std::string_view, std::string_view value, std::string *out) {
  *out = value;
  return Status::Ok();
}

Status SetBool(std::string_view name, std::string_view value, bool *out) {
  const std::optional<bool> parsed = ParseBool(value);
  if (!parsed) return InvalidConfig(StrCat(name, " is '", value, "'; it must be true or false"));
  *out = *parsed;
  return Status::Ok();
}

Status SetSeconds(std::string_view name, std::string_view value, Clock::Duration *out) {
  const std::optional<double> parsed = ParseDouble(value);
  constexpr double kHour = 3600;
  if (!parsed || !(*parsed > 0 && *parsed <= kHour)) {
    return InvalidConfig(
        StrCat(name, " is '", value, "'; it must be a number of seconds, more than 0, to 3600"));
  }
  *out = std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(*parsed));
  return Status::Ok();
}

Status SetAttempts(std::string_view name, std::string_view value, int *out) {
  const std::optional<int64_t> parsed = ParseInt(value);
  if (!parsed || *parsed < 1 || *parsed > 100) {
    return InvalidConfig(StrCat(name, " is '", value, "'; it must be a number from 1 to 100"));
  }
  *out = static_cast<int>(*parsed);
  return Status::Ok();
}

Status SetAddressing(std::string_view name, std::string_view value, std::string *out) {
  if (value != "auto" && value != "virtual" && value != "path") {
    return InvalidConfig(StrCat(name, " is '", value, "'; it must be 'auto', 'virtual' or 'path'"));
  }
  *out = value;
  return Status::Ok();
}

using Text = std::string_view;

struct Setter {
  Text name;
  Status (*set)(StoreOptions *options, Text name, Text value);
};

constexpr std::array<Setter, 13> kSetters = {{
    {"s3_access_key",
     [](StoreOptions *o, Text n, Text v) { return SetText(n, v, &o->access_key); }},
    {"s3_secret_key",
     [](StoreOptions *o, Text n, Text v) { return SetText(n, v, &o->secret_key); }},
    {"s3_session_token",
     [](StoreOptions *o, Text n, Text v) { return SetText(n, v, &o->session_token); }},
    {"s3_profile", [](StoreOptions *o, Text n, Text v) { return SetText(n, v, &o->profile); }},
    {"s3_region", [](StoreOptions *o, Text n, Text v) { return SetText(n, v, &o->region); }},
    {"s3_endpoint", [](StoreOptions *o, Text n, Text v) { return SetText(n, v, &o->endpoint); }},
    {"s3_addressing",
     [](StoreOptions *o, Text n, Text v) { return SetAddressing(n, v, &o->addressing); }},
    {"s3_ca_bundle", [](StoreOptions *o, Text n, Text v) { return SetText(n, v, &o->ca_bundle); }},
    {"s3_sign_payload",
     [](StoreOptions *o, Text n, Text v) { return SetBool(n, v, &o->signs_payload); }},
    {"s3_max_attempts",
     [](StoreOptions *o, Text n, Text v) { return SetAttempts(n, v, &o->max_attempts); }},
    {"s3_connect_seconds",
     [](StoreOptions *o, Text n, Text v) { return SetSeconds(n, v, &o->connect_time); }},
    {"s3_first_byte_seconds",
     [](StoreOptions *o, Text n, Text v) { return SetSeconds(n, v, &o->first_byte_time); }},
    {"s3_stall_seconds",
     [](StoreOptions *o, Text n, Text v) { return SetSeconds(n, v, &o->stall_time); }},
}};

std::string VariableOf(Text name) {
  std::string variable = StrCat("SMDEBUG_", name);
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return variable;
}

}  // namespace

bool StoreOptions::IsName(std::string_view name) { return name.starts_with("s3_"); }

std::vector<std::string_view> StoreOptions::Names() {
  std::vector<std::string_view> names;
  names.reserve(kSetters.size());
  for (const Setter &setter : kSetters) names.push_back(setter.name);
  return names;
}

Status StoreOptions::Set(std::string_view name, std::string_view value) {
  for (const Setter &setter : kSetters) {
    if (setter.name != name) continue;
    SMD_RETURN_IF_ERROR(setter.set(this, name, value));
    given_.emplace(name);
    return Status::Ok();
  }
  return InvalidArgument(
      StrCat("there is no option '", name.substr(0, 64), "'", DidYouMean(name, Names())));
}

Result<StoreOptions> StoreOptions::WithEnvironment() const {
  StoreOptions all = *this;
  for (const Setter &setter : kSetters) {
    if (given_.count(setter.name) > 0) continue;
    const std::string variable = VariableOf(setter.name);
    if (const auto value = Environment(variable.c_str())) {
      SMD_RETURN_IF_ERROR(setter.set(&all, variable, *value));
    }
  }
  return all;
}

}  // namespace smdebug::storage
