// A hook's configuration, in the form that the training service passes to a job.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/collection.h"
#include "config/reduction_config.h"
#include "config/save_config.h"
#include "config/settings_reader.h"

namespace smdebug::config {

// The configuration that was read.  Missing settings are nothing, or empty.
struct HookConfig {
  std::optional<std::string> out_dir;
  std::optional<bool> saves_all;
  std::optional<bool> is_dry_run;
  std::optional<bool> includes_all_workers;
  std::vector<std::string> include_regexes;
  std::optional<ReductionConfig> reduction_config;
  SaveConfig save_config;  // has settings for all modes
  std::vector<CollectionPtr> collections;
  std::optional<bool> exports_tensorboard;
  std::optional<std::string> tensorboard_dir;
  Problems problems;  // in the order of the document
};

struct HookConfigContext {
  // For messages.
  std::string path;
  // The defaults of save settings, and the existing collections that the configuration can
  // extend by name.
  SaveConfig save_config;
  std::vector<CollectionPtr> collections;
};

// Reads {"S3OutputPath", "LocalPath", "HookParameters": {...}, "CollectionConfigurations":
// [{"CollectionName", "CollectionParameters": {...}}]}.  Numbers and switches may be texts,
// and lists are texts with commas or JSON lists.  For each mode, the first of these save
// settings counts: the collection's for the mode ("train.save_interval"), the collection's,
// the hook's for the mode, the hook's.
//
// Entries with the same collection name are merged: the collection includes the expressions
// of both, and the later settings count.
//
// Unknown keys and bad values are ignored and listed in `problems`.  Fails with
// INVALID_CONFIG, which names the path, if `json` is not a JSON object.
Result<HookConfig> ParseHookConfig(std::string_view json, const HookConfigContext &context);

}  // namespace smdebug::config
