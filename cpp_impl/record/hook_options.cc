#include "record/hook_options.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/environment.h"
#include "base/small_file.h"
#include "base/strings.h"
#include "config/collection_set.h"
#include "format/paths.h"

namespace smdebug::record {
namespace {

// Where the service puts its configuration, and where the job's trial is to be.
constexpr const char *kConfigVariable = "SMDEBUG_CONFIG_FILE_PATH";
constexpr const char *kDefaultConfig = "/opt/ml/input/config/debughookconfig.json";
constexpr const char *kDefaultOutDir = "/opt/ml/output/tensors";
constexpr const char *kStrictVariable = "SMDEBUG_STRICT_CONFIG";

Status BadValue(std::string_view name, std::string_view value, std::string_view wanted) {
  return InvalidConfig(StrCat(name, " is '", value, "'; it must be ", wanted));
}

Status SetBool(std::string_view name, std::string_view value, bool *out) {
  const std::optional<bool> parsed = ParseBool(value);
  if (!parsed) return BadValue(name, value, "true or false");
  *out = *parsed;
  return Status::Ok();
}

Status SetBytes(std::string_view name, std::string_view value, uint64_t *out) {
  const std::optional<int64_t> parsed = ParseInt(value);
  if (!parsed || *parsed < 1) return BadValue(name, value, "a number of bytes, 1 or more");
  *out = static_cast<uint64_t>(*parsed);
  return Status::Ok();
}

Status SetSeconds(std::string_view name, std::string_view value, Clock::Duration *out) {
  const std::optional<double> parsed = ParseDouble(value);
  constexpr double kDay = 86400;
  if (!parsed || !(*parsed >= 0 && *parsed <= kDay)) {
    return BadValue(name, value, "a number of seconds from 0 to 86400");
  }
  *out = std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(*parsed));
  return Status::Ok();
}

Status SetWorker(HookOptions *options, std::string_view value) {
  SMD_RETURN_IF_ERROR(format::CheckWorkerName(value));
  options->worker = value;
  return Status::Ok();
}

Status SetNumWorkers(HookOptions *options, std::string_view value) {
  const std::optional<int64_t> parsed = ParseInt(value);
  if (!parsed || *parsed < 1 || *parsed > 65535) {
    return BadValue("num_workers", value, "a whole number from 1 to 65535");
  }
  options->num_workers = *parsed;
  return Status::Ok();
}

Status SetIncludeWorkers(HookOptions *options, std::string_view value) {
  if (value != "one" && value != "all") {
    return BadValue("include_workers", value, "'one' or 'all'");
  }
  options->includes_all_workers = value == "all";
  return Status::Ok();
}

Status SetPolicy(HookOptions *options, std::string_view value) {
  if (value == "block") {
    options->queue.policy = QueuePolicy::kBlock;
  } else if (value == "drop") {
    options->queue.policy = QueuePolicy::kDrop;
  } else if (value == "spill") {
    options->queue.policy = QueuePolicy::kSpill;
  } else {
    return BadValue("queue_policy", value, "'block', 'drop' or 'spill'");
  }
  return Status::Ok();
}

Status SetDurability(HookOptions *options, std::string_view value) {
  if (value != "none" && value != "step") return BadValue("durability", value, "'none' or 'step'");
  options->queue.is_durable = value == "step";
  return Status::Ok();
}

Status SetReportErrors(HookOptions *options, std::string_view value) {
  if (value != "soon" && value != "late") {
    return BadValue("report_errors", value, "'soon' or 'late'");
  }
  options->queue.reports_late = value == "late";
  return Status::Ok();
}

struct Setter {
  std::string_view name;
  Status (*set)(HookOptions *options, std::string_view name, std::string_view value);
};

using Text = std::string_view;
constexpr std::array<Setter, 16> kSetters = {{
    {"out_dir", [](HookOptions *o, Text, Text value) { return o->out_dir = value, Status::Ok(); }},
    {"worker", [](HookOptions *o, Text, Text value) { return SetWorker(o, value); }},
    {"num_workers", [](HookOptions *o, Text, Text value) { return SetNumWorkers(o, value); }},
    {"include_workers",
     [](HookOptions *o, Text, Text value) { return SetIncludeWorkers(o, value); }},
    {"include_collections",
     [](HookOptions *o, Text, Text value) {
       return o->include_collections = SplitList(value), Status::Ok();
     }},
    {"save_all", [](HookOptions *o, Text n, Text v) { return SetBool(n, v, &o->saves_all); }},
    {"dry_run", [](HookOptions *o, Text n, Text v) { return SetBool(n, v, &o->is_dry_run); }},
    {"queue_bytes",
     [](HookOptions *o, Text n, Text v) { return SetBytes(n, v, &o->queue.capacity); }},
    {"queue_policy", [](HookOptions *o, Text, Text value) { return SetPolicy(o, value); }},
    {"block_seconds",
     [](HookOptions *o, Text n, Text v) { return SetSeconds(n, v, &o->queue.block_time); }},
    {"spill_dir",
     [](HookOptions *o, Text, Text value) { return o->queue.spill_folder = value, Status::Ok(); }},
    {"spill_bytes",
     [](HookOptions *o, Text n, Text v) { return SetBytes(n, v, &o->queue.spill_capacity); }},
    {"durability", [](HookOptions *o, Text, Text value) { return SetDurability(o, value); }},
    {"report_errors", [](HookOptions *o, Text, Text value) { return SetReportErrors(o, value); }},
    {"checkpoint_dir",
     [](HookOptions *o, Text, Text value) { return o->checkpoint_dir = value, Status::Ok(); }},
    {"close_seconds",
     [](HookOptions *o, Text n, Text v) { return SetSeconds(n, v, &o->close_time); }},
}};

}  // namespace

Status HookOptions::Set(std::string_view name, std::string_view value) {
  if (storage::StoreOptions::IsName(name)) return store_options.Set(name, value);
  std::vector<std::string_view> names = storage::StoreOptions::Names();
  for (const Setter &setter : kSetters) {
    if (setter.name == name) return setter.set(this, name, value);
    names.push_back(setter.name);
  }
  return InvalidArgument(
      StrCat("a hook has no option '", name.substr(0, 64), "'", DidYouMean(name, names)));
}

Status HookOptions::Load(const std::string &path) {
  config::HookConfigContext context;
  context.path = path.empty() ? Environment(kConfigVariable).value_or(kDefaultConfig) : path;
  context.save_config = save_config;
  context.collections = collections;
  for (config::CollectionPtr &each : config::CollectionSet::Defaults()) {
    context.collections.push_back(std::move(each));
  }
  context.is_strict = ParseBool(Environment(kStrictVariable).value_or("")).value_or(true);
  SMD_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(context.path));
  SMD_ASSIGN_OR_RETURN(config::HookConfig config, config::ParseHookConfig(text, context));
  if (config.exports_tensorboard.value_or(false)) {
    logger.Warning(StrCat(context.path, ": export_tensorboard has no effect so far"));
  }
  Apply(std::move(config));
  return Status::Ok();
}

void HookOptions::Apply(config::HookConfig config) {
  if (config.out_dir) out_dir = *std::move(config.out_dir);
  if (out_dir.empty()) out_dir = kDefaultOutDir;
  if (config.saves_all) saves_all = *config.saves_all;
  if (config.is_dry_run) is_dry_run = *config.is_dry_run;
  if (config.includes_all_workers) includes_all_workers = *config.includes_all_workers;
  for (std::string &regex : config.include_regexes) include_regexes.push_back(std::move(regex));
  if (config.reduction_config) reduction_config = *std::move(config.reduction_config);
  save_config = std::move(config.save_config);
  for (config::CollectionPtr &each : config.collections) {
    include_collections.push_back(each->Name());
    if (std::find(collections.begin(), collections.end(), each) == collections.end()) {
      collections.push_back(std::move(each));
    }
  }
}

}  // namespace smdebug::record
