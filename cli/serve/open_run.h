// A run whose files are open: its steps, tensors, curves and findings.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "report/inventory.h"
#include "serve/curve.h"
#include "serve/judge.h"
#include "smdebug.hpp"
#include "trial_arguments.h"

namespace smdebug::cli::serve {

using TensorKind = report::Kind;

struct NamedTensor {
  std::string name;
  TensorKind kind;
  std::vector<std::string> collections;  // without "all" and "default"
};

// Immutable once made.  In natural order: "fc2" precedes "fc10".
using Inventory = std::vector<NamedTensor>;

// The steps that all workers have written.
struct StepTable {
  std::vector<int64_t> steps;  // global
  std::vector<int8_t> modes;   // each a Mode: there are very many
  bool has_ended = false;
  std::string failure;  // why the job failed, if it has

  // Writes how many steps each mode has, as an object.
  void ModesToJson(JsonWriter *json) const;
  Mode ModeAt(size_t place) const { return static_cast<Mode>(modes[place]); }
  int64_t Last() const { return steps.empty() ? -1 : steps.back(); }
};

// Any thread.
class OpenRun {
 public:
  // Fails by throwing smdebug::Error.
  OpenRun(std::string id, std::string name, const std::string &path,
          const TrialArguments &arguments, const RuleChoice &rules);

  const std::string &Id() const { return id_; }
  const std::string &Name() const { return name_; }
  const Trial &GetTrial() const { return trial_; }
  Judge &GetJudge() { return judge_; }
  bool IsRemote() const { return is_remote_; }

  // Reads what was recorded since.  Costs microseconds if there is nothing new.  Does nothing if
  // the last call was less than `least` ago.
  void Refresh(std::chrono::milliseconds least = std::chrono::milliseconds(0));

  std::shared_ptr<const StepTable> Steps() const;
  // Reads a value of each new tensor whose collections do not tell its kind.  Two calls at once
  // read them once.
  std::shared_ptr<const Inventory> Tensors();
  // Returns how many tensors there are, some seconds late while the job runs.  Reads no value.
  // Fails by throwing smdebug::Error.
  size_t CountTensors();

  // Returns the points with first <= step < end, and not after the last step of Steps().  Fails as
  // Extend().
  Points Read(const CurveKey &key, int64_t first, int64_t end);

  // Evaluates rules for about `time`; returns true if there was something to evaluate.
  template <class Found>
  bool Advance(std::chrono::milliseconds time, const Found &found) {
    return judge_.Advance(trial_, Steps()->steps, Judge::Clock::now() + time, found);
  }

  // The estimated memory.
  size_t Bytes() const;

 private:
  using Clock = std::chrono::steady_clock;

  // The last step, and whether it is the last.
  using Extent = std::pair<int64_t, bool>;

  std::shared_ptr<const Inventory> FreshTensors();
  Inventory TakeInventory() const;

  const std::string id_;
  const std::string name_;
  const TrialArguments &arguments_;
  const bool is_remote_;
  const Trial trial_;
  Judge judge_;

  std::mutex refresh_mutex_;
  Clock::time_point refreshed_{};

  std::mutex inventory_mutex_;  // of one inventory at a time; before mutex_

  mutable std::mutex mutex_;
  std::shared_ptr<const StepTable> steps_ = std::make_shared<StepTable>();
  std::shared_ptr<const Inventory> tensors_;
  Clock::time_point inventory_taken_{};
  Extent inventory_of_{-1, false};
  size_t tensor_count_ = 0;
  Clock::time_point counted_{};
  Extent count_of_{-1, false};

  struct KeptCurve {
    Curve curve;
    uint64_t used = 0;
  };
  mutable std::mutex curves_mutex_;
  std::map<CurveKey, KeptCurve> curves_;
  uint64_t uses_ = 0;
};

}  // namespace smdebug::cli::serve
