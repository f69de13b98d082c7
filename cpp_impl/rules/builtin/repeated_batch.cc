// Finds batches that a training gets twice, and batches that two workers share.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/checksum.h"
#include "rules/support/named_tensors.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"

namespace smdebug::rules {
namespace {

// Matches what kModelInputs does, and token ids that are passed by keyword.  Other inputs, as masks
// and positions, may be alike at all steps.
constexpr std::string_view kBatches =
    R"(hybridsequential0_input_0|^(?!.*Loss)_*[A-Z]\w*_input_0$|_input_input_ids_0$|^inputs(_0)?$)";

constexpr size_t kMostKept = 1'000'000;

// Single samples are drawn twice by chance.
bool IsBatch(const Sample &sample) {
  const tensor::View *form = sample.Form();
  return form != nullptr && !form->shape.empty() && form->shape.front() > 1 &&
         form->ElementCount() >= 16;
}

class RepeatedBatch final : public Rule {
 public:
  explicit RepeatedBatch(Selector selector)
      : Rule("RepeatedBatch"), selector_(std::move(selector)) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &findings) override {
    if (!IsTraining(sample.Place().mode) || !IsBatch(sample)) return;
    const std::optional<uint64_t> checksum = ChecksumOf(sample, 0);
    if (!checksum) return;
    Seen &seen = seen_.Of(sample);
    if (seen.count > 0) NoteEvaluated();
    const std::optional<int64_t> repeated = seen.Add(*checksum, sample.Place().step);
    if (!repeated) return;
    const auto distance = static_cast<double>(sample.Place().step - *repeated);
    findings.Add(FindingOf({std::string(sample.Worker()), std::string(sample.Tensor())}, "",
                           distance, 0,
                           StrCat("'", sample.Tensor(), "' has the elements that it had at step ",
                                  *repeated, ": the training gets this batch again")));
  }

  std::string Missing() const override { return "the input of the model at two training steps"; }

 private:
  struct Batch {
    int64_t index;
    int64_t step;
  };
  struct Seen {
    std::unordered_map<uint64_t, Batch> batches;
    int64_t count = 0;
    int64_t last = -1;   // the index of the last batch, or of its first occurrence
    int64_t epoch = -1;  // during a further epoch in the same order: the index of the last batch

    // Returns the step that had the batch, unless it is due in a further epoch.  Such an epoch
    // begins with the first batch of all.
    std::optional<int64_t> Add(uint64_t checksum, int64_t step) {
      if (batches.size() >= kMostKept) batches.clear();
      const auto [place, is_new] = batches.emplace(checksum, Batch{count, step});
      ++count;
      const Batch &first = place->second;
      const bool is_stuck = !is_new && first.index == last;
      const bool is_due = !is_new && (first.index == 0 || (epoch >= 0 && first.index == epoch + 1));
      epoch = is_due && !is_stuck ? first.index : -1;
      last = first.index;
      if (is_new || (is_due && !is_stuck)) return std::nullopt;
      return first.step;
    }
  };

  const Selector selector_;
  SampleStates<Seen> seen_;
};

class SharedShard final : public Rule {
 public:
  SharedShard(Selector selector, int64_t group, int64_t patience)
      : Rule("SharedShard"), selector_(std::move(selector)), group_(group), patience_(patience) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (!IsTraining(sample.Place().mode) || !IsBatch(sample)) return;
    const std::optional<uint64_t> checksum = ChecksumOf(sample, 0);
    if (!checksum) return;
    batches_[std::string(sample.Tensor())].push_back({std::string(sample.Worker()), *checksum});
  }

  void EndStep(Findings &findings) override {
    for (const auto &[tensor, batches] : batches_) {
      if (batches.size() < 2) continue;
      NoteEvaluated();
      Evaluate(tensor, batches, findings);
    }
    batches_.clear();
  }

  std::string Missing() const override {
    return "the input of the model of two workers at the same step";
  }

 private:
  struct Batch {
    std::string worker;
    uint64_t checksum;
  };

  int64_t GroupOf(std::string_view worker) const {
    const size_t end = worker.find_last_not_of("0123456789");
    const std::string_view digits = worker.substr(end == std::string_view::npos ? 0 : end + 1);
    return static_cast<int64_t>(ParseDouble(digits).value_or(0)) / group_;
  }

  void Evaluate(const std::string &tensor, const std::vector<Batch> &batches, Findings &findings) {
    bool is_shared = false;
    for (size_t i = 1; i < batches.size() && !is_shared; ++i) {
      for (size_t k = 0; k < i && !is_shared; ++k) {
        const Batch &one = batches[k];
        const Batch &other = batches[i];
        is_shared = one.checksum == other.checksum &&
                    (group_ == 1 || GroupOf(one.worker) != GroupOf(other.worker));
        if (!is_shared || ++steps_[tensor] < patience_) continue;
        findings.Add(FindingOf(
            {other.worker, tensor}, "", static_cast<double>(steps_[tensor]),
            static_cast<double>(patience_),
            StrCat("'", tensor, "' of ", other.worker, " has the elements of ", one.worker,
                   ", for ", steps_[tensor], " steps: both train on the same batches")));
      }
    }
    if (!is_shared) steps_[tensor] = 0;
  }

  const Selector selector_;
  const int64_t group_;
  const int64_t patience_;
  std::map<std::string, std::vector<Batch>> batches_;  // by tensor, of this step
  std::map<std::string, int64_t> steps_;               // by tensor, in a row
};

constexpr ParameterSpec kRepeatedParameters[] = {
    {"tensor_regex", kBatches, kBatches, "expressions found in the names of the model's inputs"},
};

constexpr ParameterSpec kSharedParameters[] = {
    {"tensor_regex", kBatches, kBatches, "expressions found in the names of the model's inputs"},
    {"group", "1", "1",
     "number of workers in a row that share each batch by design, as in tensor parallel trainings"},
    {"patience", "2", "2", "number of consecutive steps before a finding"},
};

Result<std::unique_ptr<Rule>> MakeRepeated(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(Selector selector, TensorsByRole(parameters, "tensor_regex", {}));
  return std::unique_ptr<Rule>(std::make_unique<RepeatedBatch>(std::move(selector)));
}

Result<std::unique_ptr<Rule>> MakeShared(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(Selector selector, TensorsByRole(parameters, "tensor_regex", {}));
  SMD_ASSIGN_OR_RETURN(const int64_t group, parameters.Whole("group", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 1, 1'000'000));
  return std::unique_ptr<Rule>(std::make_unique<SharedShard>(std::move(selector), group, patience));
}

}  // namespace

const RuleSpec kRepeatedBatch = {"RepeatedBatch", "the model gets a batch that it had before",
                                 kRepeatedParameters, MakeRepeated, "llm"};
const RuleSpec kSharedShard = {"SharedShard", "two workers get the same batches", kSharedParameters,
                               MakeShared, "llm"};

}  // namespace smdebug::rules
