#include "profile/profiler_config.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/strings.h"
#include "profile/literal_json.h"

namespace smdebug::profile {
namespace {

using config::KeyCase;
using config::Problems;
using config::SettingsReader;

constexpr std::array<std::string_view, kFeatures> kNames = {"detailed", "dataloader", "python",
                                                            "smdataparallel", "horovod"};
constexpr std::array<const char *, kFeatures> kKeys = {
    "DetailedProfilingConfig", "DataloaderProfilingConfig", "PythonProfilingConfig",
    "SMDataParallelProfilingConfig", "HorovodProfilingConfig"};

// Returns the text if it is one of these in any case.
std::optional<std::string> OneOf(SettingsReader *reader, const char *key,
                                 const std::vector<std::string> &allowed) {
  const std::optional<std::string> given = reader->Text(key);
  if (!given) return {};
  const std::string lower = ToLower(Trim(*given));
  if (std::find(allowed.begin(), allowed.end(), lower) != allowed.end()) return lower;
  reader->Ignore(StrCat(key, " is '", Excerpt(*given), "'; it must be ", Join(allowed, ", ")));
  return {};
}

// Reads one of the parts that are literals.
class PartReader {
 public:
  PartReader(Feature feature, const JsonValue &part, Problems *problems)
      : feature_(feature),
        key_(kKeys[static_cast<size_t>(feature)]),
        problems_(*problems),
        reader_(part, problems, StrCat(key_, ": "), KeyCase::kAny) {}

  void Read(ProfilerConfig *out) {
    CheckKeys();
    out->windows[static_cast<size_t>(feature_)] = Window();
    if (feature_ == Feature::kDataloader) ReadMetrics(out);
    if (feature_ != Feature::kPython) return;
    if (auto name = OneOf(&reader_, "ProfilerName", {"cprofile", "pyinstrument"})) {
      out->profiler_name = *name;
    } else if (reader_.Has("ProfilerName")) {
      out->windows[static_cast<size_t>(feature_)] = {};
    }
    const auto timer =
        OneOf(&reader_, "cProfileTimer", {"total_time", "cpu_time", "off_cpu_time", "default"});
    if (timer) out->cprofile_timer = *timer;
  }

 private:
  void CheckKeys() {
    std::vector<std::string> known = {"StartStep",         "NumSteps", "StartTimeInSecSinceEpoch",
                                      "DurationInSeconds", "Duration", "DefaultProfiling"};
    if (feature_ == Feature::kDataloader) known.emplace_back("MetricsRegex");
    if (feature_ == Feature::kPython) {
      known.insert(known.end(), {"ProfilerName", "cProfileTimer"});
    }
    reader_.CheckKeys(known);
  }

  // An invalid limit must not widen the window: then there is none, as in the original.
  ProfileWindow Window() {
    const size_t problems_before = problems_.size();
    const auto start_step = reader_.Number("StartStep", 0);
    const auto steps = reader_.Number("NumSteps", 1);
    const auto start_time = reader_.Real("StartTimeInSecSinceEpoch", 0);
    // The original's SDK writes "Duration".
    auto duration = reader_.Real("DurationInSeconds", 0);
    if (!duration) duration = reader_.Real("Duration", 0);
    const bool has_steps = start_step || steps;
    const bool has_time = start_time || duration;
    if (has_steps && has_time) {
      problems_.push_back({StrCat(key_, " has both steps and times"),
                           "what it configures is not profiled; use one kind"});
      return {};
    }
    for (size_t i = problems_before; i < problems_.size(); ++i) {
      problems_[i].outcome = "what it configures is not profiled";
    }
    if (problems_.size() > problems_before) return {};
    if (has_steps) return ProfileWindow::OfSteps(start_step, steps);
    return has_time ? ProfileWindow::OfTime(start_time, duration) : ProfileWindow();
  }

  void ReadMetrics(ProfilerConfig *out) {
    const auto given = reader_.Text("MetricsRegex");
    if (!given) return;
    // As in the original: from the beginning of a name, in any case.
    auto compiled = Regex::Compile(StrCat("(?i)^(?:", *given, ")"));
    if (compiled.IsOk()) {
      out->metrics_regex = *given;
      out->metrics = *std::move(compiled);
      return;
    }
    reader_.Ignore(StrCat("MetricsRegex: ", compiled.GetStatus().Message()));
    out->windows[static_cast<size_t>(feature_)] = {};
  }

  const Feature feature_;
  const std::string key_;
  Problems &problems_;
  SettingsReader reader_;
};

void ReadPart(Feature feature, const SettingsReader &parameters, Problems *problems,
              ProfilerConfig *out) {
  const char *const key = kKeys[static_cast<size_t>(feature)];
  const std::optional<JsonValue> given = parameters.Given(key);
  if (!given) return;
  if (!given->IsText()) return PartReader(feature, *given, problems).Read(out);
  const Result<std::string> text = given->Text();
  const std::string &literal = *text;
  if (Trim(literal).empty()) return;
  const auto document = JsonDocument::Parse(LiteralToJson(literal));
  if (document.IsOk() && document->Root().IsObject()) {
    return PartReader(feature, document->Root(), problems).Read(out);
  }
  problems->push_back({StrCat(key, " is '", Excerpt(literal),
                              "', which is no dictionary of names, numbers and texts"),
                       "it is ignored"});
}

void ReadSampling(SettingsReader *reader, ProfilerConfig *out) {
  constexpr std::array<int64_t, 6> kAllowed = {100, 200, 500, 1000, 5000, 60000};
  const auto given = reader->Number("ProfilingIntervalInMilliseconds", 0);
  if (!given) return;
  if (*given == 0 || std::find(kAllowed.begin(), kAllowed.end(), *given) != kAllowed.end()) {
    out->sample_milliseconds = *given;
    return;
  }
  reader->Ignore(StrCat("ProfilingIntervalInMilliseconds is ", *given,
                        "; it must be 0, 100, 200, 500, 1000, 5000 or 60000"));
}

void ReadParameters(const JsonValue &json, Problems *problems, ProfilerConfig *out) {
  SettingsReader reader(json, problems, "", KeyCase::kAny);
  std::vector<std::string> known = {"LocalPath",
                                    "RotateMaxFileSizeInBytes",
                                    "RotateFileCloseIntervalInSeconds",
                                    "FileOpenFailThreshold",
                                    "S3OutputPath",
                                    "ProfilerEnabled",
                                    "ProfilingIntervalInMilliseconds"};
  known.insert(known.end(), kKeys.begin(), kKeys.end());
  reader.CheckKeys(known);
  out->is_enabled = json.IsObject() && !json.Members().empty();
  out->local_path = reader.Text("LocalPath").value_or("");
  constexpr double kMostBytes = 1e12;
  if (const auto bytes = reader.Real("RotateMaxFileSizeInBytes", 1024)) {
    out->rotate_bytes = static_cast<uint64_t>(std::min(*bytes, kMostBytes));
  }
  out->rotate_seconds = reader.Real("RotateFileCloseIntervalInSeconds", 1);
  ReadSampling(&reader, out);
  for (size_t i = 0; i < kFeatures; ++i) {
    ReadPart(static_cast<Feature>(i), reader, problems, out);
  }
}

}  // namespace

[[gnu::hot]] std::optional<Feature> FeatureNamed(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return {};
  return static_cast<Feature>(found - kNames.begin());
}

ProfileWindow ProfileWindow::OfSteps(std::optional<int64_t> start, std::optional<int64_t> count) {
  ProfileWindow window;
  window.kind_ = Kind::kSteps;
  window.start_step_ = start;
  window.steps_ = count.value_or(1);
  return window;
}

ProfileWindow ProfileWindow::OfTime(std::optional<double> start, std::optional<double> duration) {
  ProfileWindow window;
  window.kind_ = Kind::kTime;
  window.start_time_ = start;
  window.duration_ = duration;
  return window;
}

bool ProfileWindow::Has(int64_t step, double now) {
  if (IsNever()) return false;
  if (kind_ == Kind::kSteps) {
    if (!start_step_) start_step_ = step;
    return step >= *start_step_ && step - *start_step_ < *steps_;
  }
  if (!start_time_) start_time_ = now;
  if (now < *start_time_) return false;
  if (duration_) return now < *start_time_ + *duration_;
  if (!only_step_) only_step_ = step;
  return step == *only_step_;
}

Result<ProfilerConfig> ProfilerConfig::Parse(std::string_view text, Problems *problems) {
  SMD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  SMD_RETURN_IF_ERROR(config::CheckIsObject(document.Root()));
  ProfilerConfig out;
  SettingsReader reader(document.Root(), problems, "", KeyCase::kAny);
  reader.CheckKeys({"DisableProfiler", "ProfilingParameters", "S3OutputPath", "LocalPath",
                    "ProfilingIntervalInMilliseconds", "ProfilerEnabled", "FileOpenFailThreshold"});
  if (reader.Switch("DisableProfiler").value_or(false)) return out;
  const std::optional<JsonValue> parameters = reader.Object("ProfilingParameters");
  if (!parameters) return out;
  ReadSampling(&reader, &out);
  ReadParameters(*parameters, problems, &out);
  if (out.local_path.empty()) out.local_path = reader.Text("LocalPath").value_or("");
  return out;
}

}  // namespace smdebug::profile
