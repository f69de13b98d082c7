#include "show.h"

#include <algorithm>
#include <filesystem>

#include "elements.h"
#include "natural_order.h"
#include "series.h"
#include "suggestions.h"
#include "table.h"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli {
namespace {

constexpr int64_t kLastSteps = 20;

class Show final : public Command {
 public:
  const char *Name() const override { return "show"; }
  const char *Summary() const override {
    return "show a tensor over the steps, or its values at one step";
  }
  const char *Details() const override {
    return "Without --reduction, shows the value of a tensor with one element, and min, mean, max, "
           "std "
           "and abs_mean of any other. If no values were saved, shows the saved reductions.";
  }
  const char *Examples() const override {
    return "smdebug show run loss\n"
           "smdebug show run fc1.weight --step 20\n"
           "smdebug show run fc1.weight --mode train --reduction l2,abs_max --last 5\n"
           "smdebug show s3://my-bucket/run loss --json\n";
  }

  void Declare(Arguments &arguments) override {
    trial_.DeclareTrial(arguments);
    arguments.Positional("TENSOR", "the name of a tensor, as smdebug ls prints it", &name_);
    arguments.Whole("--step", "N", "show the values at this step", &step_);
    arguments.Choice(
        "--mode",
        "use the steps of this mode, by its own numbers (default: the steps of all modes, "
        "by their global numbers)",
        ModeChoices(), &mode_name_);
    arguments.Text("--worker", "NAME",
                   "show what this worker saved (default: the first worker that saved the tensor)",
                   &worker_);
    arguments.Texts(
        "--reduction", "NAMES",
        "show these statistics, separated by commas: min, max, median, mean, std, variance, "
        "sum, prod, l1, l2; abs_ before a name takes absolute values",
        &reductions_);
    arguments.Whole("--last", "N",
                    "show only the last N steps; 0 shows all (default: 20, with --json all)",
                    &last_);
    arguments.Flag("--all", "with --step: show all elements of a long tensor", &all_);
    arguments.Flag("--json",
                   "print one object per step, for programs; with --step: with all values",
                   &as_json_);
    trial_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    if (step_ && last_) throw UsageError("--last selects among all steps; omit it with --step");
    RefuseSwappedWords();
    const Trial trial = trial_.Open();
    const Tensor tensor = Find(trial);
    Series series(trial, tensor, ModeOf(mode_name_), worker_, Reductions());
    if (step_) {
      ShowStep(series);
    } else {
      ShowSteps(&series);
    }
    return trial_.Conclude(ExitCode::kNoFindings);
  }

 private:
  void RefuseSwappedWords() const {
    std::error_code ignored;
    const bool is_swapped = IsLocal(trial_.Path()) &&
                            !std::filesystem::exists(trial_.Path(), ignored) &&
                            std::filesystem::is_directory(name_ + "/collections", ignored);
    if (!is_swapped) return;
    throw UsageError("the trial comes first: smdebug show " + Printable(name_) + " " +
                     Printable(trial_.Path()));
  }

  // Reads a step.  If nothing was saved there, the message names the nearest steps.
  static Series::Point ReadStep(const Series &series, int64_t step) {
    try {
      return series.Read(step);
    } catch (const Error &error) {
      const smd_code code = error.Code();
      const bool is_absent = code == SMD_STEP_UNAVAILABLE || code == SMD_STEP_NOT_YET ||
                             (code == SMD_VALUE_UNAVAILABLE && !error.Detail("path"));
      if (!is_absent || series.Steps().empty()) throw;
      throw Error(code, std::string(error.what()) + "; the nearest: " + NearestSteps(series, step));
    }
  }

  // Returns "4 and 6".
  static std::string NearestSteps(const Series &series, int64_t step) {
    const std::vector<int64_t> &steps = series.Steps();
    const auto after = std::upper_bound(steps.begin(), steps.end(), step);
    std::vector<std::string> nearest;
    if (after != steps.begin()) nearest.push_back(std::to_string(*std::prev(after)));
    if (after != steps.end()) nearest.push_back(std::to_string(*after));
    return Join(nearest, " and ");
  }

  Tensor Find(const Trial &trial) const {
    try {
      return trial.Tensor(name_);
    } catch (const Error &error) {
      if (error.Code() != SMD_TENSOR_UNAVAILABLE) throw;
      const char *const when = trial.HasEnded() ? "never saved" : "not saved so far";
      const std::string advice = DidYouMean(name_, InNaturalOrder(trial.TensorNames()));
      throw Error(error.Code(), "tensor '" + name_ + "' was " + when + " by the job at " +
                                    trial.Path() +
                                    (advice.empty() ? "; smdebug ls lists its tensors" : advice));
    }
  }

  // Returns the reductions in all arguments, such as "l2,abs_max".
  std::vector<std::string> Reductions() const {
    static const std::vector<std::string> kKnown = {"min",      "max", "median", "mean", "std",
                                                    "variance", "sum", "prod",   "l1",   "l2"};
    std::vector<std::string> names;
    for (const std::string &list : reductions_) {
      for (const std::string &name : Split(list, ',')) {
        const std::string plain = ReductionOf(name).name;
        if (std::find(kKnown.begin(), kKnown.end(), plain) == kKnown.end()) {
          throw UsageError("unknown reduction '" + Printable(name) + "'" +
                           DidYouMean(plain, kKnown) + "; use " + Join(kKnown, ", ") +
                           ", or one of these with abs_ before it");
        }
        names.push_back(name);
      }
    }
    return names;
  }

  // Names similar workers if the one that was given is unknown.
  std::string WorkerAdvice(const Trial &trial) const {
    const std::vector<std::string> known = InNaturalOrder(trial.Workers());
    const bool is_known = std::find(known.begin(), known.end(), worker_) != known.end();
    if (worker_.empty() || is_known) return "";
    const std::string advice = DidYouMean(worker_, known);
    return advice.empty() ? "; its workers are " + Join(known, ", ") : advice;
  }

  std::string Title(const Series &series, const Saved &saved) const {
    std::string title = Styled(Printable(name_), Style::kHeading);
    if (!saved.dtype.empty()) title += "  " + saved.dtype;
    if (saved.shape) title += "  " + ShapeText(*saved.shape);
    return title + "  " + Printable(series.WorkerText());
  }

  void ShowStep(const Series &series) const {
    const Series::Point point = ReadStep(series, *step_);
    if (as_json_) {
      Print(series.ToJson(point, true) + "\n");
      return;
    }
    Print(Title(series, point.saved) + "  " + series.PlaceText(point) + "\n");
    std::vector<std::string> facts;
    for (size_t i = 0; i < point.numbers.size() && !series.IsSingle(); ++i) {
      facts.push_back(series.Columns()[i] + " " + NumberText(point.numbers[i]));
    }
    if (point.odd.nans > 0) facts.push_back(std::to_string(point.odd.nans) + " nan");
    if (point.odd.infinities > 0) facts.push_back(std::to_string(point.odd.infinities) + " inf");
    if (!facts.empty()) Print(Join(facts, "  ") + "\n");
    if (point.saved.value) Print(ElementsText(*point.saved.value, all_));
  }

  void ShowSteps(Series *series) const {
    const std::vector<Series::Point> points = series->ReadAll(trial_);
    if (points.empty()) {
      // The damage that was found is reported in the end.
      if (!trial_.TheDamage().Sentences().empty()) return;
      throw Error(SMD_VALUE_UNAVAILABLE, "tensor '" + name_ + "' has no saved step" +
                                             (mode_name_.empty() ? "" : " of mode " + mode_name_) +
                                             (worker_.empty() ? "" : " by " + worker_) +
                                             WorkerAdvice(series->TheTrial()));
    }
    if (as_json_) {
      for (size_t i = FirstRow(points.size(), 0); i < points.size(); ++i) {
        Print(series->ToJson(points[i], false) + "\n");
      }
      return;
    }
    Print(Title(*series, points.back().saved) + "  " + Count(points.size(), "step") + "\n");
    series->PrintSparklines(points);
    PrintRows(*series, points);
  }

  // Returns the first of `count` rows that --last selects; 0 selects all.
  size_t FirstRow(size_t count, int64_t by_default) const {
    const auto wanted = static_cast<size_t>(last_.value_or(by_default));
    return wanted == 0 || wanted > count ? 0 : count - wanted;
  }

  void PrintRows(const Series &series, const std::vector<Series::Point> &points) const {
    const size_t first = FirstRow(points.size(), kLastSteps);
    Print("\n");
    Table table(series.Headings());
    for (size_t i = first; i < points.size(); ++i) table.Add(series.Row(points[i]));
    table.Print();
    if (first == 0) return;
    Print("(" + Count(first, "earlier step") + "; --last 0 shows all)\n");
  }

  TrialArguments trial_;
  std::string name_;
  std::optional<int64_t> step_;
  std::string mode_name_;
  std::string worker_;
  std::vector<std::string> reductions_;
  std::optional<int64_t> last_;
  bool all_ = false;
  bool as_json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeShow() { return std::make_unique<Show>(); }

}  // namespace smdebug::cli
