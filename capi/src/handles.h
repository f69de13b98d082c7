// The handles of the C interface.  Each shares ownership of the objects it needs.  A handle with a
// Mark() belongs to the process that created it; the others are plain data.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyze/event_files.h"
#include "analyze/many_values.h"
#include "analyze/tensor.h"
#include "analyze/trial.h"
#include "base/fork.h"
#include "base/mutex.h"
#include "base/status.h"
#include "config/collection.h"
#include "config/reduction_config.h"
#include "config/save_config.h"
#include "diagnose/table.h"
#include "record/hook.h"
#include "record/hook_options.h"
#include "record/step_file.h"
#include "rules/rule_set.h"
#include "rules/support/parameters.h"
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

struct smd_integers {
  std::vector<int64_t> items;
};

struct smd_value {
  smdebug::tensor::Value value;
};

struct smd_values {
  std::vector<smdebug::analyze::StepValue> items;
};

struct smd_save_config {
  smdebug::config::SaveConfig config;
};

struct smd_reduction_config {
  smdebug::config::ReductionConfig config;
};

struct smd_collection {
  smdebug::config::CollectionPtr collection;

  const smdebug::ProcessMark &Mark() const { return collection->Mark(); }
};

struct smd_hook_options {
  smdebug::record::HookOptions options;

  // Fails with AFTER_FORK if a collection belongs to a process that forked this one.
  smdebug::Status CheckCollections() const {
    for (const auto &each : options.collections) SMD_RETURN_IF_ERROR(each->Mark().Check());
    return smdebug::Status::Ok();
  }
};

struct smd_hook {
  std::shared_ptr<smdebug::record::Hook> hook;

  const smdebug::ProcessMark &Mark() const { return hook->Mark(); }
};

struct smd_trial_options {
  smdebug::analyze::TrialOptions options;
};

struct smd_trial {
  std::shared_ptr<smdebug::analyze::Trial> trial;

  const smdebug::ProcessMark &Mark() const { return trial->Mark(); }
};

struct smd_tensor {
  smdebug::analyze::Tensor tensor;
  smdebug::Mutex placements_mutex{};
  // Those that were returned, which callers borrow.
  std::map<const smdebug::config::Placement *, smd_placement> placements
      SMD_GUARDED_BY(placements_mutex){};

  const smdebug::ProcessMark &Mark() const { return tensor.GetTrial()->Mark(); }
};

struct smd_rule_set {
  smdebug::rules::Profile profile;
  std::shared_ptr<smdebug::rules::RuleSet> set;
  smdebug::ProcessMark mark;
  std::string name;                        // such as "llm", if it is one that RulesOfSet() knows
  const smdebug::diagnose::Table *causes;  // NULL if findings of this set speak for none

  const smdebug::ProcessMark &Mark() const { return mark; }
};

// `views` point into `items`.
struct smd_findings {
  explicit smd_findings(std::vector<smdebug::rules::Finding> list);

  const std::vector<smdebug::rules::Finding> items;
  std::vector<smd_finding> views;
  smdebug::rules::Findings *open = nullptr;  // where a rule's function adds findings; else NULL
};

struct smd_rule_results {
  explicit smd_rule_results(std::vector<smdebug::rules::RuleResult> list);

  const std::vector<smdebug::rules::RuleResult> items;
  std::vector<smd_finding> firsts;
  std::vector<smd_rule_result> views;
};
