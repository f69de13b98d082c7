// Finds tensors that do not change.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/named_tensors.h"
#include "rules/support/sample_states.h"
#include "rules/support/snapshot.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// A number this close to 0 says that nothing is left to learn, if it is a loss.
constexpr double kNothingLeft = 1e-6;
// As of a truth table, at most.
constexpr int64_t kFew = 4;
// A loss below this part of its first value has been learned.
constexpr double kFallen = 0.9;

struct Options {
  int64_t num_steps;
  Closeness closeness;
  bool is_for_training;  // skips steps at which the model does not learn
  int64_t sample;
  int64_t full_batch;  // samples of a batch that is perhaps all data; 0: no batch is
};

class UnchangedTensor final : public Rule {
 public:
  UnchangedTensor(Selector selector, const Options &options)
      : Rule("UnchangedTensor"), selector_(std::move(selector)), options_(options) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const tensor::View *elements = sample.RealElements();
    if (elements == nullptr || elements->ElementCount() == 0) return;
    if (options_.is_for_training && !IsTraining(sample.Place().mode)) return;
    History &history = histories_.Of(sample);
    if (options_.is_for_training && IsLearned(sample, &history)) return;
    const double number =
        elements->ElementCount() == 1 ? sample.Scalar().value_or(kNoNumber) : kNoNumber;
    if (history.values == 0) history.first = number;
    history.Add(Snapshot(*elements, options_.sample), options_);
    if (++history.values >= options_.num_steps) NoteEvaluated();
    if (history.unchanged < options_.num_steps) return;
    const auto limit = static_cast<double>(options_.num_steps);
    const auto unchanged = static_cast<double>(history.unchanged);
    const bool is_all = IsPerhapsAllData(sample, history);
    if (!is_all && IsOneSample(sample)) return;
    const bool has_fallen = options_.full_batch > 0 && number < kFallen * history.first;
    const std::string_view check = is_all ? CheckOf(*elements) : has_fallen ? "settled" : "";
    const Offence offence = {unchanged, unchanged, limit, check,
                             check.empty() ? Level::kFinding : Level::kWorthALook};
    culprits_.Offer(sample, offence, [&] {
      return StrCat("'", sample.Tensor(), "' is the same in its last ", history.unchanged,
                    " values; the limit is ", options_.num_steps,
                    is_all       ? "; perhaps each step takes all data"
                    : has_fallen ? StrCat("; it was ", Shortest(history.first),
                                          " at first, and perhaps has settled")
                                 : std::string());
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override {
    return StrCat(options_.num_steps, " values of a tensor with their elements");
  }

 private:
  // Counts consecutive values that are equal bit by bit.
  struct Same {
    Snapshot value;
    int64_t count;
  };
  // Holds the last values that are close to each other.
  struct History {
    std::vector<Same> same;  // few, and of very many tensors
    int64_t values = 0;
    int64_t unchanged = 0;
    double first = kNoNumber;  // the first value, if the tensor has one element
    bool was_there = false;    // a number that is not 0

    void Add(Snapshot now, const Options &options) {
      if (!same.empty() && !now.IsLike(same.back().value)) same.clear();
      const bool is_same = !same.empty() && now.IsSameAs(same.back().value);
      const auto first_close = std::find_if(same.rbegin(), same.rend(), [&](const Same &each) {
                                 return !options.closeness.Holds(each.value, now);
                               }).base();
      same.erase(same.begin(), first_close);
      if (is_same && !same.empty()) {
        ++same.back().count;
      } else {
        same.push_back({std::move(now), 1});
      }
      unchanged = 0;
      for (const Same &each : same) unchanged += each.count;
      // Drops values that later values need not be compared with.
      while (unchanged - same.front().count >= options.num_steps) {
        unchanged -= same.front().count;
        same.erase(same.begin());
      }
    }
  };

  // Few samples, of a number that loaders seldom get, are less often all data.
  std::string_view CheckOf(const tensor::View &elements) const {
    const int64_t samples = elements.shape.front();
    return samples > kFew && samples <= options_.full_batch ? "one_batch" : "full_batch";
  }

  // What an agent that acts sees is the same while it does not move.
  bool IsOneSample(const Sample &sample) const {
    const tensor::View &elements = *sample.RealElements();
    if (options_.full_batch == 0 || elements.ElementCount() == 1) return false;
    if (sample.Tensor().find("_input_") == std::string_view::npos) return false;
    // Whole numbers in a row are ids of several samples.
    return elements.shape.size() == 1 ? tensor::IsFloat(elements.dtype)
                                      : elements.shape.front() == 1;
  }

  // A batch that was the same from the first step on and has not the size of one of many: loaders
  // mostly get a power of two.
  bool IsPerhapsAllData(const Sample &sample, const History &history) const {
    const tensor::View &elements = *sample.RealElements();
    if (options_.full_batch == 0 || elements.shape.size() < 2) return false;
    const int64_t samples = elements.shape.front();
    const bool is_usual = std::has_single_bit(static_cast<uint64_t>(samples)) && samples > kFew &&
                          samples <= options_.full_batch;
    return history.unchanged == history.values && (!is_usual || AreSorted(sample));
  }

  // Reports whether the samples are in the order of their first numbers, as points of a grid are.
  static bool AreSorted(const Sample &sample) {
    constexpr int64_t kMost = 4096;
    const tensor::View &elements = *sample.RealElements();
    const int64_t samples = elements.shape.front();
    if (elements.shape.size() != 2 || elements.ElementCount() > kMost) return false;
    const std::vector<double> numbers = sample.SomeNumbers(kMost);
    const auto row = static_cast<size_t>(elements.shape.back());
    double last = numbers.front();
    for (size_t i = row; i < numbers.size(); i += row) {
      if (!(numbers[i] >= last)) return false;
      last = numbers[i];
    }
    return samples > 1 && last > numbers.front();
  }

  // Reports whether the value is that of a loss that has nothing left to learn, and forgets those
  // before.  A loss that was always 0 is broken.
  static bool IsLearned(const Sample &sample, History *history) {
    if (sample.RealElements()->ElementCount() != 1) return false;
    const double number = sample.Scalar().value_or(kNoNumber);
    history->was_there |= number != 0;
    if (!history->was_there || !(std::fabs(number) < kNothingLeft)) return false;
    history->same.clear();
    history->unchanged = 0;
    return true;
  }

  const Selector selector_;
  const Options options_;
  SampleStates<History> histories_;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"collection_names", "", "losses", kCollectionNamesMeaning},
    {"tensor_regex", "", kModelInputs, kTensorRegexMeaning},
    {"num_steps", "3", "5", "number of equal values, including the current one, before a finding"},
    {"rtol", "1e-5", "1e-5", "relative difference up to which values count as equal"},
    {"atol", "1e-8", "1e-8", "absolute difference up to which values count as equal"},
    {"equal_nan", "False", "False", "true treats NaN as equal to NaN"},
    {"training_only", "False", "True", "true skips steps of EVAL and PREDICT"},
    {"sample", "0", "4096",
     "maximum number of elements of a tensor to compare, spread evenly; 0 for all"},
    {"full_batch", "0", "128",
     "a batch that is the same from the first step on is worth a look, as perhaps all data, if it "
     "has more samples, or at most 4, or no power of two; 0: never"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  constexpr double kMost = 1e300;
  SMD_ASSIGN_OR_RETURN(const int64_t num_steps, parameters.Whole("num_steps", 2, 1'000'000));
  SMD_ASSIGN_OR_RETURN(const double rtol, parameters.Number("rtol", 0, kMost));
  SMD_ASSIGN_OR_RETURN(const double atol, parameters.Number("atol", 0, kMost));
  SMD_ASSIGN_OR_RETURN(const bool equal_nan, parameters.Switch("equal_nan"));
  SMD_ASSIGN_OR_RETURN(const bool is_for_training, parameters.Switch("training_only"));
  SMD_ASSIGN_OR_RETURN(const int64_t sample, parameters.Whole("sample", 0, int64_t{1} << 40));
  SMD_ASSIGN_OR_RETURN(const int64_t full_batch,
                       parameters.Whole("full_batch", 0, int64_t{1} << 40));
  SMD_ASSIGN_OR_RETURN(Selector selector, RequiredTensors(parameters));
  return std::unique_ptr<Rule>(std::make_unique<UnchangedTensor>(
      std::move(selector),
      Options{num_steps, Closeness(rtol, atol, equal_nan), is_for_training, sample, full_batch}));
}

}  // namespace

const RuleSpec kUnchangedTensor = {
    "UnchangedTensor", "a tensor's last values are equal within a tolerance", kParameters, Make};

}  // namespace smdebug::rules
