#include "profile/profiler_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/json.h"
#include "base/strings.h"
#include "profile/file_names.h"

namespace smdebug::profile {
namespace {

using Text = std::string_view;
using Options = ProfilerOptions;

Status BadValue(Text name, Text value, Text wanted) {
  return InvalidConfig(StrCat(name, " is '", Excerpt(value), "'; it must be ", wanted));
}

Status SetBytes(Text name, Text value, uint64_t least, uint64_t *out) {
  const std::optional<int64_t> parsed = ParseInt(value);
  constexpr int64_t kMost = int64_t{1} << 40;
  if (!parsed || *parsed < static_cast<int64_t>(least) || *parsed > kMost) {
    return BadValue(name, value, StrCat("a number of bytes from ", least, " to ", kMost));
  }
  *out = static_cast<uint64_t>(*parsed);
  return Status::Ok();
}

Status SetSeconds(Text name, Text value, double least, Clock::Duration *out) {
  const std::optional<double> parsed = ParseDouble(value);
  constexpr double kDay = 86400;
  if (!parsed || !(*parsed >= least && *parsed <= kDay)) {
    return BadValue(name, value,
                    StrCat("a number of seconds from ", least == 0 ? "0" : "1", " to 86400"));
  }
  *out = std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(*parsed));
  return Status::Ok();
}

std::string SecondsText(Clock::Duration time) {
  std::array<char, 32> digits;
  const double seconds = std::chrono::duration<double>(time).count();
  return {digits.data(), std::to_chars(digits.data(), digits.end(), seconds).ptr};
}

Status SetOutDir(Options *options, Text, Text value) {
  options->out_dir = value;
  return Status::Ok();
}

Status SetNode(Options *options, Text, Text value) {
  SMD_RETURN_IF_ERROR(CheckNode(value));
  options->node = NodeInNames(value);
  return Status::Ok();
}

Status SetSystemNode(Options *options, Text name, Text value) {
  if (!IsSystemNode(value)) {
    return BadValue(name, value, "'algo-' and a number: readers skip all others");
  }
  options->system_node = value;
  return Status::Ok();
}

// The original's intervals.
Status SetSampling(Options *options, Text name, Text value) {
  constexpr std::array<int64_t, 7> kAllowed = {0, 100, 200, 500, 1000, 5000, 60000};
  const std::optional<int64_t> parsed = ParseInt(value);
  if (!parsed || std::find(kAllowed.begin(), kAllowed.end(), *parsed) == kAllowed.end()) {
    return BadValue(name, value, "0 (off), 100, 200, 500, 1000, 5000 or 60000");
  }
  options->sample_milliseconds = *parsed;
  return Status::Ok();
}

Status SetGpus(Options *options, Text name, Text value) {
  const std::optional<bool> parsed = ParseBool(value);
  if (!parsed) return BadValue(name, value, "true or false");
  options->samples_gpus = *parsed;
  return Status::Ok();
}

struct Option {
  Text name;
  Status (*set)(Options *options, Text name, Text value);
  std::string (*get)(const Options &options);
};

constexpr std::array<Option, 10> kOptions = {{
    {"out_dir", SetOutDir, [](const Options &o) { return o.out_dir; }},
    {"node", SetNode, [](const Options &o) { return o.node; }},
    {"system_node", SetSystemNode, [](const Options &o) { return o.system_node; }},
    {"rotate_bytes",
     [](Options *o, Text name, Text value) {
       return SetBytes(name, value, 1024, &o->rotate_bytes);
     },
     [](const Options &o) { return std::to_string(o.rotate_bytes); }},
    {"rotate_seconds",
     [](Options *o, Text name, Text value) { return SetSeconds(name, value, 1, &o->rotate_time); },
     [](const Options &o) { return SecondsText(o.rotate_time); }},
    {"sample_milliseconds", SetSampling,
     [](const Options &o) { return std::to_string(o.sample_milliseconds); }},
    {"sample_gpus", SetGpus,
     [](const Options &o) { return std::string(o.samples_gpus ? "true" : "false"); }},
    {"buffer_bytes",
     [](Options *o, Text name, Text value) {
       return SetBytes(name, value, 65536, &o->buffer_bytes);
     },
     [](const Options &o) { return std::to_string(o.buffer_bytes); }},
    {"update_seconds",
     [](Options *o, Text name, Text value) { return SetSeconds(name, value, 0, &o->update_time); },
     [](const Options &o) { return SecondsText(o.update_time); }},
    {"close_seconds",
     [](Options *o, Text name, Text value) { return SetSeconds(name, value, 0, &o->close_time); },
     [](const Options &o) { return SecondsText(o.close_time); }},
}};

Result<const Option *> Find(Text name) {
  std::vector<Text> names;
  for (const Option &each : kOptions) {
    if (each.name == name) return &each;
    names.push_back(each.name);
  }
  const std::vector<Text> of_stores = storage::StoreOptions::Names();
  names.insert(names.end(), of_stores.begin(), of_stores.end());
  return InvalidArgument(
      StrCat("a profiler has no option '", Excerpt(name), "'", DidYouMean(name, names)));
}

}  // namespace

Status ProfilerOptions::Set(std::string_view name, std::string_view value) {
  if (storage::StoreOptions::IsName(name)) return store_options.Set(name, value);
  SMD_ASSIGN_OR_RETURN(const Option *option, Find(name));
  return option->set(this, name, value);
}

Result<std::string> ProfilerOptions::Get(std::string_view name) const {
  SMD_ASSIGN_OR_RETURN(const Option *option, Find(name));
  return option->get(*this);
}

}  // namespace smdebug::profile
