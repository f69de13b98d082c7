#include "profile_rules/framework_times.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"

namespace smdebug::profile_rules {
namespace {

// Functions that take less are left out.
constexpr double kLeastShare = 0.02;

FrameworkTimes::Kind KindOfPhase(const std::string &phase) {
  using Kind = FrameworkTimes::Kind;
  const std::string lower = ToLower(phase);
  if (lower.find("cpu") != std::string::npos) return Kind::kCpu;
  if (lower.find("gpu") != std::string::npos) return Kind::kGpu;
  if (phase.find("Step") != std::string::npos) return Kind::kStep;
  if (phase == "Forward-SubModuleInternal") return Kind::kForward;
  if (phase == "Backward-SubModuleInternal") return Kind::kBackward;
  return Kind::kPhase;
}

template <class Map>
double Sum(const Map &times) {
  double sum = 0;
  for (const auto &[name, time] : times) sum += time;
  return sum;
}

double Share(double part, double whole) { return whole == 0 ? 0 : part / whole * 100; }

}  // namespace

FrameworkTimes::Kind FrameworkTimes::KindOf(const Span &span) {
  auto known = kinds_.find(span.phase);
  if (known == kinds_.end()) {
    known = kinds_.emplace(span.phase, KindOfPhase(names_.NameOf(span.phase))).first;
  }
  const bool is_horovod = known->second == Kind::kPhase && span.file_type == FileType::kHorovod;
  return is_horovod ? Kind::kHorovod : known->second;
}

void FrameworkTimes::Add(const Span &span, double times) {
  const double time = span.duration * times;
  switch (KindOf(span)) {
    case Kind::kCpu: cpu_[span.phase][span.name] += time; break;
    case Kind::kGpu: gpu_[span.phase][span.name] += time; break;
    case Kind::kStep: steps_[span.phase] += time; break;
    case Kind::kForward:
      forward_ += time;
      has_forward_ = true;
      break;
    case Kind::kBackward:
      backward_ += time;
      has_backward_ = true;
      break;
    case Kind::kPhase: phases_[span.phase] += time; break;
    case Kind::kHorovod: horovod_[span.name] += time; break;
  }
}

double FrameworkTimes::GpuCount() const {
  return gpu_.empty() ? 1 : static_cast<double>(gpu_.size());
}

void FrameworkTimes::SetOthers(double time) {
  others_ = time;
  has_others_ = true;
}

double FrameworkTimes::SumOfSteps() const { return Sum(steps_) + others_; }

void FrameworkTimes::Write(bool swaps_ratio, Json *details) const {
  (*details)["ratio"] = Json::Object();
  WriteRatio(swaps_ratio, &(*details)["ratio"]);
  if (!cpu_.empty()) WriteFunctions(cpu_, "CPU", details);
  if (!gpu_.empty()) WriteFunctions(gpu_, "GPU", details);
  Json phase = Json::Object();
  const double steps = SumOfSteps();
  for (const auto &[name, time] : steps_) phase[names_.NameOf(name)] = Share(time, steps);
  if (has_others_) phase["others"] = Share(others_, steps);
  (*details)["phase"] = std::move(phase);
  (*details)["phase_time"] = Json::Object();
  if (!phases_.empty()) WriteShares(phases_, 0, &(*details)["general"]);
  if (has_forward_ && has_backward_) {
    Json both = Json::Object();
    both["Forward pass"] = Share(forward_, forward_ + backward_);
    both["Backward pass"] = Share(backward_, forward_ + backward_);
    (*details)["forward_backward"] = std::move(both);
  }
  if (!horovod_.empty()) WriteShares(horovod_, kLeastShare, &(*details)["horovod"]);
}

void FrameworkTimes::WriteRatio(bool swaps_ratio, Json *out) const {
  std::vector<std::pair<NameId, double>> cpu;
  std::vector<std::pair<NameId, double>> gpu;
  for (const auto &[phase, times] : cpu_) cpu.emplace_back(phase, Sum(times));
  for (const auto &[phase, times] : gpu_) gpu.emplace_back(phase, Sum(times));
  std::vector<std::pair<NameId, double>> labels = swaps_ratio ? cpu : gpu;
  labels.insert(labels.end(), swaps_ratio ? gpu.begin() : cpu.begin(),
                swaps_ratio ? gpu.end() : cpu.end());
  std::vector<std::pair<NameId, double>> times = gpu;
  times.insert(times.end(), cpu.begin(), cpu.end());
  double sum = 0;
  for (const auto &each : times) sum += each.second;
  for (size_t i = 0; i < labels.size(); ++i) {
    (*out)[names_.NameOf(labels[i].first)] = Share(times[i].second, sum);
  }
}

// The functions of all rows together.
void FrameworkTimes::WriteFunctions(const std::map<NameId, Times> &rows, std::string_view name,
                                    Json *details) const {
  Times functions;
  for (const auto &[phase, times] : rows) {
    for (const auto &[function, time] : times) functions[function] += time;
  }
  (*details)[name] = Json::Object();
  WriteShares(functions, kLeastShare, &(*details)[name]);
  Json totals = Json::Object();
  const double sum = Sum(functions);
  for (const auto &[function, time] : functions) {
    if (time > sum * kLeastShare) totals[names_.NameOf(function)] = time;
  }
  (*details)[StrCat(name, "_total")] = std::move(totals);
}

void FrameworkTimes::WriteShares(const Times &times, double least_share, Json *out) const {
  const double least = Sum(times) * least_share;
  double sum = 0;
  for (const auto &[name, time] : times) {
    if (least_share == 0 || time > least) sum += time;
  }
  *out = Json::Object();
  for (const auto &[name, time] : times) {
    if (least_share == 0 || time > least) (*out)[names_.NameOf(name)] = Share(time, sum);
  }
}

}  // namespace smdebug::profile_rules
