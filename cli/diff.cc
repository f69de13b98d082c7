#include "diff.h"

#include <algorithm>
#include <iterator>

#include "difference.h"
#include "json_writer.h"
#include "natural_order.h"
#include "numbers.h"
#include "progress.h"
#include "run_verdict.h"
#include "saved.h"
#include "table.h"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli {
namespace {

// A place where a tensor differs.
struct Place {
  int64_t step = -1;
  std::string worker;
  std::string what;  // "value", or a reduction's name
  std::vector<int64_t> shape;
  Difference difference;
};

struct Compared {
  std::string tensor;
  size_t steps = 0;      // the number of steps that both trials have
  size_t different = 0;  // the number of these steps that differ
  double largest = 0;    // the largest of all differences between numbers
  // Whether numbers differ.  Shapes, types and texts differ by no number.
  bool has_distance = false;
  std::optional<Place> first;
  size_t only_in_a = 0;  // the number of steps that only one trial has
  size_t only_in_b = 0;

  bool IsSame() const { return !first && only_in_a == 0 && only_in_b == 0; }
};

template <class T>
std::vector<T> Without(const std::vector<T> &all, const std::vector<T> &others) {
  std::vector<T> left;
  std::set_difference(all.begin(), all.end(), others.begin(), others.end(),
                      std::back_inserter(left));
  return left;
}

template <class T>
std::vector<T> Shared(const std::vector<T> &a, const std::vector<T> &b) {
  std::vector<T> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

// Compares a tensor of both trials at every step.
class TensorComparison {
 public:
  TensorComparison(const TrialArguments &arguments, const Trial &a, const Trial &b,
                   const std::string &name, Mode mode, const Tolerance &tolerance)
      : arguments_(arguments),
        trial_a_(a),
        trial_b_(b),
        a_(a.Tensor(name)),
        b_(b.Tensor(name)),
        mode_(mode),
        tolerance_(tolerance) {
    compared_.tensor = name;
  }

  Compared Run() {
    const std::vector<int64_t> in_a = a_.Steps(mode_, true);
    const std::vector<int64_t> in_b = b_.Steps(mode_, true);
    const std::vector<int64_t> steps = Shared(in_a, in_b);
    compared_.steps = steps.size();
    compared_.only_in_a = in_a.size() - steps.size();
    compared_.only_in_b = in_b.size() - steps.size();
    for (size_t i = 0; i < steps.size(); ++i) {
      FetchAhead(trial_a_, compared_.tensor, steps, i, mode_);
      FetchAhead(trial_b_, compared_.tensor, steps, i, mode_);
      if (!IsSameAt(steps[i])) ++compared_.different;
    }
    return std::move(compared_);
  }

 private:
  bool IsSameAt(int64_t step) {
    const std::vector<std::string> in_a = a_.Workers(step, mode_);
    const std::vector<std::string> in_b = b_.Workers(step, mode_);
    bool is_same = true;
    if (in_a != in_b) {
      Place place{step, "", "workers", {}, {}};
      place.difference.otherwise = Join(in_a, " ") + " against " + Join(in_b, " ");
      is_same = Note(place);
    }
    for (const std::string &worker : Shared(in_a, in_b)) {
      if (!IsSameOf(step, worker)) is_same = false;
    }
    return is_same;
  }

  bool IsSameOf(int64_t step, const std::string &worker) {
    // Damaged data is neither equal nor different.
    Saved a;
    Saved b;
    const bool is_whole = arguments_.Try(trial_a_, [&] { a = SavedAt(a_, step, mode_, worker); }) &&
                          arguments_.Try(trial_b_, [&] { b = SavedAt(b_, step, mode_, worker); });
    if (!is_whole) return true;
    Place place{step, worker, "value", {}, {}};
    if (a.Kinds() != b.Kinds()) {
      place.what = "saved forms";
      place.difference.otherwise = Join(a.Kinds(), " ") + " against " + Join(b.Kinds(), " ");
      return Note(place);
    }
    if (a.value) {
      place.shape = *a.shape;
      place.difference = Compare(*a.value, *b.value, tolerance_);
      if (!place.difference.IsNone()) return Note(place);
    } else if (a.shape != b.shape) {
      place.what = "shape";
      place.difference.otherwise = "the shapes differ";
      return Note(place);
    }
    for (const std::string &name : a.reductions) {
      const auto [plain, is_absolute] = ReductionOf(name);
      place.what = name;
      place.shape.clear();
      const auto read = [&, plain = plain, is_absolute = is_absolute](const Tensor &tensor) {
        return tensor.Reduction(step, plain, is_absolute, mode_, worker);
      };
      std::optional<Value> of_a;
      std::optional<Value> of_b;
      const bool are_whole = arguments_.Try(trial_a_, [&] { of_a = read(a_); }) &&
                             arguments_.Try(trial_b_, [&] { of_b = read(b_); });
      if (!are_whole) continue;
      place.difference = Compare(*of_a, *of_b, tolerance_);
      if (!place.difference.IsNone()) return Note(place);
    }
    return true;
  }

  // Notes a difference.  Always returns false.
  bool Note(const Place &place) {
    if (!compared_.first) compared_.first = place;
    if (!place.difference.otherwise.empty()) return false;
    const double largest = place.difference.largest;
    compared_.has_distance = true;
    if (std::isnan(largest) || largest > compared_.largest) compared_.largest = largest;
    return false;
  }

  const TrialArguments &arguments_;
  const Trial &trial_a_;
  const Trial &trial_b_;
  const Tensor a_;
  const Tensor b_;
  const Mode mode_;
  const Tolerance tolerance_;
  Compared compared_;
};

std::string Describe(const Place &place) {
  const Difference &difference = place.difference;
  if (!difference.otherwise.empty()) return place.what + ": " + difference.otherwise;
  std::string text = place.what == "value" ? "" : place.what + ": ";
  if (difference.of > 1) {
    text += std::to_string(difference.elements) + " of " + std::to_string(difference.of) +
            " elements, by up to ";
  } else {
    text += "by ";
  }
  text += Short(difference.largest);
  const std::string index = IndexText(difference.at, place.shape);
  return index.empty() ? text : text + " at " + index;
}

class Diff final : public Command {
 public:
  const char *Name() const override { return "diff"; }
  const char *Summary() const override { return "show where two trials differ, and where first"; }
  const char *Details() const override {
    return "Compares tensors and steps that both trials have. The comparison is bit by bit, unless "
           "--atol or --rtol is given: then numbers a and b are equal if |a - b| <= ATOL + RTOL * "
           "|b|, or if both are NaN. With --noise or --rounding, compares two runs that should be "
           "equal but for rounding, such as runs on one and on two workers, and names the module "
           "that differs first.";
  }
  const char *Examples() const override {
    return "smdebug diff run other_run\n"
           "smdebug diff run other_run --rtol 1e-5 --atol 1e-8\n"
           "smdebug diff run s3://my-bucket/run --mode train --json\n"
           "smdebug diff run other_run --rounding auto\n";
  }

  void Declare(Arguments &arguments) override {
    arguments.Positional("A", "a trial", &path_a_);
    arguments.Positional("B", "the trial to compare it with", &path_b_);
    arguments.Number("--atol", "ATOL", "allow this absolute difference", &atol_);
    arguments.Number("--rtol", "RTOL", "allow this difference relative to the number in B", &rtol_);
    arguments.Texts("--noise", "TRIAL",
                    "a run of A's program, perturbed by rounding, which gives the tolerances; may "
                    "be given several times",
                    &noise_);
    arguments.Choice(
        "--rounding",
        "take tolerances from the rounding of this type; auto: the coarsest that was "
        "recorded",
        {"auto", "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"},
        &rounding_);
    arguments.Texts("--regex", "REGEX",
                    "select tensors whose names match; may be given several times", &regexes_);
    arguments.Choice(
        "--mode",
        "compare the steps of this mode, by its own numbers (default: the steps of all "
        "modes, by their global numbers)",
        ModeChoices(), &mode_name_);
    arguments.Flag("--all", "also list tensors that do not differ", &all_);
    arguments.Flag("--json", "print one object per tensor and a summary, for programs", &as_json_);
    options_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    if (!noise_.empty() || !rounding_.empty()) return RunOfRuns();
    const Trial a = options_.Open(path_a_);
    const Trial b = options_.Open(path_b_);
    const Mode mode = ModeOf(mode_name_);
    if (mode != Mode::kGlobal && a.Steps(mode, true).empty() && b.Steps(mode, true).empty()) {
      throw Error(SMD_NOT_FOUND,
                  std::string("nothing was compared: neither run has a step of the mode ") +
                      ModeName(mode));
    }
    Trial::Names wanted;
    wanted.regexes = regexes_;
    const std::vector<std::string> in_a = a.TensorNames(wanted);
    const std::vector<std::string> in_b = b.TensorNames(wanted);
    if (!regexes_.empty() && in_a.empty() && in_b.empty()) {
      throw Error(SMD_NOT_FOUND, "--regex matches the name of no tensor");
    }
    only_in_a_ = Without(in_a, in_b);
    only_in_b_ = Without(in_b, in_a);
    CompareAll(a, b, InNaturalOrder(Shared(in_a, in_b)));
    as_json_ ? PrintJson() : PrintText(a, b);
    return options_.Conclude(IsSame() ? ExitCode::kNoFindings : ExitCode::kFindings);
  }

 private:
  ExitCode RunOfRuns() {
    const bool is_by_element = !std::isnan(atol_) || !std::isnan(rtol_);
    if (is_by_element || !regexes_.empty() || all_) {
      throw UsageError("--noise and --rounding exclude --atol, --rtol, --regex and --all");
    }
    Trial opened_a = options_.Open(path_a_);
    Trial opened_b = options_.Open(path_b_);
    RunBasis basis;
    basis.mode = ModeOf(mode_name_);
    const auto trains = [](const Trial &trial) { return !trial.Steps(Mode::kTrain, true).empty(); };
    if (mode_name_.empty() && trains(opened_a) && trains(opened_b)) basis.mode = Mode::kTrain;
    RunReader a(options_, std::move(opened_a), basis.mode);
    RunReader b(options_, std::move(opened_b), basis.mode);
    std::vector<std::unique_ptr<RunReader>> noise;
    std::vector<RunReader *> noise_runs;
    for (const std::string &path : noise_) {
      noise.push_back(std::make_unique<RunReader>(options_, options_.Open(path), basis.mode));
      noise_runs.push_back(noise.back().get());
      basis.noise.push_back(NameOf(noise.back()->TheTrial()));
    }
    const std::vector<int64_t> steps = Shared(a.Steps(), b.Steps());
    const double unit = UnitOf(&a, &b, steps, &basis);
    RunComparison comparison(&a, &b, noise_runs, unit, !rounding_.empty());
    Progress progress("Comparing", steps.size());
    for (const int64_t step : steps) {
      if (!comparison.Compare(step)) break;
      progress.Advance();
    }
    Progress::Wipe();
    const RunVerdict &verdict = comparison.Verdict();
    basis.steps_only_in_a = a.Steps().size() - steps.size();
    basis.steps_only_in_b = b.Steps().size() - steps.size();
    as_json_ ? PrintRunJson(verdict, basis) : PrintRunVerdict(verdict, basis);
    const bool is_nothing = verdict.tensors == 0 && !verdict.first;
    const ExitCode code =
        options_.Conclude(verdict.first ? ExitCode::kFindings : ExitCode::kNoFindings);
    if (is_nothing && code == ExitCode::kNoFindings) {
      throw Error(SMD_NOT_FOUND, std::string("nothing was compared: the runs have no ") +
                                     (steps.empty() ? "step" : "tensor") + " in common");
    }
    return code;
  }

  // Returns the rounding unit.  The noise runs contain the rounding of coarser types than A's.
  double UnitOf(RunReader *a, RunReader *b, const std::vector<int64_t> &steps,
                RunBasis *basis) const {
    if (!rounding_.empty() && rounding_ != "auto") {
      basis->rounding = rounding_;
      return RoundingUnit(rounding_);
    }
    if (steps.empty()) return RoundingUnit("float32");
    std::string of_a;
    std::string of_b;
    const double in_a = a->CoarsestUnit(steps.front(), &of_a);
    if (rounding_.empty()) return in_a;
    const double in_b = b->CoarsestUnit(steps.front(), &of_b);
    basis->rounding = in_a > in_b ? of_a : of_b;
    return std::max(in_a, in_b);
  }

  void CompareAll(const Trial &a, const Trial &b, const std::vector<std::string> &names) {
    const bool is_exact = std::isnan(atol_) && std::isnan(rtol_);
    const Tolerance tolerance{std::isnan(atol_) ? 0 : atol_, std::isnan(rtol_) ? 0 : rtol_,
                              is_exact};
    Progress progress("Comparing", names.size());
    for (const std::string &name : names) {
      compared_.push_back(
          TensorComparison(options_, a, b, name, ModeOf(mode_name_), tolerance).Run());
      progress.Advance();
    }
  }

  bool IsSame() const {
    return only_in_a_.empty() && only_in_b_.empty() &&
           std::all_of(compared_.begin(), compared_.end(),
                       [](const Compared &item) { return item.IsSame(); });
  }

  // Returns the tensor that differs at the earliest step, or NULL if none does.
  const Compared *First() const {
    const Compared *first = nullptr;
    for (const Compared &item : compared_) {
      if (item.first && (first == nullptr || item.first->step < first->first->step)) first = &item;
    }
    return first;
  }

  std::string PlaceText(const Trial &trial, int64_t step) const {
    const Mode mode = ModeOf(mode_name_);
    if (mode != Mode::kGlobal) return ModeName(mode) + (" step " + std::to_string(step));
    const auto [number, of] = trial.ModeStep(step);
    return "step " + StepText(step, of, number);
  }

  void PrintText(const Trial &a, const Trial &b) const {
    if (const Compared *const first = First()) {
      Print(Styled("first difference", Style::kBad) + ": " + PlaceText(a, first->first->step) +
            ", '" + Printable(first->tensor) + "'" +
            (first->first->worker.empty() ? "" : " of " + Printable(first->first->worker)) + ", " +
            Printable(Describe(*first->first)) + "\n\n");
    }
    PrintTable();
    PrintOnly(a, only_in_a_);
    PrintOnly(b, only_in_b_);
    const auto same = std::count_if(compared_.begin(), compared_.end(),
                                    [](const Compared &item) { return item.IsSame(); });
    Print(std::to_string(same) + " of " + Count(compared_.size(), "tensor") +
          " that both have are the same\n");
  }

  void PrintTable() const {
    Table table({{"TENSOR", Table::Kind::kText},
                 {"STEPS", Table::Kind::kNumber},
                 {"DIFFER", Table::Kind::kNumber},
                 {"FIRST", Table::Kind::kNumber},
                 {"LARGEST", Table::Kind::kNumber},
                 {"A ONLY", Table::Kind::kNumber},
                 {"B ONLY", Table::Kind::kNumber}});
    for (const Compared &item : compared_) {
      if (item.IsSame() && !all_) continue;
      table.Add({item.tensor, std::to_string(item.steps), std::to_string(item.different),
                 item.first ? std::to_string(item.first->step) : "-",
                 item.has_distance ? Short(item.largest) : "-", std::to_string(item.only_in_a),
                 std::to_string(item.only_in_b)},
                item.IsSame() ? Style::kPlain : Style::kBad);
    }
    if (table.IsEmpty()) return;
    table.Print();
    Print("\n");
  }

  static void PrintOnly(const Trial &trial, const std::vector<std::string> &names) {
    if (names.empty()) return;
    Print("only in " + NameOf(trial) + ": " + Printable(Join(InNaturalOrder(names), ", ")) + "\n");
  }

  void PrintJson() const {
    JsonWriter json;
    for (const Compared &item : compared_) {
      if (item.IsSame() && !all_) continue;
      ToJson(item, &json);
      Print(json.Take() + "\n");
    }
    const Compared *const first = First();
    json.BeginObject().Key("summary").BeginObject().Key("same").Bool(IsSame());
    json.Key("tensors").Whole(static_cast<int64_t>(compared_.size()));
    json.Key("only_in_a").Texts(only_in_a_).Key("only_in_b").Texts(only_in_b_).Key("first");
    first == nullptr ? json.Null() : ToJson(*first, &json);
    Print(json.EndObject().EndObject().Take() + "\n");
  }

  static JsonWriter &ToJson(const Compared &item, JsonWriter *json) {
    json->BeginObject().Key("tensor").Text(item.tensor);
    json->Key("steps").Whole(static_cast<int64_t>(item.steps));
    json->Key("different").Whole(static_cast<int64_t>(item.different));
    json->Key("only_in_a").Whole(static_cast<int64_t>(item.only_in_a));
    json->Key("only_in_b").Whole(static_cast<int64_t>(item.only_in_b));
    json->Key("largest");
    // Without a difference it is 0; null means that there is one which has no number.
    item.has_distance || !item.first ? json->Number(item.largest) : json->Null();
    json->Key("first_step");
    if (!item.first) return json->Null().Key("worker").Null().Key("message").Null().EndObject();
    json->Whole(item.first->step).Key("worker").Text(item.first->worker);
    return json->Key("message").Text(Describe(*item.first)).EndObject();
  }

  TrialArguments options_;
  std::string path_a_;
  std::string path_b_;
  double atol_ = std::nan("");
  double rtol_ = std::nan("");
  std::vector<std::string> regexes_;
  std::string mode_name_;
  std::vector<std::string> noise_;
  std::string rounding_;
  bool all_ = false;
  bool as_json_ = false;
  std::vector<Compared> compared_;
  std::vector<std::string> only_in_a_;
  std::vector<std::string> only_in_b_;
};

}  // namespace

std::unique_ptr<Command> MakeDiff() { return std::make_unique<Diff>(); }

}  // namespace smdebug::cli
