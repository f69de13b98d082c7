#include "doctor.h"

#include <sys/utsname.h>

#include <thread>

#include "json_writer.h"
#include "table.h"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli {
namespace {

struct Fact {
  std::string name;
  std::string text;
};

std::string AbiText(uint32_t level) {
  return std::to_string(level >> 16U) + "." + std::to_string(level & 0xFFFFU);
}

std::vector<std::string> Features() {
  std::vector<std::string> features;
  for (const char *feature : {"local", "s3"}) {
    if (HasFeature(feature)) features.emplace_back(feature);
  }
  return features;
}

std::vector<Fact> Facts() {
  utsname system{};
  uname(&system);
  return {{"version", Version()},
          {"abi", AbiText(smd_abi_level()) + ", the program needs " + AbiText(SMD_ABI_LEVEL)},
          {"features", Join(Features(), ", ")},
          {"system", std::string(system.sysname) + " " + system.release + ", " + system.machine},
          {"processors", std::to_string(std::thread::hardware_concurrency())}};
}

// Loads a hook's configuration as a job would, and returns the warnings that the job would log.
std::vector<StoreFinding> CheckConfiguration(const std::string &file) {
  std::vector<StoreFinding> findings;
  HookOptions options;
  options.SetLog(LogLevel::kWarning, [&](LogLevel, std::string_view line) {
    findings.push_back({"config", SMD_INVALID_CONFIG, std::string(line)});
  });
  try {
    options.Load(file);
  } catch (const Error &error) {
    findings.push_back({"config", error.Code(), error.what()});
  }
  if (findings.empty()) findings.push_back({"config", SMD_OK, file});
  return findings;
}

class Doctor final : public Command {
 public:
  const char *Name() const override { return "doctor"; }
  const char *Summary() const override {
    return "check whether trials can be recorded to a place and read from it";
  }
  const char *Details() const override {
    return "Reports facts about the library and the machine. With PATH, also runs the checks that "
           "recording and reading depend on, and stops at the first failure, whose exit code it "
           "returns; the checks write, read and remove one small file. With --config, also lists "
           "the unknown keys and bad values of a hook's configuration file, which a job ignores "
           "with a warning.";
  }
  const char *Examples() const override {
    return "smdebug doctor\n"
           "smdebug doctor run\n"
           "smdebug doctor s3://my-bucket/jobs --set s3_region=us-east-1\n"
           "smdebug doctor --config hook.json\n";
  }

  void Declare(Arguments &arguments) override {
    arguments.OptionalPositional("PATH", "a folder, or s3://bucket/prefix", &path_);
    arguments.Text("--config", "FILE", "also check this configuration file of a hook", &config_);
    arguments.Flag("--json", "print one object, for programs", &as_json_);
    options_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    HookOptions options;
    options_.ApplyTo(&options);
    std::vector<StoreFinding> findings;
    if (!config_.empty()) findings = CheckConfiguration(config_);
    const bool is_config_good = findings.empty() || findings.back().code == SMD_OK;
    if (!path_.empty() && is_config_good) {
      for (StoreFinding &tried : CheckStore(path_, &options)) findings.push_back(std::move(tried));
    }
    if (as_json_) {
      PrintJson(findings);
    } else {
      PrintText(findings);
    }
    return findings.empty() ? ExitCode::kNoFindings : ExitCodeOf(findings.back().code);
  }

 private:
  static void PrintText(const std::vector<StoreFinding> &findings) {
    size_t longest = 0;
    const std::vector<Fact> facts = Facts();
    for (const Fact &fact : facts) longest = std::max(longest, fact.name.size());
    for (const StoreFinding &tried : findings) longest = std::max(longest, tried.name.size());
    for (const Fact &fact : facts) Print(Padded(fact.name, longest) + "  " + fact.text + "\n");
    if (!findings.empty()) Print("\n");
    for (const StoreFinding &tried : findings) {
      const bool is_good = tried.code == SMD_OK;
      const std::string mark = is_good ? "ok" : smd_code_name(tried.code);
      Print(Padded(tried.name, longest) + "  " +
            Styled(mark, is_good ? Style::kGood : Style::kBad) +
            (tried.message.empty() ? "" : "  " + Printable(tried.message)) + "\n");
    }
  }

  void PrintJson(const std::vector<StoreFinding> &findings) const {
    JsonWriter json;
    json.BeginObject();
    for (const Fact &fact : Facts()) {
      json.Key(fact.name);
      fact.name == "features" ? json.Texts(Features()) : json.Text(fact.text);
    }
    json.Key("path");
    path_.empty() ? json.Null() : json.Text(path_);
    json.Key("tried").BeginArray();
    for (const StoreFinding &tried : findings) {
      json.BeginObject().Key("name").Text(tried.name).Key("code").Text(smd_code_name(tried.code));
      json.Key("message").Text(tried.message).EndObject();
    }
    Print(json.EndArray().EndObject().Take() + "\n");
  }

  TrialArguments options_;
  std::string path_;
  std::string config_;
  bool as_json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDoctor() { return std::make_unique<Doctor>(); }

}  // namespace smdebug::cli
