// The handles of the C interface: each shares what it needs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analyze/event_files.h"
#include "analyze/tensor.h"
#include "analyze/trial.h"
#include "base/status.h"
#include "config/collection.h"
#include "config/reduction_config.h"
#include "config/save_config.h"
#include "record/hook.h"
#include "record/hook_options.h"
#include "record/live_rules.h"
#include "record/step_file.h"
#include "rules/parameters.h"
#include "rules/rule.h"
#include "rules/verdict.h"
#include "smdebug.h"
#include "tensor/value.h"

struct smd_error {
  smdebug::Status status;
};

struct smd_text {
  std::string text;
};

struct smd_strings {
  std::vector<std::string> items;
};

struct smd_steps {
  std::vector<int64_t> items;
};

struct smd_value {
  smdebug::tensor::Value value;
};

struct smd_save_config {
  smdebug::config::SaveConfig config;
};

struct smd_reduction_config {
  smdebug::config::ReductionConfig config;
};

struct smd_collection {
  smdebug::config::CollectionPtr collection;
};

struct smd_hook_options {
  smdebug::record::HookOptions options;
};

struct smd_hook {
  std::shared_ptr<smdebug::record::Hook> hook;
};

struct smd_trial_options {
  smdebug::analyze::TrialOptions options;
};

struct smd_trial {
  std::shared_ptr<smdebug::analyze::Trial> trial;
};

struct smd_tensor {
  smdebug::analyze::Tensor tensor;
};

struct smd_panel {
  smdebug::rules::Profile profile;
  std::shared_ptr<smdebug::rules::SharedPanel> shared;
};

struct smd_verdicts {
  std::vector<smdebug::rules::Verdict> items;
};

struct smd_rule {
  std::unique_ptr<smdebug::rules::Rule> rule;
  std::string last_finding;
};
