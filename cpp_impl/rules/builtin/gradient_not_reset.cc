// Finds gradients that still hold those of the previous step, from rows that a step does not use.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/channels.h"
#include "rules/support/culprits.h"
#include "rules/support/selector.h"
#include "rules/support/tensor_names.h"
#include "rules/support/tensor_states.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr int64_t kMostRows = 64;
constexpr int64_t kMostOfRow = 32;
constexpr int64_t kLeastOfRow = 8;

using Row = std::vector<double>;

// Returns rows of a gradient, spread evenly, each with its first elements.
std::vector<Row> RowsOf(const tensor::View &view) {
  const int64_t width = view.shape.back();
  const int64_t count = view.ElementCount() / width;
  const int64_t step = (count + kMostRows - 1) / kMostRows;
  const CompactElements elements(view);
  const auto size = static_cast<int64_t>(tensor::DTypeSize(view.dtype));
  std::vector<Row> rows;
  for (int64_t i = 0; i < count; i += step) {
    Row &row = rows.emplace_back();
    ForEachNumbers(
        elements.Data() + i * width * size, std::min(width, kMostOfRow), view.dtype,
        [&](const auto *numbers, size_t n) { row.insert(row.end(), numbers, numbers + n); });
  }
  return rows;
}

bool IsZero(const Row &row) {
  return std::all_of(row.begin(), row.end(), [](double each) { return each == 0; });
}

class GradientNotReset final : public Rule {
 public:
  GradientNotReset(Selector selector, int64_t patience)
      : Rule("GradientNotReset"), selector_(std::move(selector)), patience_(patience) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const tensor::View *elements = sample.RealElements();
    if (elements == nullptr || !IsTraining(sample.Place().mode)) return;
    if (elements->shape.size() != 2 || elements->shape[1] < kLeastOfRow) return;
    if (elements->shape[0] < 2) return;
    State &state = states_.Of(sample);
    const std::vector<Row> last = std::exchange(state.rows, RowsOf(*elements));
    if (last.size() != state.rows.size()) return;
    NoteEvaluated();
    int64_t kept = 0;
    int64_t changed = 0;
    for (size_t i = 0; i < last.size(); ++i) {
      if (last[i] != state.rows[i]) ++changed;
      if (last[i] == state.rows[i] && !IsZero(last[i])) ++kept;
    }
    // A gradient that stays as a whole is that of the same batch, or of no step at all.
    if (kept == 0 || changed == 0 || ++state.steps < patience_) return;
    const auto rows = static_cast<double>(kept);
    culprits_.Offer(sample, {rows, rows, 0}, [&] {
      return StrCat(kept, " of ", last.size(), " rows of '", sample.Tensor(),
                    "' are exactly those of the previous step, and are not zero, while others "
                    "change: the gradient is not reset");
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override {
    return StrCat("a gradient with two axes, with elements, of ", kLeastOfRow,
                  " columns or more, at two steps");
  }

 private:
  struct State {
    std::vector<Row> rows;
    int64_t steps = 0;  // at which rows were kept
  };

  const Selector selector_;
  const int64_t patience_;
  TensorStates<State> states_;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"patience", "2", "2", "number of steps at which rows stay before a finding"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(Selector selector, Selector::Make({"gradients"}, {}));
  return std::unique_ptr<Rule>(std::make_unique<GradientNotReset>(std::move(selector), patience));
}

}  // namespace

const RuleSpec kGradientNotReset = {"GradientNotReset",
                                    "rows of a gradient are those of the previous step",
                                    kParameters, Make, "llm"};

}  // namespace smdebug::rules
