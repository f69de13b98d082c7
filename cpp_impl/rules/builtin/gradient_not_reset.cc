// Finds gradients that still hold those of the previous step, from rows that a step does not use.
#include <algorithm>
#include <cmath>
#include <span>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/channels.h"
#include "rules/support/culprits.h"
#include "rules/support/sample_states.h"
#include "rules/support/selector.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr int64_t kMostRows = 64;
constexpr int64_t kMostOfRow = 32;
constexpr int64_t kLeastOfRow = 8;

using Row = std::span<const double>;

// Rows of a gradient, spread evenly, each with its first elements.
struct Rows {
  size_t width = 0;
  std::vector<double> numbers;

  // Replaces them.
  void Take(const tensor::View &view) {
    const int64_t all = view.shape.back();
    const int64_t count = view.ElementCount() / all;
    const int64_t step = (count + kMostRows - 1) / kMostRows;
    const CompactElements elements(view);
    const auto size = static_cast<int64_t>(tensor::DTypeSize(view.dtype));
    const int64_t some = std::min(all, kMostOfRow);
    width = static_cast<size_t>(some);
    numbers.clear();
    for (int64_t i = 0; i < count; i += step) {
      ForEachNumbers(
          elements.Data() + i * all * size, some, view.dtype,
          [&](const auto *row, size_t n) { numbers.insert(numbers.end(), row, row + n); });
    }
  }
  size_t Count() const { return width > 0 ? numbers.size() / width : 0; }
  Row At(size_t index) const { return Row(numbers).subspan(index * width, width); }
};

bool AreEqual(Row a, Row b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

bool IsZero(Row row) {
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
    state.last.width = state.rows.width;
    state.last.numbers.swap(state.rows.numbers);
    state.rows.Take(*elements);
    const size_t count = state.rows.Count();
    if (state.last.Count() != count) return;
    NoteEvaluated();
    int64_t kept = 0;
    int64_t changed = 0;
    for (size_t i = 0; i < count; ++i) {
      const Row last = state.last.At(i);
      const bool is_same = AreEqual(last, state.rows.At(i));
      if (!is_same) ++changed;
      if (is_same && !IsZero(last)) ++kept;
    }
    // A gradient that stays as a whole is that of the same batch, or of no step at all.
    if (kept == 0 || changed == 0 || ++state.steps < patience_) return;
    const auto rows = static_cast<double>(kept);
    culprits_.Offer(sample, {rows, rows, 0}, [&] {
      return StrCat(kept, " of ", count, " rows of '", sample.Tensor(),
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
    Rows rows;
    Rows last;
    int64_t steps = 0;  // at which rows were kept
  };

  const Selector selector_;
  const int64_t patience_;
  SampleStates<State> states_;
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
