// Rules that evaluate a profile as a whole.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile_rules/profile_rule.h"
#include "profile_rules/summary.h"

namespace smdebug::profile_rules {

using MadeRule = Result<std::unique_ptr<ProfileRule>>;

// A rule whose report lists its findings.
class CalibratedRule : public ProfileRule {
 public:
  explicit CalibratedRule(std::string_view name) : name_(name) {}

 protected:
  // `evaluated`: cycles or samples.
  void NoteDatapoints(size_t evaluated) {
    NoteEvaluated();
    MutableReport().datapoints += static_cast<int64_t>(evaluated);
  }
  // Returns the finding, whose place may be filled in.
  rules::Finding &Add(std::string_view check, std::string_view worker, std::string_view culprit,
                      double value, double limit, std::string message);

 private:
  const std::string name_;
};

MadeRule MakeBatchSize(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeCpuBottleneck(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeIoBottleneck(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeGpuMemoryIncrease(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeLoadBalancing(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeLowGpuUtilization(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeMaxInitializationTime(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeStepOutlier(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeDataloader(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeStepTimeSplit(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeStraggler(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeCommunicationOverlap(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeStepTimeDrift(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeDataLoaderStarves(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeHostMemoryLeak(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeDeviceMemoryLeak(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeCheckpointStalls(const rules::Parameters &parameters, const NameTable *names);

}  // namespace smdebug::profile_rules
