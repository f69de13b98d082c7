// Finds tensors that their scale moves out of the range of 8-bit floats.
#include <cmath>
#include <map>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr int64_t kElements = 4096;
constexpr size_t kMostTensors = 100'000;
constexpr std::string_view kOutput = "_output_0";
constexpr std::string_view kScale = "_scale_output_0";

struct Format {
  std::string_view prefix;  // of the names of tensors
  double most;              // the largest number
  double least;             // half of the smallest: it, and all below it, is rounded to 0
};
constexpr Format kFormats[] = {{"e4m3_", 448, 0x1p-10}, {"e5m2_", 57344, 0x1p-17}};

const Format *FormatOf(std::string_view tensor) {
  for (const Format &format : kFormats) {
    if (tensor.starts_with(format.prefix) && tensor.ends_with(kOutput)) return &format;
  }
  return nullptr;
}

struct Limits {
  double underflow;
  double overflow;
  int64_t patience;
};

class Fp8Range final : public Rule {
 public:
  explicit Fp8Range(const Limits &limits) : Rule("Fp8Range"), limits_(limits) {}

  bool Wants(std::string_view tensor, const Membership &) const override {
    return FormatOf(tensor) != nullptr;
  }

  void Observe(const Sample &sample, Findings &) override {
    const Format *format = FormatOf(sample.Tensor());
    if (format == nullptr || !IsTraining(sample.Place().mode)) return;
    const std::string_view name = sample.Tensor();
    const bool is_scale = name.ends_with(kScale);
    const size_t suffix = is_scale ? kScale.size() : kOutput.size();
    if (scaled_.size() >= kMostTensors) scaled_.clear();
    Scaled &scaled = scaled_[StrCat(sample.Worker(), "\n", name.substr(0, name.size() - suffix))];
    if (is_scale) {
      scaled.scale = sample.Scalar();
      return;
    }
    scaled.format = format;
    scaled.subject = {std::string(sample.Worker()), std::string(name)};
    scaled.numbers = sample.SomeNumbers(kElements);
  }

  void EndStep(Findings &findings) override {
    Worst underflow;
    Worst overflow;
    for (auto &[name, scaled] : scaled_) {
      const double scale = scaled.scale.value_or(0);
      const std::vector<double> numbers = std::exchange(scaled.numbers, {});
      scaled.scale.reset();
      if (numbers.empty() || !(scale > 0) || !std::isfinite(scale)) continue;
      NoteEvaluated();
      double small = 0;
      double large = 0;
      for (const double each : numbers) {
        const double size = std::abs(each) * scale;
        if (size > 0 && size <= scaled.format->least) ++small;
        if (size > scaled.format->most) ++large;
      }
      const auto count = static_cast<double>(numbers.size());
      Offer(small / count, limits_.underflow, scaled, scaled.small_steps, underflow);
      Offer(large / count, limits_.overflow, scaled, scaled.large_steps, overflow);
    }
    Report(underflow, "underflow", limits_.underflow, "are rounded to 0", findings);
    Report(overflow, "overflow", limits_.overflow, "are above the largest number", findings);
  }

  std::string Missing() const override {
    return "a tensor recorded as e4m3_NAME or e5m2_NAME, and its scale, recorded as "
           "e4m3_NAME_scale "
           "or e5m2_NAME_scale";
  }

 private:
  struct Scaled {
    const Format *format = nullptr;
    Subject subject;
    std::vector<double> numbers;  // of this step
    std::optional<double> scale;  // of this step
    int64_t small_steps = 0;      // in a row
    int64_t large_steps = 0;
  };
  struct Worst {
    const Scaled *scaled = nullptr;
    double share = 0;
  };

  void Offer(double share, double limit, const Scaled &scaled, int64_t &steps, Worst &worst) const {
    steps = share > limit ? steps + 1 : 0;
    if (steps >= limits_.patience && share > worst.share) worst = {&scaled, share};
  }

  static void Report(const Worst &worst, std::string_view check, double limit,
                     std::string_view what, Findings &findings) {
    if (worst.scaled == nullptr) return;
    const std::string &tensor = worst.scaled->subject.tensor;
    findings.Add(FindingOf(worst.scaled->subject, check, worst.share, limit,
                           StrCat(Shortest(100 * worst.share), " % of the elements of '", tensor,
                                  "' ", what, " of its 8-bit type, by its scale")));
  }

  const Limits limits_;
  std::map<std::string, Scaled> scaled_;  // by worker and name
};

constexpr ParameterSpec kParameters[] = {
    {"underflow", "0.25", "0.25", "share of elements that are not 0 and are rounded to 0"},
    {"overflow", "0.01", "0.01", "share of elements above the largest number of the type"},
    {"patience", "2", "2", "number of consecutive steps before a finding"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.underflow, parameters.Number("underflow", 0, 1));
  SMD_ASSIGN_OR_RETURN(limits.overflow, parameters.Number("overflow", 0, 1));
  SMD_ASSIGN_OR_RETURN(limits.patience, parameters.Whole("patience", 1, 1'000'000));
  return std::unique_ptr<Rule>(std::make_unique<Fp8Range>(limits));
}

}  // namespace

const RuleSpec kFp8Range = {"Fp8Range", "a scale moves a tensor out of the range of 8-bit floats",
                            kParameters, Make, "llm"};

}  // namespace smdebug::rules
