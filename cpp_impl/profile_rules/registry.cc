#include "profile_rules/registry.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/strings.h"
#include "profile_rules/aws_rules.h"
#include "profile_rules/calibrated_rules.h"

namespace smdebug::profile_rules {
namespace {

using rules::ParameterSpec;

// A parameter without a default in a profile is not one of that profile.
constexpr ParameterSpec kPatience = {"patience", "1000", "30",
                                     "samples before the first evaluation; calibrated: seconds "
                                     "with samples"};
constexpr ParameterSpec kSteps = {"patience", "", "20",
                                  "steps after the warm-up before the rule evaluates"};

constexpr std::array kBatchSize = {
    ParameterSpec{"cpu_threshold_p95", "70", "",
                  "use of cores, in percent, below which the rule "
                  "fires"},
    ParameterSpec{"gpu_threshold_p95", "70", "70", "use of a GPU, in percent, in 95 % of the time"},
    ParameterSpec{"gpu_memory_threshold_p95", "70", "70", "memory of a GPU, in percent"},
    kPatience,
    ParameterSpec{"window", "500", "", "samples of which quantiles are computed"},
    ParameterSpec{"shortest_ms", "", "1.15",
                  "without a GPU: milliseconds of a step's forward, backward and optimizer"},
};
constexpr std::array kCpuBottleneck = {
    ParameterSpec{"threshold", "50", "30", "percent of the time"},
    ParameterSpec{"cpu_threshold", "90", "90", "use of a core, in percent, above which it is busy"},
    ParameterSpec{"gpu_threshold", "10", "20", "use of a GPU, in percent, below which it is idle"},
    kPatience,
    ParameterSpec{"wait_threshold", "", "15",
                  "percent of the time in which the training may wait for a core"},
};
constexpr std::array kIoBottleneck = {
    ParameterSpec{"threshold", "50", "30", "percent of the time"},
    ParameterSpec{"io_threshold", "50", "20", "waits for I/O, in percent of a core's time"},
    ParameterSpec{"gpu_threshold", "10", "20", "use of a GPU, in percent, below which it is idle"},
    kPatience,
};
constexpr std::array kGpuMemoryIncrease = {
    ParameterSpec{"increase", "5", "10", "points by which the memory rises"},
    ParameterSpec{"patience", "1000", "", "samples before the first evaluation"},
    ParameterSpec{"window", "10", "", "samples of a mean"},
};
constexpr std::array kLoadBalancing = {
    ParameterSpec{"threshold", "0.2", "", "distance of two histograms, from 0 to 0.83"},
    kPatience,
    ParameterSpec{"points", "", "20", "points by which the use of two GPUs may differ"},
};
constexpr std::array kLowGpuUtilization = {
    ParameterSpec{"threshold_p95", "70", "70", "use of a GPU, in percent, in 95 % of the time"},
    ParameterSpec{"threshold_p5", "10", "10",
                  "use of a GPU, in percent, below which it fluctuates"},
    ParameterSpec{"window", "500", "", "samples of which quantiles are computed"},
    kPatience,
};
constexpr std::array kMaxInitializationTime = {
    ParameterSpec{"threshold", "20", "20", "minutes until the first step"},
};
constexpr std::array kStepOutlier = {
    ParameterSpec{"stddev", "3", "", "standard deviations beyond which a step is an outlier"},
    ParameterSpec{"mode", "None", "", "name of further events that are steps"},
    ParameterSpec{"n_outliers", "10", "3", "outliers that are allowed; calibrated: the least"},
    ParameterSpec{"factor", "", "3", "multiple of the median beyond which a step is an outlier"},
    ParameterSpec{"share", "", "0.05", "part of the whole time that outliers cost"},
    kSteps,
};
constexpr std::array kDataloader = {
    ParameterSpec{"min_threshold", "70", "70", "processes that load data, in percent of cores"},
    ParameterSpec{"max_threshold", "200", "200", "processes that load data, in percent of cores"},
    ParameterSpec{"patience", "10", "10", "seconds with events of a data loader"},
    ParameterSpec{"share", "", "0.1", "part of a step that waits for data"},
};
constexpr std::array kStepTimeSplit = {
    ParameterSpec{"host_share", "", "0.3",
                  "part of a step that the host works outside of forward, backward, optimizer, "
                  "data and communication"},
    ParameterSpec{"device_share", "", "0.5", "part of a step in which the device works"},
    kSteps,
};
constexpr std::array kStraggler = {
    ParameterSpec{"factor", "", "1.2", "multiple of the other workers' time"},
    ParameterSpec{"share", "", "0.1", "part of a step that the others wait"},
    kSteps,
};
constexpr std::array kCommunicationOverlap = {
    ParameterSpec{"share", "", "0.25",
                  "part of a step with communication that no computation overlaps"},
    kSteps,
};
constexpr std::array kStepTimeDrift = {
    ParameterSpec{"factor", "", "1.3", "how many times as long steps may become"},
    ParameterSpec{"patience", "", "40", "steps after the warm-up before the rule evaluates"},
};
constexpr std::array kDataLoaderStarves = {
    ParameterSpec{"share", "", "0.2", "part of the time that waits for data"},
    ParameterSpec{"shortest_ms", "", "1", "milliseconds of a step's wait that can be helped"},
    kSteps,
};
constexpr std::array kHostMemoryLeak = {
    ParameterSpec{"increase", "", "3", "points by which the memory rises"},
    ParameterSpec{"process_increase", "", "20",
                  "percent by which the memory of the process rises, 32 MB at least"},
};
constexpr std::array kDeviceMemoryLeak = {
    ParameterSpec{"increase", "", "3", "points by which the memory rises"},
};
constexpr std::array kCheckpointStalls = {
    ParameterSpec{"share", "", "0.05", "part of the time that stalls take"},
    ParameterSpec{"factor", "", "2", "multiple of the median beyond which a step stalls"},
    kSteps,
};

constexpr std::array kRules = {
    ProfileRuleSpec{
        "BatchSize", "A larger batch would use the machine better.",
        "Raise the batch size, and the learning rate with it; or use a smaller machine.",
        kBatchSize, MakeAwsBatchSize, MakeBatchSize},
    ProfileRuleSpec{"CPUBottleneck",
                    "GPUs are idle while cores are busy, or the training "
                    "waits for cores.",
                    "Move work of the host to more processes, or to the device. Check the data "
                    "loader's transformations. Without a GPU: stop other programs, or use fewer "
                    "processes and threads.",
                    kCpuBottleneck, MakeAwsCpuBottleneck, MakeCpuBottleneck},
    ProfileRuleSpec{"IOBottleneck", "Cores wait for input and output.",
                    "Read larger files in sequence, cache data on local disks, or prefetch it.",
                    kIoBottleneck, MakeAwsIoBottleneck, MakeIoBottleneck},
    ProfileRuleSpec{"GPUMemoryIncrease", "The memory of a GPU rises.",
                    "Check for tensors that are kept from step to step, such as losses with their "
                    "graph, and for inputs of growing size.",
                    kGpuMemoryIncrease, MakeAwsGpuMemoryIncrease, MakeGpuMemoryIncrease},
    ProfileRuleSpec{"LoadBalancing", "GPUs of one node are used unevenly.",
                    "Check that each process has a GPU of its own and an equal share of the data.",
                    kLoadBalancing, MakeAwsLoadBalancing, MakeLoadBalancing},
    ProfileRuleSpec{"LowGPUUtilization", "A GPU is used little, or with breaks.",
                    "Look at the table of the step: what it waits for comes first. Else raise the "
                    "batch size.",
                    kLowGpuUtilization, MakeAwsLowGpuUtilization, MakeLowGpuUtilization},
    ProfileRuleSpec{"MaxInitializationTime", "The first step begins late.",
                    "Cache what is downloaded and compiled. Check how long the data set takes to "
                    "open.",
                    kMaxInitializationTime, MakeAwsMaxInitializationTime,
                    MakeMaxInitializationTime},
    ProfileRuleSpec{"StepOutlier", "Some steps take much longer than others.",
                    "Compare the flame chart of a slow step with that of a usual one.",
                    kStepOutlier, MakeAwsStepOutlier, MakeStepOutlier},
    ProfileRuleSpec{"Dataloader", "Too few or too many processes load data.",
                    "Set num_workers of the data loader to about the number of cores.", kDataloader,
                    MakeAwsDataloader, MakeDataloader},
    ProfileRuleSpec{"OverallSystemUsage",
                    "Never: reports how much the machines are used.",
                    "",
                    {},
                    MakeOverallSystemUsage,
                    MakeOverallSystemUsage},
    ProfileRuleSpec{"OverallFrameworkMetrics",
                    "Never: reports what the time is spent on.",
                    "",
                    {},
                    MakeOverallFrameworkMetrics,
                    MakeOverallFrameworkMetrics},
    ProfileRuleSpec{"StepTimeSplit", "The host holds up steps, or the device is idle in them.",
                    "Look for copies to the host, item(), logging and synchronisation in each "
                    "step; do them every few steps.",
                    kStepTimeSplit, nullptr, MakeStepTimeSplit},
    ProfileRuleSpec{"Straggler", "A worker is slower than the others, which wait for it.",
                    "Check that worker's machine, and its share of the data. Exchange the machine "
                    "if the slowness stays with it.",
                    kStraggler, nullptr, MakeStraggler},
    ProfileRuleSpec{"CommunicationOverlap", "Communication holds up steps.",
                    "Overlap communication with backward (buckets), accumulate gradients, or "
                    "compress them.",
                    kCommunicationOverlap, nullptr, MakeCommunicationOverlap},
    ProfileRuleSpec{"StepTimeDrift", "Steps become longer as the job goes on.",
                    "Look for lists that grow, for other programs on the machine, and for "
                    "throttled clocks.",
                    kStepTimeDrift, nullptr, MakeStepTimeDrift},
    ProfileRuleSpec{"DataLoaderStarves", "Steps wait for data.",
                    "Use more workers, a longer prefetch, pinned memory or cheaper "
                    "transformations.",
                    kDataLoaderStarves, nullptr, MakeDataLoaderStarves},
    ProfileRuleSpec{"HostMemoryLeak", "The memory of a machine rises all the time.",
                    "Look for lists that keep tensors or results of every step.", kHostMemoryLeak,
                    nullptr, MakeHostMemoryLeak},
    ProfileRuleSpec{"DeviceMemoryLeak", "The memory of a device rises all the time.",
                    "Detach what is kept from step to step; check caches of compiled shapes.",
                    kDeviceMemoryLeak, nullptr, MakeDeviceMemoryLeak},
    ProfileRuleSpec{"CheckpointStalls", "Checkpoints hold up steps.",
                    "Write checkpoints from another thread, less often, or to a faster disk.",
                    kCheckpointStalls, nullptr, MakeCheckpointStalls},
};

std::string_view DefaultOf(const ParameterSpec &parameter, rules::Profile profile) {
  return profile == rules::Profile::kAws ? parameter.aws : parameter.calibrated;
}

}  // namespace

std::span<const ProfileRuleSpec> ProfileRules() { return kRules; }

Result<const ProfileRuleSpec *> FindProfileRule(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ProfileRuleSpec &rule : kRules) {
    if (rule.name == name) return &rule;
    names.push_back(rule.name);
  }
  return InvalidArgument(
      StrCat("there is no rule over profiles '", name.substr(0, 64), "'", DidYouMean(name, names)));
}

Result<std::unique_ptr<ProfileRule>> MakeProfileRule(const ProfileRuleSpec &rule,
                                                     const rules::Parameters::Given &given,
                                                     rules::Profile profile,
                                                     const NameTable *names) {
  SMD_ASSIGN_OR_RETURN(const rules::Parameters parameters,
                       rules::Parameters::Make(rule.name, rule.parameters, given, profile));
  for (const ParameterSpec &each : rule.parameters) {
    const bool is_other = DefaultOf(each, profile).empty() && given.contains(each.name);
    if (!is_other) continue;
    return parameters.Refuse(StrCat("'", each.name, "' is not a parameter of the profile ",
                                    rules::ProfileName(profile)));
  }
  const bool is_aws = profile == rules::Profile::kAws;
  return (is_aws ? rule.aws : rule.calibrated)(parameters, names);
}

std::string ParameterText(const ProfileRuleSpec &rule, const rules::Parameters::Given &given,
                          rules::Profile profile) {
  std::string text;
  for (const ParameterSpec &each : rule.parameters) {
    const std::string_view value = DefaultOf(each, profile);
    if (value.empty()) continue;
    if (!text.empty()) text += "\n";
    const auto own = given.find(each.name);
    text += StrCat(each.name, ":", own == given.end() ? value : std::string_view(own->second));
  }
  return text;
}

}  // namespace smdebug::profile_rules
