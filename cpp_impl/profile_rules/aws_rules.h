// The rules of the original's history, with its definitions.
#pragma once

#include <memory>

#include "base/result.h"
#include "profile_rules/profile_rule.h"

namespace smdebug::profile_rules {

using MadeRule = Result<std::unique_ptr<ProfileRule>>;

MadeRule MakeAwsBatchSize(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeAwsCpuBottleneck(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeAwsIoBottleneck(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeAwsGpuMemoryIncrease(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeAwsLoadBalancing(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeAwsLowGpuUtilization(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeAwsMaxInitializationTime(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeAwsStepOutlier(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeAwsDataloader(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeOverallSystemUsage(const rules::Parameters &parameters, const NameTable *names);
MadeRule MakeOverallFrameworkMetrics(const rules::Parameters &parameters, const NameTable *names);

}  // namespace smdebug::profile_rules
