#include "analyze/tensorboard_export.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/strings.h"
#include "format/paths.h"
#include "format/summary_writer.h"
#include "tensor/histogram.h"
#include "tensor/statistics.h"

namespace smdebug::analyze {
namespace {

// The number of bytes of a file that are buffered before they are written.
constexpr size_t kWorthWriting = size_t{1} << 20;

// The collections whose numbers are shown first.  TensorBoard sorts by tag, digits before letters,
// and opens the first two groups, which are the parts of tags before the first "/".
struct FirstGroup {
  const char *collection;
  const char *tag;
};
constexpr FirstGroup kFirstGroups[] = {{"losses", "0_losses/"}, {"metrics", "0_metrics/"}};

// Statistics of whole tensors appear under the names of these reductions.  If both exist, the
// tensor's statistics win.
bool IsShownOfTensors(tensor::Reduction reduction) {
  using tensor::ReductionKind;
  switch (reduction.kind) {
    case ReductionKind::kMin:
    case ReductionKind::kMax:
    case ReductionKind::kMean:
    case ReductionKind::kStd:
    case ReductionKind::kL2: return !reduction.absolute;
    default: return false;
  }
}

// One file: the steps of one mode and worker.
class Run {
 public:
  explicit Run(std::unique_ptr<storage::FileWriter> file) : file_(std::move(file)) {}

  void Scalar(int64_t step, double wall_time, std::string_view tag, double number) {
    WriterAt(step, wall_time)
        .AddScalar(format::SummaryTag(tag), static_cast<float>(number), &bytes_);
  }
  void Histogram(int64_t step, double wall_time, std::string_view tag,
                 const tensor::Histogram &histogram) {
    WriterAt(step, wall_time).AddHistogram(format::SummaryTag(tag), histogram, &bytes_);
  }

  Status WriteIfMany() { return bytes_.size() < kWorthWriting ? Status::Ok() : Write(); }
  Status Finish() {
    SMD_RETURN_IF_ERROR(Write());
    return file_->Commit(false);
  }

 private:
  format::SummaryWriter WriterAt(int64_t step, double wall_time) {
    const format::SummaryWriter writer(step, wall_time);
    if (!std::exchange(has_begun_, true)) writer.AddVersion(&bytes_);
    return writer;
  }
  Status Write() {
    const Piece piece{nullptr, AsBytes(bytes_)};
    Status written = file_->Append({&piece, 1});
    bytes_.clear();
    return written;
  }

  std::unique_ptr<storage::FileWriter> file_;
  std::string bytes_;
  bool has_begun_ = false;
};

class Exporter {
 public:
  Exporter(Trial &trial, storage::Store &folder) : trial_(trial), folder_(folder) {}

  Status ExportAll() {
    SMD_ASSIGN_OR_RETURN(const std::vector<std::string> workers, trial_.Workers());
    has_several_workers_ = workers.size() > 1;
    SMD_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, trial_.Steps(Mode::kGlobal, true));
    for (const int64_t step : steps) SMD_RETURN_IF_ERROR(ExportStep(step));
    for (auto &[name, run] : runs_) SMD_RETURN_IF_ERROR(run.Finish());
    return Status::Ok();
  }

 private:
  Status ExportStep(int64_t step) {
    SMD_ASSIGN_OR_RETURN(const std::optional<ModeStep> as, trial_.ModeStepOf(step));
    NameQuery query;
    query.step = step;
    SMD_ASSIGN_OR_RETURN(const std::vector<std::string> names, trial_.TensorNames(query));
    for (const std::string &name : names) {
      const StepEntries entries = trial_.EntriesAt(name, step, Mode::kGlobal);
      for (const StepEntries::Item &item : entries.items) {
        if (item.entry.kind == EntryKind::Shape() || IsDouble(item, entries)) continue;
        SMD_ASSIGN_OR_RETURN(Run * run, RunOf(as->mode, item.worker));
        SMD_RETURN_IF_ERROR(ExportItem(name, item, step, *run));
        SMD_RETURN_IF_ERROR(run->WriteIfMany());
      }
    }
    return Status::Ok();
  }

  // Returns true if a saved reduction duplicates a statistic of the whole tensor.
  static bool IsDouble(const StepEntries::Item &item, const StepEntries &entries) {
    const std::optional<tensor::Reduction> reduction = item.entry.kind.AsReduction();
    if (!reduction || !IsShownOfTensors(*reduction)) return false;
    return std::any_of(entries.items.begin(), entries.items.end(), [&](const auto &other) {
      return other.entry.kind == EntryKind::Raw() && other.worker == item.worker;
    });
  }

  Status ExportItem(const std::string &name, const StepEntries::Item &item, int64_t step,
                    Run &run) {
    const std::optional<tensor::Reduction> reduction = item.entry.kind.AsReduction();
    const auto found = trial_.ReadTensorAt(name, item);
    if (!found.IsOk()) return SkipIfDamaged(found.GetStatus());
    const double at = found->context.wall_time;
    const tensor::View view = found->value.AsView();
    const auto statistics = tensor::ComputeStatistics(view);
    if (!statistics.IsOk()) return Status::Ok();
    if (reduction) {
      run.Scalar(step, at, StrCat(name, "/", tensor::ReductionName(*reduction)),
                 statistics->plain.sum);
    } else if (statistics->count == 1) {
      SMD_ASSIGN_OR_RETURN(const std::string tag, TagOfNumber(name));
      run.Scalar(step, at, tag, statistics->plain.sum);
    } else if (statistics->count > 1) {
      ExportSpread(name, view, *statistics, step, at, run);
    }
    return Status::Ok();
  }

  // Returns the tag of a tensor of one element.
  Result<std::string> TagOfNumber(const std::string &name) const {
    for (const FirstGroup &group : kFirstGroups) {
      const config::CollectionPtr collection = trial_.Collections().Find(group.collection);
      if (!collection) continue;
      SMD_ASSIGN_OR_RETURN(const bool has, collection->Has(name));
      if (has) return StrCat(group.tag, name);
    }
    return name;
  }

  // Returns success for a record that is damaged or whose file is missing: the others are exported.
  Status SkipIfDamaged(const Status &failure) {
    if (failure.GetCode() == Code::kValueUnavailable) return Status::Ok();  // already logged
    if (failure.GetCode() != Code::kCorruptData) return failure;
    trial_.NoteSkipped(failure);
    return Status::Ok();
  }

  static void ExportSpread(const std::string &name, const tensor::View &view,
                           const tensor::Statistics &statistics, int64_t step, double at,
                           Run &run) {
    if (const auto histogram = tensor::MakeHistogram(view)) {
      run.Histogram(step, at, name, *histogram);
    }
    run.Scalar(step, at, StrCat(name, "/min"), statistics.plain.min);
    run.Scalar(step, at, StrCat(name, "/max"), statistics.plain.max);
    run.Scalar(step, at, StrCat(name, "/mean"), statistics.plain.mean);
    run.Scalar(step, at, StrCat(name, "/std"), std::sqrt(statistics.plain.variance));
    run.Scalar(step, at, StrCat(name, "/l2"), statistics.l2);
  }

  // Returns the file of a mode and worker, and creates it on first use.
  Result<Run *> RunOf(Mode mode, const std::string &worker) {
    std::string name(ModeName(mode));
    if (has_several_workers_) name += "/" + format::WorkerToFile(worker);
    auto found = runs_.find(name);
    if (found == runs_.end()) {
      SMD_ASSIGN_OR_RETURN(auto file, folder_.Create(StrCat(name, "/events.out.tfevents.smdebug")));
      found = runs_.emplace(name, Run(std::move(file))).first;
    }
    return &found->second;
  }

  Trial &trial_;
  storage::Store &folder_;
  bool has_several_workers_ = false;
  std::map<std::string, Run> runs_;
};

}  // namespace

Status ExportTensorboard(Trial &trial, storage::Store &folder) {
  return Exporter(trial, folder).ExportAll();
}

}  // namespace smdebug::analyze
