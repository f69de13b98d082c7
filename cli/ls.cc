#include "ls.h"

#include <algorithm>
#include <map>

#include "elements.h"
#include "json_writer.h"
#include "natural_order.h"
#include "progress.h"
#include "saved.h"
#include "suggestions.h"
#include "table.h"
#include "text.h"
#include "trial_arguments.h"
#include "trial_table.h"

namespace smdebug::cli {
namespace {

constexpr size_t kMostNamed = 8;  // the most workers that the summary names

struct Listed {
  std::string name;
  size_t steps = 0;
  std::vector<std::string> modes;
  std::vector<std::string> collections;
  Saved saved;  // at the last step
};

class Ls final : public Command {
 public:
  const char *Name() const override { return "ls"; }
  const char *Summary() const override {
    return "list the tensors of a trial, or the trials in a folder";
  }
  const char *Details() const override {
    return "Shapes, types and reductions are those of a tensor's last step. For a folder or bucket "
           "that holds trials, lists these with their states: finished, failed (and why), running, "
           "interrupted (nothing new for some time), empty or unreadable; --regex then selects "
           "their names.";
  }
  const char *Examples() const override {
    return "smdebug ls run\n"
           "smdebug ls .\n"
           "smdebug ls run --collection gradients\n"
           "smdebug ls run --regex '^fc1' --names\n"
           "smdebug ls s3://my-bucket/run --json\n";
  }

  void Declare(Arguments &arguments) override {
    trial_.DeclareTrial(arguments);
    arguments.Text("--collection", "NAME", "list only the tensors of this collection",
                   &collection_);
    arguments.Texts("--regex", "REGEX",
                    "select tensors whose names match; may be given several times", &regexes_);
    arguments.Flag("--names", "print only the names, one per line; read no values", &only_names_);
    arguments.Flag("--collections", "print only the names of the collections, one per line",
                   &only_collections_);
    arguments.Flag("--json", "print JSON, for programs", &as_json_);
    trial_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    const std::optional<Trial> opened = trial_.OpenIfTrial();
    if (!opened) return ListTrials();
    const Trial &trial = *opened;
    if (only_collections_) {
      PrintNames(InNaturalOrder(trial.Collections()));
      return trial_.Conclude(ExitCode::kNoFindings);
    }
    const std::vector<std::string> names = Names(trial);
    if (only_names_) {
      PrintNames(names);
      return trial_.Conclude(ExitCode::kNoFindings);
    }
    const std::vector<Listed> tensors = List(trial, names);
    if (as_json_) {
      PrintJson(trial, tensors);
    } else {
      PrintSummary(trial);
      PrintTensors(trial, tensors);
    }
    return trial_.Conclude(ExitCode::kNoFindings);
  }

 private:
  void PrintNames(const std::vector<std::string> &names) const {
    if (as_json_) {
      JsonWriter json;
      json.BeginArray();
      for (const std::string &name : names) json.Text(name);
      Print(json.EndArray().Take() + "\n");
      return;
    }
    for (const std::string &name : names) Print(Printable(name) + "\n");
  }

  // Lists the trials below a folder that is none itself.
  ExitCode ListTrials() const {
    if (!collection_.empty() || only_collections_) {
      throw UsageError(Printable(trial_.Path()) +
                       ": this is not a trial, so it has no collections");
    }
    std::vector<ListedTrial> trials;
    try {
      trials = FindTrials(trial_.Path(), regexes_, trial_.Settings());
    } catch (const Error &error) {
      if (error.Code() != SMD_NOT_FOUND) throw;
      trial_.Open();  // reports that there is no trial
      throw;
    }
    if (only_names_) {
      std::vector<std::string> names;
      names.reserve(trials.size());
      for (const ListedTrial &trial : trials) names.push_back(trial.name);
      PrintNames(names);
    } else if (as_json_) {
      Print(ToJson(trial_.Path(), trials) + "\n");
    } else {
      PrintTrials(trial_.Path(), trials);
    }
    return ExitCode::kNoFindings;
  }

  std::vector<std::string> Names(const Trial &trial) const {
    if (!collection_.empty() && !regexes_.empty()) {
      throw UsageError("--collection and --regex cannot be given together");
    }
    Trial::Names wanted;
    wanted.regexes = regexes_;
    if (collection_.empty()) return InNaturalOrder(trial.TensorNames(wanted));
    const std::vector<std::string> known = InNaturalOrder(trial.Collections());
    if (std::find(known.begin(), known.end(), collection_) == known.end()) {
      const std::string advice = DidYouMean(collection_, known);
      throw UsageError(
          "no collection is named '" + Printable(collection_) + "'" +
          (advice.empty() ? "; the trial has " + Printable(Join(known, ", ")) : advice));
    }
    const Collection collection = trial.Collection(collection_);
    wanted.collection = &collection;
    return InNaturalOrder(trial.TensorNames(wanted));
  }

  std::vector<Listed> List(const Trial &trial, const std::vector<std::string> &names) const {
    std::vector<Collection> collections;
    for (const std::string &name : InNaturalOrder(trial.Collections())) {
      if (name != "all") collections.push_back(trial.Collection(name));
    }
    Progress progress("Reading", names.size());
    std::vector<Listed> listed;
    for (const std::string &name : names) {
      const Tensor tensor = trial.Tensor(name);
      const std::vector<int64_t> steps = tensor.Steps(Mode::kGlobal, true);
      Listed &item = listed.emplace_back();
      item.name = name;
      item.steps = steps.size();
      for (const Mode mode : trial.Modes()) {
        if (!tensor.Steps(mode, true).empty()) item.modes.emplace_back(ModeName(mode));
      }
      for (const Collection &collection : collections) {
        if (Has(collection, trial, name)) item.collections.push_back(collection.Name());
      }
      if (!steps.empty()) trial_.Try(trial, [&] { item.saved = SavedAt(tensor, steps.back()); });
      progress.Advance();
    }
    return listed;
  }

  // If an expression of the trial cannot be searched for, that counts as damage.
  bool Has(const Collection &collection, const Trial &trial, const std::string &name) const {
    bool has = false;
    trial_.Try(trial, [&] {
      try {
        has = collection.Has(name);
      } catch (const Error &error) {
        if (error.Code() != SMD_INVALID_CONFIG) throw;
        throw Error(SMD_CORRUPT_DATA,
                    trial.Path() + ": collection '" + collection.Name() + "': " + error.what());
      }
    });
    return has;
  }

  static std::string Workers(const Trial &trial) {
    const std::vector<std::string> workers = InNaturalOrder(trial.Workers());
    if (workers.size() <= kMostNamed) return Join(workers, ", ");
    return std::to_string(workers.size()) + ": " + workers.front() + " to " + workers.back();
  }

  static std::string Steps(const Trial &trial) {
    const std::vector<int64_t> all = trial.Steps();
    if (all.empty()) return "none";
    std::vector<std::string> modes;
    for (const Mode mode : trial.Modes()) {
      const std::vector<int64_t> steps = trial.Steps(mode);
      if (steps.empty()) continue;
      modes.push_back(std::to_string(steps.size()) + " " + ModeName(mode) + " (" +
                      std::to_string(steps.front()) + " to " + std::to_string(steps.back()) + ")");
    }
    std::string text = std::to_string(all.size());
    if (!modes.empty()) text += ": " + Join(modes, ", ");
    const size_t incomplete = trial.Steps(Mode::kGlobal, true).size() - all.size();
    if (incomplete > 0) text += "; " + Count(incomplete, "incomplete step");
    return text;
  }

  static void PrintSummary(const Trial &trial) {
    Print(Styled(NameOf(trial), Style::kHeading) + "\n");
    const std::string failure = trial.Failure();
    Print("  job      ");
    if (failure.empty()) {
      Print(trial.HasEnded() ? "has ended\n" : "has not ended\n");
    } else {
      Print(Styled("failed: " + Printable(failure), Style::kBad) + "\n");
    }
    Print("  steps    " + Steps(trial) + "\n");
    Print("  workers  " + Printable(Workers(trial)) + "\n\n");
  }

  static void PrintTensors(const Trial &trial, const std::vector<Listed> &tensors) {
    if (tensors.empty()) return Print("no tensors\n");
    const bool has_modes = trial.Modes().size() > 1;
    using Kind = Table::Kind;
    std::vector<Table::Column> columns = {{"TENSOR", Kind::kText},
                                          {"SHAPE", Kind::kWord},
                                          {"TYPE", Kind::kWord},
                                          {"STEPS", Kind::kNumber}};
    if (has_modes) columns.push_back({"MODES", Kind::kWord});
    columns.push_back({"SAVED", Kind::kText});
    columns.push_back({"COLLECTIONS", Kind::kText});
    Table table(columns);
    for (const Listed &item : tensors) {
      std::vector<std::string> cells = {
          item.name, item.saved.shape ? ShapeText(*item.saved.shape) : "-",
          item.saved.dtype.empty() ? "-" : item.saved.dtype, std::to_string(item.steps)};
      if (has_modes) cells.push_back(Join(item.modes, ","));
      cells.push_back(Join(item.saved.Kinds(), ", "));
      cells.push_back(Join(item.collections, ", "));
      table.Add(cells);
    }
    table.Print();
  }

  static void PrintJson(const Trial &trial, const std::vector<Listed> &tensors) {
    JsonWriter json;
    json.BeginObject().Key("path").Text(trial.Path()).Key("name").Text(trial.Name());
    json.Key("has_ended")
        .Bool(trial.HasEnded())
        .Key("workers")
        .Texts(InNaturalOrder(trial.Workers()));
    json.Key("steps").BeginObject();
    for (const Mode mode : trial.Modes()) json.Key(ModeName(mode)).Wholes(trial.Steps(mode));
    json.Key("GLOBAL").Wholes(trial.Steps()).EndObject();
    json.Key("incomplete_steps")
        .Whole(
            static_cast<int64_t>(trial.Steps(Mode::kGlobal, true).size() - trial.Steps().size()));
    json.Key("collections").Texts(trial.Collections()).Key("tensors").BeginArray();
    for (const Listed &item : tensors) {
      json.BeginObject().Key("name").Text(item.name).Key("shape");
      item.saved.shape ? json.Wholes(*item.saved.shape) : json.Null();
      json.Key("dtype");
      item.saved.dtype.empty() ? json.Null() : json.Text(item.saved.dtype);
      json.Key("steps").Whole(static_cast<int64_t>(item.steps));
      json.Key("modes").Texts(item.modes).Key("saved").Texts(item.saved.Kinds());
      json.Key("collections").Texts(item.collections).EndObject();
    }
    Print(json.EndArray().EndObject().Take() + "\n");
  }

  TrialArguments trial_;
  std::string collection_;
  std::vector<std::string> regexes_;
  bool only_names_ = false;
  bool only_collections_ = false;
  bool as_json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeLs() { return std::make_unique<Ls>(); }

}  // namespace smdebug::cli
