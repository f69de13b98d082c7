// A hook's configuration as the training service hands it to a job.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/collection.h"
#include "config/reduction_config.h"
#include "config/save_config.h"

namespace smdebug::config {

// What is not given is nothing, or empty.
struct HookConfig {
  std::optional<std::string> out_dir;
  std::optional<bool> saves_all;
  std::optional<bool> is_dry_run;
  std::optional<bool> includes_all_workers;
  std::vector<std::string> include_regexes;
  std::optional<ReductionConfig> reduction_config;
  SaveConfig save_config;  // of every mode
  std::vector<CollectionPtr> collections;
  std::optional<bool> exports_tensorboard;
  std::optional<std::string> tensorboard_dir;
};

struct HookConfigContext {
  // For messages.
  std::string path;
  // What the configuration builds on: settings for what it leaves open, and the
  // collections that it may add to by their names.
  SaveConfig save_config;
  std::vector<CollectionPtr> collections;
  // Whether a key that means nothing is an error; else it is passed over.
  bool is_strict = true;
};

// Reads {"S3OutputPath", "LocalPath", "HookParameters": {...}, "CollectionConfigurations":
// [{"CollectionName", "CollectionParameters": {...}}]}.  Numbers and switches may be texts,
// and lists are texts with commas or JSON lists.  A save setting of a mode is, of those that
// are given, the collection's for the mode ("train.save_interval"), the collection's, the
// hook's for the mode, the hook's.
//
// INVALID_CONFIG names the path, the key, and for an unknown one the nearest known.
Result<HookConfig> ParseHookConfig(std::string_view json, const HookConfigContext &context);

}  // namespace smdebug::config
