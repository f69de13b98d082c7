#include "record/hook_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/environment.h"
#include "base/small_file.h"
#include "base/strings.h"
#include "config/collection_set.h"
#include "config/service_folder.h"
#include "format/paths.h"

namespace smdebug::record {
namespace {

// The service's configuration file, and the folder of its trials.
constexpr const char *kConfigVariable = "SMDEBUG_CONFIG_FILE_PATH";
constexpr const char *kDefaultConfig = "/opt/ml/input/config/debughookconfig.json";
constexpr const char *kDefaultOutDir = "/opt/ml/output/tensors";
constexpr const char *kStrictVariable = "SMDEBUG_STRICT_CONFIG";
// In a job of the service, the service sets the folder of TensorBoard.
constexpr const char *kServiceVariable = "TRAINING_JOB_NAME";
constexpr const char *kTensorboardVariable = "TENSORBOARD_CONFIG_FILE_PATH";
constexpr const char *kDefaultTensorboardConfig =
    "/opt/ml/input/config/tensorboardoutputconfig.json";

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

std::string SecondsText(Clock::Duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), seconds).ptr;
  return {digits.data(), end};
}

std::string PolicyText(QueuePolicy policy) {
  switch (policy) {
    case QueuePolicy::kBlock: return "block";
    case QueuePolicy::kDrop: return "drop";
    case QueuePolicy::kSpill: return "spill";
  }
  return "";
}

std::string BoolText(bool is_on) { return is_on ? "true" : "false"; }

using Text = std::string_view;
using Options = HookOptions;

struct Option {
  Text name;
  Status (*set)(Options *options, Text name, Text value);
  std::string (*get)(const Options &options);
};

// One of the options that are texts, switches, numbers of bytes, or numbers of seconds.
template <std::string Options::*member>
constexpr Option TextOption(Text name) {
  return {name, [](Options *o, Text, Text value) { return o->*member = value, Status::Ok(); },
          [](const Options &o) { return o.*member; }};
}
template <bool Options::*member>
constexpr Option SwitchOption(Text name) {
  return {name, [](Options *o, Text n, Text value) { return SetBool(n, value, &(o->*member)); },
          [](const Options &o) { return BoolText(o.*member); }};
}
template <uint64_t QueueOptions::*member>
constexpr Option BytesOption(Text name) {
  return {name,
          [](Options *o, Text n, Text value) { return SetBytes(n, value, &(o->queue.*member)); },
          [](const Options &o) { return std::to_string(o.queue.*member); }};
}

constexpr std::array<Option, 21> kOptions = {{
    TextOption<&Options::out_dir>("out_dir"),
    {"worker", [](Options *o, Text, Text value) { return SetWorker(o, value); },
     [](const Options &o) { return o.worker; }},
    {"num_workers", [](Options *o, Text, Text value) { return SetNumWorkers(o, value); },
     [](const Options &o) { return std::to_string(o.num_workers); }},
    {"include_workers", [](Options *o, Text, Text value) { return SetIncludeWorkers(o, value); },
     [](const Options &o) { return std::string(o.includes_all_workers ? "all" : "one"); }},
    {"include_collections",
     [](Options *o, Text, Text value) {
       return o->include_collections = SplitList(value), Status::Ok();
     },
     [](const Options &o) { return Join(o.include_collections, ","); }},
    SwitchOption<&Options::saves_all>("save_all"),
    SwitchOption<&Options::is_dry_run>("dry_run"),
    BytesOption<&QueueOptions::capacity>("queue_bytes"),
    {"queue_policy", [](Options *o, Text, Text value) { return SetPolicy(o, value); },
     [](const Options &o) { return PolicyText(o.queue.policy); }},
    {"block_seconds",
     [](Options *o, Text n, Text v) { return SetSeconds(n, v, &o->queue.block_time); },
     [](const Options &o) { return SecondsText(o.queue.block_time); }},
    {"spill_dir",
     [](Options *o, Text, Text value) { return o->queue.spill_folder = value, Status::Ok(); },
     [](const Options &o) { return o.queue.spill_folder; }},
    BytesOption<&QueueOptions::spill_capacity>("spill_bytes"),
    {"durability", [](Options *o, Text, Text value) { return SetDurability(o, value); },
     [](const Options &o) { return std::string(o.queue.is_durable ? "step" : "none"); }},
    {"report_errors", [](Options *o, Text, Text value) { return SetReportErrors(o, value); },
     [](const Options &o) { return std::string(o.queue.reports_late ? "late" : "soon"); }},
    SwitchOption<&Options::has_builtin_collections>("builtin_collections"),
    SwitchOption<&Options::keeps_output_numbers>("keep_output_numbers"),
    SwitchOption<&Options::writes_rows>("row_files"),
    SwitchOption<&Options::exports_tensorboard>("export_tensorboard"),
    TextOption<&Options::tensorboard_dir>("tensorboard_dir"),
    {"checkpoint_dir",
     [](Options *o, Text, Text value) { return o->checkpoint_dir = value, Status::Ok(); },
     [](const Options &o) { return o.checkpoint_dir.value_or(""); }},
    {"close_seconds", [](Options *o, Text n, Text v) { return SetSeconds(n, v, &o->close_time); },
     [](const Options &o) { return SecondsText(o.close_time); }},
}};

const Option *FindOption(Text name) {
  const auto found = std::find_if(kOptions.begin(), kOptions.end(),
                                  [name](const Option &each) { return each.name == name; });
  return found == kOptions.end() ? nullptr : &*found;
}

// Logs what is odd about a configuration; in strict mode that is an error instead.
Status Report(const config::Problems &problems, const std::string &path, const Logger &logger) {
  const bool is_strict = ParseBool(Environment(kStrictVariable).value_or("")).value_or(false);
  std::vector<std::string> all;
  for (const config::Problem &each : problems) {
    if (is_strict) {
      all.push_back(each.what);
    } else {
      logger.Warning(StrCat(path, ": ", each.what, "; ", each.outcome));
    }
  }
  if (all.empty()) return Status::Ok();
  return InvalidConfig(StrCat(path, ": ", Join(all, "; "))).With("path", path);
}

void LogEmptyModes(const std::string &owner, const config::SaveConfig &config,
                   const Logger &logger) {
  std::vector<std::string> empty;
  for (const Mode mode : kModes) {
    if (config.Of(mode) && config.Of(mode)->WantsNothing()) empty.emplace_back(ModeName(mode));
  }
  if (empty.empty()) return;
  logger.Info(StrCat("nothing of ", owner, " is saved in mode ", Join(empty, ", "),
                     ": end_step is not after start_step"));
}

Status UnknownOption(Text name) {
  std::vector<Text> names = storage::StoreOptions::Names();
  for (const Option &each : kOptions) names.push_back(each.name);
  return InvalidArgument(
      StrCat("a hook has no option '", name.substr(0, 64), "'", DidYouMean(name, names)));
}

}  // namespace

Status HookOptions::Set(std::string_view name, std::string_view value) {
  if (storage::StoreOptions::IsName(name)) return store_options.Set(name, value);
  const Option *option = FindOption(name);
  return option == nullptr ? UnknownOption(name) : option->set(this, name, value);
}

Result<std::string> HookOptions::Get(std::string_view name) const {
  const Option *option = FindOption(name);
  if (option == nullptr) return UnknownOption(name);
  return option->get(*this);
}

std::string HookOptions::TensorboardFolder() const {
  if (!tensorboard_dir.empty()) return tensorboard_dir;
  return exports_tensorboard ? StrCat(out_dir, "/tensorboard") : "";
}

Status HookOptions::Load(const std::string &path) {
  config::HookConfigContext context;
  context.path = path.empty() ? Environment(kConfigVariable).value_or(kDefaultConfig) : path;
  context.save_config = save_config;
  context.collections = collections;
  for (config::CollectionPtr &each : config::CollectionSet::Defaults()) {
    context.collections.push_back(std::move(each));
  }
  SMD_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(context.path));
  SMD_ASSIGN_OR_RETURN(config::HookConfig config, config::ParseHookConfig(text, context));
  SMD_RETURN_IF_ERROR(Report(config.problems, context.path, logger));
  if (Environment(kServiceVariable)) {
    SMD_ASSIGN_OR_RETURN(config.tensorboard_dir,
                         config::ServiceFolder(kTensorboardVariable, kDefaultTensorboardConfig));
    config.exports_tensorboard = config.tensorboard_dir.has_value();
  }
  Apply(std::move(config));
  return Status::Ok();
}

void HookOptions::LogWhatIsNeverSaved() const {
  // Others that are numbered, or named after a device, are left out on purpose.
  const bool is_of_several = worker.starts_with("worker_") || worker.starts_with('/');
  if (!IncludesWorker() && !is_of_several) {
    logger.Warning(StrCat("the worker '", worker, "' records nothing: include_workers is 'one', ",
                          "which is '", kOnlyWorker, "'; set it to 'all', or give no name"));
  }
  if (!logger.Logs(LogLevel::kInfo)) return;
  LogEmptyModes("the hook", save_config, logger);
  for (const config::CollectionPtr &each : collections) {
    if (const auto own = each->GetSaveConfig()) {
      LogEmptyModes(StrCat("collection '", each->Name(), "'"), *own, logger);
    }
  }
}

void HookOptions::Apply(config::HookConfig config) {
  if (config.out_dir) out_dir = *std::move(config.out_dir);
  if (out_dir.empty()) out_dir = kDefaultOutDir;
  if (config.saves_all) saves_all = *config.saves_all;
  if (config.is_dry_run) is_dry_run = *config.is_dry_run;
  if (config.includes_all_workers) includes_all_workers = *config.includes_all_workers;
  for (std::string &regex : config.include_regexes) include_regexes.push_back(std::move(regex));
  if (config.exports_tensorboard) exports_tensorboard = *config.exports_tensorboard;
  if (config.tensorboard_dir) tensorboard_dir = *std::move(config.tensorboard_dir);
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
