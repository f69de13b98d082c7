// Finds weights that training does not update.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/batches_per_update.h"
#include "rules/support/fingerprint.h"
#include "rules/support/last_rate.h"
#include "rules/support/left_out.h"
#include "rules/support/precision.h"
#include "rules/support/products.h"
#include "rules/support/recorded_sums.h"
#include "rules/support/repeated_batches.h"
#include "rules/support/roles.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"
#include "rules/support/updated_weight.h"
#include "rules/support/vain_optimizers.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

enum Role : size_t {
  kResetGradients,  // which the hook has seen the script reset
  kGradients,
  kFrozen,
  kThawed,  // weights that were frozen for a part of the training
  kUnused,  // weights of layers that the model does not use
  kWeights,
  kBatches,
  kHeld,
  kMissing,
  kIdle,
  kRates,
  kSummed
};

// The number of gradient elements that are kept to compare with the next gradient.
constexpr int64_t kKeptElements = 256;

// What a parameter held as its gradient since before an update, when a backward pass began.
constexpr std::string_view kHeldGradients = "^held_gradient/";
constexpr int64_t kMostHeld = 3;  // updates

// Saved for a parameter without a gradient, where its optimizer updates others.
constexpr std::string_view kMissingGradients = "^missing_gradient/";

// Saved for an optimizer that is to update parameters of which none has a gradient.
constexpr std::string_view kIdleUpdates = "^idle_update/";

// What a rate below the last digit of a weight of 1 leaves unchanged, WeightUpdateRatio judges.
constexpr double kTinyRate = 0x1p-25;

constexpr size_t kMostParameters = 100'000;

// A weight of few elements may stay for so much longer while its updates are rounded at random.
constexpr int64_t kLongerIfRounded = 4;
// So many elements of a model must not change at all, and those that do must show that they could:
// see LostUpdates.
constexpr double kShareOfLost = 0.5;
constexpr double kMostRatio = 0.1;
constexpr double kMostChance = 1e-4;
constexpr int64_t kHalfOfLost = 16;  // steps

// A script resets all gradients or none: about so many weights of a larger model show it.
constexpr size_t kMostSums = 32;

struct Limits {
  int64_t patience;
  int64_t patience_all;
  int64_t patience_gradient;
  int64_t patience_growth;
  int64_t patience_sums;
  int64_t patience_recorded;
  bool rounded;
  double correlation;
  double relevance;
};

class UpdateNotApplied final : public Rule {
 public:
  UpdateNotApplied(Roles roles, const Limits &limits)
      : Rule("UpdateNotApplied"), roles_(std::move(roles)), limits_(limits) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    return roles_.Of(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const std::string_view name = sample.Tensor();
    const size_t role = sample.Role();
    if (role == kBatches) {
      if (IsTraining(sample.Place().mode)) batches_[std::string(sample.Worker())].Add(sample);
      return;
    }
    if (role == kSummed) return summed_[std::string(sample.Worker())].Add(sample);
    if (role == kRates) {
      rates_[std::string(sample.Worker())].Add(sample.Place().step, sample.Scalar().value_or(0));
      optimizers_[std::string(sample.Worker())].NoteRate(name);
    } else if (role == kIdle) {
      idle_[std::string(sample.Worker())].is_now = is_touched_ = true;
      optimizers_[std::string(sample.Worker())].NoteIdle(name);
    } else if (role == kMissing) {
      UpdatedWeight &parameter = ParameterOf(sample, name.substr(name.find('/') + 1));
      parameter.is_missing = parameter.is_missing_now = true;
    } else if (role == kHeld) {
      auto &parameter = ParameterOf(sample, WeightOfGradient(name.substr(name.find('_') + 1)));
      parameter.is_held_now = sample.Reduce({tensor::ReductionKind::kL2, false}).value_or(0) > 0;
      resets_[std::string(sample.Worker())] = !parameter.is_held_now;
    } else if (role == kGradients || role == kResetGradients) {
      are_reset_ |= role == kResetGradients;
      UpdatedWeight &parameter = ParameterOf(sample, WeightOfGradient(name));
      if (!parameter.gradient) parameter.gradient = std::make_unique<FollowedGradient>();
      FollowedGradient &gradient = *parameter.gradient;
      if (gradient.name != name) gradient.name = name;
      gradient.norm_now = sample.Reduce({tensor::ReductionKind::kL2, false});
      gradient.elements_now = sample.SomeNumbers(kKeptElements);
    } else {
      UpdatedWeight &parameter = ParameterOf(sample, name);
      if (parameter.name != name) parameter.name = name;
      parameter.is_frozen = role == kFrozen;
      parameter.was_frozen |= role == kThawed;
      parameter.is_unused = role == kUnused;
      parameter.now = FingerprintOf(sample);
      if (!parameter.first) parameter.first = parameter.now;
      parameter.has_changed |= parameter.now != parameter.first;
      parameter.elements_now = sample.SomeNumbers(kKeptElements);
      if (parameter.records++ == 0) {
        int &digits = digits_[std::string(sample.Worker())];
        digits = std::max(digits, DigitsOf(parameter.elements_now));
      }
      parameter.is_updated = parameter.HasGradientNow();
    }
  }

  void EndStep(Findings &findings) override {
    for (auto &[worker, batches] : batches_) batches.EndStep();
    if (!std::exchange(is_touched_, false)) return;  // most steps, of weights that are seldom saved
    for (auto &[worker, parameters] : workers_) {
      const bool has_gradients =
          std::any_of(parameters.begin(), parameters.end(),
                      [](const auto &each) { return each.second.HasGradientNow(); });
      if (has_gradients) {
        EvaluateUpdates(worker, parameters, findings);
        if (limits_.rounded) EvaluateLost(worker, parameters, findings);
        // What a hook sees decides; else, gradients tell.
        if (!EvaluateHeld(worker, parameters, findings) && !are_reset_ && !resets_[worker]) {
          EvaluateAllSums(worker, parameters, findings);
          EvaluateGrowth(worker, parameters, findings);
        }
      }
      // An optimizer that saw no gradient may have weights which never get one, as of a generator.
      if (has_gradients || idle_[worker].is_now) EvaluateMissing(worker, parameters, findings);
      EvaluateIdle(worker, parameters, has_gradients, findings);
      for (auto &[key, parameter] : parameters) {
        if (parameter.gradient) EndStepOf(has_gradients, parameter.gradient.get());
        parameter.now.reset();
        parameter.has_changed_now = parameter.is_held_now = parameter.is_missing_now = false;
      }
    }
  }

  std::string Missing() const override {
    return "weights and their gradients at two steps of training";
  }

 private:
  using Parameters = std::map<std::string, UpdatedWeight>;

  static bool HaveChanged(const Parameters &parameters) {
    return std::any_of(parameters.begin(), parameters.end(),
                       [](const auto &each) { return each.second.has_changed; });
  }

  // Finds optimizers that never see a gradient, as if gradients were reset just before each update.
  void EvaluateIdle(const std::string &worker, const Parameters &parameters, bool has_gradients,
                    Findings &findings) {
    Idle &idle = idle_[worker];
    const bool is_now = std::exchange(idle.is_now, false);
    if (has_gradients || HaveChanged(parameters)) {
      idle.updates = 0;
    } else if (is_now) {
      ++idle.updates;
    }
    if (!is_now || parameters.empty() || idle.updates < limits_.patience_all) return;
    NoteEvaluated();
    Add(worker, parameters.begin()->second.name, "nothing_updated",
        static_cast<double>(idle.updates), static_cast<double>(limits_.patience_all),
        StrCat("no weight had a gradient at ", idle.updates,
               " updates of an optimizer, and none has changed: gradients are reset before the "
               "update, or reach no weight"),
        findings);
  }

  static void EndStepOf(bool has_gradients, FollowedGradient *gradient) {
    if (has_gradients) gradient->is_reached = gradient->norm_now.has_value();
    if (!gradient->norm_now) return;
    gradient->norm = *gradient->norm_now;
    gradient->elements = std::move(gradient->elements_now);
    gradient->norm_now.reset();
  }

  // Returns the parameter that the sample is of.
  UpdatedWeight &ParameterOf(const Sample &sample, std::string_view weight) {
    is_touched_ = true;
    UpdatedWeight *&known = known_.Of(sample);
    if (known != nullptr) return *known;
    Parameters &parameters = workers_[std::string(sample.Worker())];
    const std::string key(AsInGradient(weight));
    if (parameters.size() >= kMostParameters) {
      parameters.clear();
      known_.Clear();
      return parameters[key];
    }
    known = &parameters[key];
    return *known;
  }

  bool Matters(const UpdatedWeight &parameter) const {
    const double norm = *parameter.gradient->norm_now;
    return norm > 0 && norm >= limits_.relevance * parameter.now->l2;
  }

  void EvaluateUpdates(const std::string &worker, Parameters &parameters, Findings &findings) {
    int64_t changed = 0;
    const UpdatedWeight *culprit = nullptr;
    for (auto &[key, parameter] : parameters) {
      if (!parameter.now || !parameter.HasGradientNow()) continue;
      FollowedGradient &gradient = *parameter.gradient;
      const bool matters = Matters(parameter);
      if (gradient.weight) {
        NoteEvaluated();
        if (*gradient.weight != *parameter.now) {
          gradient.unchanged = 0;
          parameter.has_changed_now = true;
          ++changed;
        } else if (Cancel(gradient.elements, gradient.elements_now)) {
          gradient.unchanged = 0;  // as that of a critic's last bias for real and false samples
        } else if (matters && gradient.mattered && !parameter.is_frozen &&
                   !IsLeftToOthers(parameter, digits_[worker])) {
          // One update lies between two records of a weight, whether it is recorded before or after
          // the update.
          ++gradient.unchanged;
        }
      }
      gradient.weight = parameter.now;
      gradient.mattered = matters;
      gradient.may_round = MayRoundAway(parameter.elements_now.size(), digits_[worker]);
      if (culprit == nullptr || Unchanged(parameter) > Unchanged(*culprit)) culprit = &parameter;
    }
    const double rate = rates_[worker].most;
    const int64_t longer = summed_[worker].RecordsAt(findings.Place().mode_step);
    const int64_t limit = longer * (changed > 0 ? limits_.patience : limits_.patience_all);
    if (culprit == nullptr || Unchanged(*culprit) < limit) return;
    const int digits = digits_[worker];
    if (rate > 0 && !AreFewDigits(digits) && !HaveChanged(parameters)) {
      NoteRate(worker, *culprit, rate, findings);
    }
    if (IsOfRate(rates_[worker], parameters)) return;
    const bool are_few = limits_.rounded && AreFewDigits(digits);
    const std::string_view check = are_few       ? "few_digits"
                                   : changed > 0 ? "not_updated"
                                                 : "nothing_updated";
    Add(worker, culprit->name, check, static_cast<double>(culprit->gradient->unchanged),
        static_cast<double>(limit),
        StrCat("'", culprit->name, "' has not changed for ", culprit->gradient->unchanged,
               " steps, though its gradient has a norm of ", Shortest(*culprit->gradient->norm_now),
               changed > 0 ? "; other weights have" : "; no other weight has either",
               are_few ? StrCat(", and weights have ", digits,
                                " binary digits: updates may be rounded away")
                       : std::string()),
        findings);
  }

  // WeightUpdateRatio judges a tiny rate, and a schedule that ends at 0.
  static bool IsOfRate(const LastRate &rate, const Parameters &parameters) {
    return rate.IsZero() ? HaveChanged(parameters) : rate.most > 0 && rate.most < kTinyRate;
  }

  // A clue, once: an optimizer updates weights at a rate that changes none of them.
  void NoteRate(const std::string &worker, const UpdatedWeight &culprit, double rate,
                Findings &findings) {
    if (!without_effect_.insert(worker).second) return;
    findings.AddClue(
        FindingOf({worker, culprit.name}, "rate_without_effect", rate, 0,
                  StrCat("an optimizer updates weights at a learning rate of ", Shortest(rate),
                         ", and for ", culprit.gradient->unchanged, " steps none has changed")));
  }

  // Of few digits, a normalisation's weights, which begin at 1, take no usual update.  Without
  // `rounded`, that is for another rule to judge.
  bool IsLeftToOthers(const UpdatedWeight &parameter, int digits) const {
    return parameter.now->least >= 0.5 && AreFewDigits(digits) && !limits_.rounded;
  }

  static int64_t Unchanged(const UpdatedWeight &parameter) {
    const FollowedGradient &gradient = *parameter.gradient;
    return gradient.may_round ? gradient.unchanged / kLongerIfRounded : gradient.unchanged;
  }

  // Finds weights most of whose elements never change though they have gradients.
  void EvaluateLost(const std::string &worker, Parameters &parameters, Findings &findings) {
    LostUpdates::Counts all;
    const UpdatedWeight *culprit = nullptr;
    double most = 0;
    size_t place = 0;
    for (auto &[key, parameter] : parameters) {
      if (place++ % StrideOf(parameters) != 0) continue;
      if (!parameter.now || !parameter.HasGradientNow()) continue;
      if (parameter.is_frozen || !MovesMostElements(parameter)) {
        if (parameter.gradient->updates != nullptr) parameter.gradient->updates->lost.Clear();
        continue;
      }
      const auto counts =
          parameter.gradient->FollowUpdates().lost.Add(parameter.elements_now, kHalfOfLost);
      if (!counts) continue;
      all.Add(*counts);
      if (culprit != nullptr && counts->ShareOfNeither() <= most) continue;
      most = counts->ShareOfNeither();
      culprit = &parameter;
    }
    if (culprit == nullptr || all.ShareOfNeither() < kShareOfLost) return;
    if (all.Ratio() > kMostRatio || all.Chance() > kMostChance) return;
    Add(worker, culprit->name, AreFewDigits(digits_[worker]) ? "rounded_away" : "too_small",
        100 * most, 100 * kShareOfLost,
        StrCat(Shortest(100 * most), " % of the elements of '", culprit->name,
               "' have not changed for ", 2 * kHalfOfLost,
               " steps, though they have gradients and others change: their updates are too small "
               "for the digits of the weight"),
        findings);
  }

  // Elements without a gradient, as of an embedding, stay as they are.
  bool MovesMostElements(const UpdatedWeight &parameter) const {
    const std::vector<double> &gradient = parameter.gradient->elements_now;
    const auto zeros = std::count(gradient.begin(), gradient.end(), 0.0);
    return Matters(parameter) && 4 * static_cast<size_t>(zeros) < gradient.size();
  }

  // Of the names of a large model, every n-th stands for the others.  Weights and biases alternate,
  // so n is odd.
  static size_t StrideOf(const Parameters &parameters) {
    return (parameters.size() - 1) / kMostSums | 1U;
  }

  // Finds gradients that outlast an update.  Returns true if it did.
  bool EvaluateHeld(const std::string &worker, Parameters &parameters, Findings &findings) const {
    for (auto &[key, parameter] : parameters) {
      if (!parameter.has_changed_now) continue;
      parameter.gradient->held = parameter.is_held_now ? parameter.gradient->held + 1 : 0;
      if (parameter.gradient->held < kMostHeld) continue;
      Add(worker, parameter.gradient->name, "accumulating",
          static_cast<double>(parameter.gradient->held), static_cast<double>(kMostHeld),
          StrCat("after ", parameter.gradient->held, " updates in a row, '",
                 parameter.gradient->name,
                 "' was added to what earlier updates had left: gradients are not reset to zero"),
          findings);
      return true;
    }
    return false;
  }

  // Returns whether none of the weights with a gradient had one at the last step, as in an
  // adversarial training: each network trains against another one than at its last step.
  static bool TakeTurns(const Parameters &parameters) {
    return std::none_of(parameters.begin(), parameters.end(), [](const auto &each) {
      return each.second.HasGradientNow() && each.second.gradient->is_reached;
    });
  }

  void EvaluateAllSums(const std::string &worker, Parameters &parameters, Findings &findings) {
    int64_t &last_step = last_steps_[worker];
    const bool is_gap = findings.Place().mode_step - 1 != last_step;
    last_step = findings.Place().mode_step;
    const bool starts_anew = batches_[worker].Repeats() || TakeTurns(parameters);
    for (auto &[key, parameter] : parameters) {
      FollowedGradient *const gradient = parameter.gradient.get();
      if (gradient == nullptr) continue;
      if ((is_gap || starts_anew) && gradient->updates != nullptr) gradient->updates->ClearSums();
      if (!starts_anew) continue;
      gradient->recorded.Clear();
      gradient->growing = 0;
    }
    const AddingUp sums = SumsOfUpdates(parameters);
    const AddingUp recorded = RecordedSumsOf(worker, parameters);
    if (sums.AreFound()) {
      AddSums(worker, sums,
              StrCat("for ", sums.steps, " steps '", sums.culprit->name,
                     "' has been updated by the sum of all its gradients '",
                     sums.culprit->gradient->name, "', and ", sums.count - 1,
                     " other weights by theirs: gradients are never reset to zero"),
              findings);
    } else if (recorded.AreFound()) {
      AddSums(worker, recorded,
              StrCat("the gradient '", recorded.culprit->gradient->name,
                     "' has been the previous one plus another for ", recorded.steps, " steps",
                     AndOthers(recorded.count - 1), ": gradients are not reset to zero"),
              findings);
    }
  }

  AddingUp SumsOfUpdates(Parameters &parameters) const {
    AddingUp by_size;
    AddingUp by_sign;
    const size_t stride = StrideOf(parameters);
    size_t place = 0;
    for (auto &[key, parameter] : parameters) {
      const bool is_chosen = place++ % stride == 0;
      if (!is_chosen && parameter.gradient) parameter.gradient->updates.reset();
      if (!is_chosen || !parameter.now || !parameter.HasGradientNow()) continue;
      std::vector<double> weight = std::exchange(parameter.elements_now, {});
      auto &[lost, sums, signs] = parameter.gradient->FollowUpdates();
      signs.Add(weight, parameter.gradient->elements_now, parameter.is_updated);
      sums.Add(std::move(weight), parameter.gradient->elements_now, parameter.is_updated);
      by_size.Add(parameter, sums.StepsOfSums(), sums.IsJudged(), limits_.patience_sums);
      by_sign.Add(parameter, signs.StepsOfSums(), signs.IsJudged(), limits_.patience_sums);
    }
    return by_size.AreFound() ? by_size : by_sign;
  }

  AddingUp RecordedSumsOf(const std::string &worker, Parameters &parameters) {
    AddingUp sums;
    AddingUp on_average;
    SumsOnAverage &averages = averages_[worker];
    for (auto &[key, parameter] : parameters) {
      if (!parameter.HasGradientNow()) continue;
      RecordedSums &recorded = parameter.gradient->recorded;
      recorded.Add(parameter.gradient->elements_now);
      averages.Add(recorded);
      sums.Add(parameter, recorded.Steps(), recorded.IsJudged(), limits_.patience_recorded);
      on_average.Add(parameter, recorded.IsJudged() ? 1 : 0, recorded.IsJudged(), 1);
    }
    const int64_t steps = averages.EndStep();
    if (sums.AreFound() || steps < limits_.patience_sums) return sums;
    on_average.steps = steps;
    return on_average;
  }

  void AddSums(const std::string &worker, const AddingUp &sums, std::string message,
               Findings &findings) const {
    Add(worker, sums.culprit->gradient->name, "accumulating", static_cast<double>(sums.steps),
        static_cast<double>(limits_.patience_sums), std::move(message), findings);
  }

  void EvaluateGrowth(const std::string &worker, Parameters &parameters, Findings &findings) {
    int64_t gradients = 0;
    int64_t growing = 0;
    const FollowedGradient *culprit = nullptr;
    for (auto &[key, parameter] : parameters) {
      if (!parameter.HasGradientNow()) continue;
      FollowedGradient &gradient = *parameter.gradient;
      const double norm = *gradient.norm_now;
      const bool grows = norm > gradient.norm && gradient.norm > 0 &&
                         CosineOf(gradient.elements_now, gradient.elements) >= limits_.correlation;
      gradient.growing = grows ? gradient.growing + 1 : 0;
      if (!(norm > 0)) continue;
      ++gradients;
      if (gradient.growing >= limits_.patience_growth) ++growing;
      if (culprit == nullptr || gradient.growing > culprit->growing) culprit = &gradient;
    }
    if (growing == 0 || 2 * growing < gradients) return;
    Add(worker, culprit->name, "growing", static_cast<double>(culprit->growing),
        static_cast<double>(limits_.patience_growth),
        StrCat("the gradient '", culprit->name, "' has grown for ", culprit->growing,
               " steps in one direction, to a norm of ", Shortest(*culprit->norm_now),
               AndOthers(growing - 1), ": gradients may never be reset to zero"),
        findings);
  }

  void EvaluateMissing(const std::string &worker, Parameters &parameters, Findings &findings) {
    bool is_any_left_out = false;
    for (auto &[key, parameter] : parameters) {
      parameter.ever_had_gradient |= parameter.HasGradientNow();
      is_any_left_out |= IsLeftOut(parameter);
    }
    if (!is_any_left_out) return;
    const int64_t patience = limits_.patience_gradient;
    auto [due, unused, without, with, has_telling] = FindLeftOut(parameters, patience);
    if ((due.empty() && unused.empty()) || !has_telling) return;
    NoteEvaluated();
    // Who freezes most of a model, as for adapters, means it, unless an optimizer has it.
    const bool is_vain = optimizers_[worker].HasVainOne();
    const bool is_to_update = is_vain || (!due.empty() && due[0]->is_missing);
    if (!due.empty() && (without <= with || is_to_update)) {
      // What comes after a layer that was cut off is no other fault.
      due.insert(due.end(), unused.begin(), unused.end());
      findings.Add(FindingOfLeftOut(worker, due, patience, is_to_update));
    } else if (!unused.empty() && (without <= with || is_vain || unused[0]->is_missing)) {
      findings.Add(LookAtUnused(worker, unused, patience));
    }
  }

  static void Add(const std::string &worker, const std::string &tensor, std::string_view check,
                  double value, double limit, std::string message, Findings &findings) {
    findings.Add(FindingOf({worker, tensor}, check, value, limit, std::move(message)));
  }

  // Updates at which no weight had a gradient.
  struct Idle {
    bool is_now = false;
    int64_t updates = 0;  // since a weight had one, or changed
  };

  const Roles roles_;
  const Limits limits_;
  std::map<std::string, Parameters> workers_;
  SampleStates<UpdatedWeight *> known_;               // of workers_, by tensor
  std::map<std::string, int> digits_;                 // by worker, of all its weights
  std::map<std::string, int64_t> last_steps_;         // by worker, in the worker's mode
  std::map<std::string, RepeatedBatches> batches_;    // by worker
  std::map<std::string, SumsOnAverage> averages_;     // by worker
  std::map<std::string, Idle> idle_;                  // by worker
  std::map<std::string, BatchesPerUpdate> summed_;    // by worker
  std::map<std::string, VainOptimizers> optimizers_;  // by worker
  std::map<std::string, LastRate> rates_;             // by worker
  std::set<std::string> without_effect_;              // workers whose rate changes no weight
  std::map<std::string, bool> resets_;                // by worker: it was seen to reset gradients
  bool are_reset_ = false;                            // as a collection says
  bool is_touched_ = false;                           // a parameter, or idleness, at this step
};

constexpr ParameterSpec kParameters[] = {
    {"patience", "3", "10",
     "number of steps without a change of a weight, while others change, before a finding"},
    {"patience_all", "3", "10", "number of steps without a change of any weight before a finding"},
    {"patience_gradient", "1", "3",
     "number of steps at which a weight has no gradient, while others have one, before a finding"},
    {"patience_sums", "3", "5",
     "number of steps whose updates follow from sums of all gradients before a finding"},
    {"patience_recorded", "3", "8",
     "number of steps at which gradients are the previous ones plus others before a finding"},
    {"rounded", "False", "True",
     "true finds weights most of whose elements do not change, as their updates are rounded away"},
    {"patience_growth", "3", "30",
     "number of steps at which half of the gradients grow in one direction before a finding"},
    {"correlation", "0.5", "0.95",
     "cosine above which gradients of two steps have the same direction"},
    {"relevance", "0", "1e-3",
     "gradients are ignored if their norm, relative to the weight's norm, is smaller"},
    {"frozen_regex", "None", "None",
     "expression found in the names of weights that are not trained; weights of the collection "
     "'frozen' are not trained either"},
    kSample,
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.patience, parameters.Whole("patience", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.patience_all, parameters.Whole("patience_all", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.patience_gradient,
                       parameters.Whole("patience_gradient", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.patience_growth, parameters.Whole("patience_growth", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.patience_sums, parameters.Whole("patience_sums", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.rounded, parameters.Switch("rounded"));
  SMD_ASSIGN_OR_RETURN(limits.patience_recorded,
                       parameters.Whole("patience_recorded", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.correlation, parameters.Number("correlation", -1, 1));
  SMD_ASSIGN_OR_RETURN(limits.relevance, parameters.Number("relevance", 0, 1e300));
  SMD_ASSIGN_OR_RETURN(Selector weights, Selector::Make({"weights", "biases"}, {}));
  SMD_ASSIGN_OR_RETURN(Selector reset, Selector::Make({"reset_gradients"}, {}));
  SMD_ASSIGN_OR_RETURN(Selector gradients, Selector::Make({"gradients"}, {}));
  SMD_ASSIGN_OR_RETURN(Selector frozen,
                       Selector::Make({"frozen"}, parameters.List("frozen_regex")));
  SMD_ASSIGN_OR_RETURN(Selector thawed, Selector::Make({"once_frozen"}, {}));
  SMD_ASSIGN_OR_RETURN(Selector unused, Selector::Make({"not_used"}, {}));
  SMD_ASSIGN_OR_RETURN(Selector batches,
                       Selector::Make({}, {std::string(kModelInputs), std::string(kLossTargets)}));
  SMD_ASSIGN_OR_RETURN(Selector held, Selector::Make({}, {std::string(kHeldGradients)}));
  SMD_ASSIGN_OR_RETURN(Selector missing, Selector::Make({}, {std::string(kMissingGradients)}));
  SMD_ASSIGN_OR_RETURN(Selector idle, Selector::Make({}, {std::string(kIdleUpdates)}));
  SMD_ASSIGN_OR_RETURN(Selector rates, Selector::Make({}, {"^learning_rate/"}));
  SMD_ASSIGN_OR_RETURN(Selector summed, Selector::Make({}, {std::string(kBatchesPerUpdate)}));
  return std::unique_ptr<Rule>(std::make_unique<UpdateNotApplied>(
      Roles({std::move(reset), std::move(gradients), std::move(frozen), std::move(thawed),
             std::move(unused), std::move(weights), std::move(batches), std::move(held),
             std::move(missing), std::move(idle), std::move(rates), std::move(summed)}),
      limits));
}

}  // namespace

const RuleSpec kUpdateNotApplied = {"UpdateNotApplied",
                                    "a weight with a gradient does not change, a weight has no "
                                    "gradient, or gradients are never reset",
                                    kParameters, Make};

}  // namespace smdebug::rules
