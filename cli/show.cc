#include "show.h"

#include <algorithm>

#include "elements.h"
#include "series.h"
#include "table.h"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli {
namespace {

constexpr int64_t kLastSteps = 20;

class Show final : public Command {
 public:
  const char *Name() const override { return "show"; }
  const char *Summary() const override { return "a tensor over the steps, or its values at one"; }
  const char *Details() const override {
    return "Without --reduction: the value of tensors with one element; else min, mean, max, std "
           "and abs_mean, or the reductions that were saved where values were not.";
  }
  const char *Examples() const override {
    return "smdebug show run loss\n"
           "smdebug show run fc1.weight --step 20\n"
           "smdebug show run fc1.weight --mode train --reduction l2,abs_max --last 5\n"
           "smdebug show s3://my-bucket/run loss --json\n";
  }

  void Declare(Arguments &arguments) override {
    trial_.DeclareTrial(arguments);
    arguments.Positional("TENSOR", "its name, as smdebug ls has it", &name_);
    arguments.Whole("--step", "N", "its values at this step", &step_);
    arguments.Choice("--mode",
                     "the steps of this mode, by its own numbers; else of all, by their "
                     "global numbers",
                     ModeChoices(), &mode_name_);
    arguments.Text("--worker", "NAME", "as this worker saved it; else the first that did",
                   &worker_);
    arguments.Texts("--reduction", "NAMES",
                    "min, max, median, mean, std, variance, sum, prod, l1, "
                    "l2, of absolute values as abs_mean; several with commas between",
                    &reductions_);
    arguments.Whole("--last", "N", "rows for so many steps; 0: for all (20)", &last_);
    arguments.Flag("--all", "with --step: all elements of a long tensor", &all_);
    arguments.Flag("--json", "an object a step, for programs; with --step: with all values",
                   &as_json_);
    trial_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    const Trial trial = trial_.Open();
    const Tensor tensor = trial.Tensor(name_);
    Series series(trial, tensor, ModeOf(mode_name_), worker_, Reductions());
    if (step_) {
      ShowStep(series);
    } else {
      ShowSteps(&series);
    }
    return trial_.Conclude(ExitCode::kNoFindings);
  }

 private:
  // Returns the reductions in all arguments, such as "l2,abs_max".
  std::vector<std::string> Reductions() const {
    static const std::vector<std::string> kKnown = {"min",      "max", "median", "mean", "std",
                                                    "variance", "sum", "prod",   "l1",   "l2"};
    std::vector<std::string> names;
    for (const std::string &list : reductions_) {
      for (const std::string &name : Split(list, ',')) {
        const std::string plain = ReductionOf(name).name;
        if (std::find(kKnown.begin(), kKnown.end(), plain) == kKnown.end()) {
          throw UsageError("there is no reduction '" + Printable(name) + "'; there are " +
                           Join(kKnown, ", ") + ", each also with abs_ before it");
        }
        names.push_back(name);
      }
    }
    return names;
  }

  std::string Title(const Series &series, const Saved &saved) const {
    std::string title = Styled(Printable(name_), Style::kHeading);
    if (!saved.dtype.empty()) title += "  " + saved.dtype;
    if (saved.shape) title += "  " + ShapeText(*saved.shape);
    return title + "  " + Printable(series.WorkerText());
  }

  void ShowStep(const Series &series) const {
    const Series::Point point = series.Read(*step_);
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
      throw Error(SMD_VALUE_UNAVAILABLE, "tensor '" + name_ + "' was saved at no step" +
                                             (mode_name_.empty() ? "" : " of mode " + mode_name_) +
                                             (worker_.empty() ? "" : " by " + worker_));
    }
    if (as_json_) {
      for (const Series::Point &point : points) Print(series->ToJson(point, false) + "\n");
      return;
    }
    Print(Title(*series, points.back().saved) + "  " + Count(points.size(), "step") + "\n");
    series->PrintSparklines(points);
    PrintRows(*series, points);
  }

  void PrintRows(const Series &series, const std::vector<Series::Point> &points) const {
    const auto wanted = static_cast<size_t>(last_.value_or(kLastSteps));
    const size_t count = wanted == 0 ? points.size() : std::min(wanted, points.size());
    const size_t first = points.size() - count;
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
