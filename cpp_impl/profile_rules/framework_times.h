// Adds up the times of spans by kind, as the original's reports show them.
#pragma once

#include <map>
#include <set>

#include "profile_rules/json_tree.h"
#include "profile_rules/name_table.h"
#include "profile_rules/span.h"

namespace smdebug::profile_rules {

class FrameworkTimes {
 public:
  enum class Kind : uint8_t { kCpu, kGpu, kStep, kForward, kBackward, kPhase, kHorovod };

  explicit FrameworkTimes(const NameTable *names) : names_(*names) {}

  Kind KindOf(const Span &span);
  // Adds the span's duration, `times` times.
  void Add(const Span &span, double times);
  // Number of rows of GPU functions so far, at least 1.
  double GpuCount() const;
  // The time of the row "others" of the steps.
  void SetOthers(double time);
  double SumOfSteps() const;

  // Writes the shares.  `swaps_ratio`: with the shares of CPU and GPU functions exchanged, as some
  // of the original's rules write them.
  void Write(bool swaps_ratio, Json *details) const;

 private:
  using Times = std::map<NameId, double>;

  void WriteFunctions(const std::map<NameId, Times> &rows, std::string_view name,
                      Json *details) const;
  void WriteShares(const Times &times, double least_share, Json *out) const;
  void WriteRatio(bool swaps_ratio, Json *out) const;

  const NameTable &names_;
  std::map<NameId, Kind> kinds_;  // by phase, of files that are not Horovod's
  std::map<NameId, Times> cpu_;   // by phase and name
  std::map<NameId, Times> gpu_;
  Times steps_;
  Times phases_;
  Times horovod_;
  double others_ = 0;
  bool has_others_ = false;
  double forward_ = 0;
  double backward_ = 0;
  bool has_forward_ = false;
  bool has_backward_ = false;
};

}  // namespace smdebug::profile_rules
