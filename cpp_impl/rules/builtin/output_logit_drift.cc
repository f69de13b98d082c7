// Finds logits of a model that drift away from 0, which the softmax of the loss does not see.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/channels.h"
#include "rules/support/culprits.h"
#include "rules/support/named_tensors.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr std::string_view kLogits =
    R"((?i)(^|[._])((lm|output|mlm)_?head|head|unembed|(lm|output|model)_?logits)_output_0$)";
constexpr int64_t kMostElements = 1 << 15;
constexpr int64_t kLeastClasses = 4;

// Returns the mean of log(sum(exp(row))) over rows, spread evenly, or nothing without elements.
std::optional<double> LogSumExpOf(const tensor::View &view) {
  const int64_t classes = view.shape.empty() ? 0 : view.shape.back();
  if (classes < kLeastClasses || view.ElementCount() == 0) return std::nullopt;
  const int64_t rows = view.ElementCount() / classes;
  const int64_t most = std::max<int64_t>(1, kMostElements / classes);
  const int64_t step = (rows + most - 1) / most;
  const CompactElements elements(view);
  const auto size = static_cast<int64_t>(tensor::DTypeSize(view.dtype));
  double total = 0;
  int64_t count = 0;
  for (int64_t row = 0; row < rows; row += step, ++count) {
    const std::byte *from = elements.Data() + row * classes * size;
    double largest = -std::numeric_limits<double>::infinity();
    ForEachNumbers(from, classes, view.dtype, [&](const auto *numbers, size_t n) {
      for (size_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<double>(numbers[i]));
    });
    if (!std::isfinite(largest)) return std::nullopt;
    double sum = 0;
    ForEachNumbers(from, classes, view.dtype, [&](const auto *numbers, size_t n) {
      for (size_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(numbers[i]) - largest);
    });
    total += largest + std::log(sum);
  }
  return total / static_cast<double>(count);
}

struct Limits {
  double limit;
  double factor;
  int64_t samples;
};

class OutputLogitDrift final : public Rule {
 public:
  OutputLogitDrift(Selector selector, const Limits &limits)
      : Rule("OutputLogitDrift"), selector_(std::move(selector)), limits_(limits) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const tensor::View *elements = sample.RealElements();
    if (elements == nullptr || !IsTraining(sample.Place().mode)) return;
    const std::optional<double> mean = LogSumExpOf(*elements);
    if (!mean || !std::isfinite(*mean)) return;
    const double size = std::abs(*mean);
    First &first = firsts_.Of(sample);
    if (first.count < limits_.samples) {
      first.most = std::max(first.most, size);
      ++first.count;
      return;
    }
    NoteEvaluated();
    const double limit = std::max(limits_.limit, limits_.factor * first.most);
    if (!(size > limit)) return;
    culprits_.Offer(sample, {size, *mean, limit}, [&] {
      return StrCat("the mean logarithm of the sums of exponentials of '", sample.Tensor(), "' is ",
                    Shortest(*mean), ", and was at most ", Shortest(first.most), " in the first ",
                    limits_.samples, " steps: all logits drift together");
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override {
    return StrCat("the logits of a model, with elements, at more than ", limits_.samples,
                  " training steps");
  }

 private:
  struct First {
    double most = 0;
    int64_t count = 0;
  };

  const Selector selector_;
  const Limits limits_;
  SampleStates<First> firsts_;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"tensor_regex", kLogits, kLogits, "expressions found in the names of logits of a model"},
    {"limit", "100", "100", "largest absolute value of the mean logarithm of the sums"},
    {"factor", "2", "2", "times the largest of the first steps"},
    {"samples", "20", "20", "number of first steps"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(Selector selector, TensorsByRole(parameters, "tensor_regex", {}));
  SMD_ASSIGN_OR_RETURN(limits.limit, parameters.Positive("limit"));
  SMD_ASSIGN_OR_RETURN(limits.factor, parameters.Number("factor", 1, 1e30));
  SMD_ASSIGN_OR_RETURN(limits.samples, parameters.Whole("samples", 1, 1'000'000));
  return std::unique_ptr<Rule>(std::make_unique<OutputLogitDrift>(std::move(selector), limits));
}

}  // namespace

const RuleSpec kOutputLogitDrift = {"OutputLogitDrift",
                                    "all logits of a model drift away from 0 together", kParameters,
                                    Make, "llm"};

}  // namespace smdebug::rules
