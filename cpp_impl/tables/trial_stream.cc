#include "tables/trial_stream.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "analyze/worker_ends.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/strings.h"
#include "config/collection_set.h"
#include "format/paths.h"
#include "storage/store.h"
#include "tables/catalogue.h"
#include "tables/step_rows.h"
#include "tables/trial_by_trial.h"

namespace smdebug::tables {
namespace {

enum TrialColumn : size_t {
  kTrial,
  kPath,
  kState,
  kSteps,
  kFirstStep,
  kLastStep,
  kWorkers,
  kFirstTime,
  kLastTime,
  kProblem,
  kConfiguration,
  kMetadata,
};

constexpr size_t kTrialsAtOnce = 256;
constexpr double kMicroseconds = 1e6;

struct Summary {
  std::string state = "unreadable";
  TrialSummary of;
  std::optional<std::string> end_marker;  // its version
  bool others_go_on = false;              // workers, though one has ended
  bool is_lasting = false;                // nothing of it changes any more
  std::string configuration;
  std::string metadata;
  Status problem;
};

// Safe from any thread.
class Summarizer {
 public:
  Summarizer(const Request &request, const std::vector<size_t> &columns)
      : request_(request), columns_(columns) {}

  // `catalogue` may be NULL.
  Summary Summarize(const FoundTrial &trial, const Catalogue *catalogue) const {
    Summary summary;
    summary.problem = Read(trial, catalogue, &summary);
    return summary;
  }
  // Reports whether summaries of this request are those of whole trials.
  bool IsOfWholeTrials() const {
    return request_.workers.empty() && request_.steps.first == 0 && !request_.steps.end;
  }

 private:
  using Seconds = std::optional<double>;

  bool Shows(size_t column) const {
    return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
  }

  Status Read(const FoundTrial &trial, const Catalogue *catalogue, Summary *summary) const {
    SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::Store> store,
                         storage::OpenStore(trial.path, request_.store_options, request_.logger));
    // The marker is checked first: the job wrote everything else before it.
    SMD_ASSIGN_OR_RETURN(const std::optional<storage::FileVersion> marker,
                         store->VersionOf(std::string(format::kEndMarker)));
    if (marker) summary->end_marker = marker->text;
    const TrialSummary *known = nullptr;
    if (catalogue && marker) known = catalogue->Find(trial.path, marker->text);
    if (known) {
      summary->of = *known;
      summary->is_lasting = true;
    } else {
      if (marker && marker->size > 0) SMD_RETURN_IF_ERROR(ReadFailure(*store, summary));
      SMD_RETURN_IF_ERROR(Look(*store, summary));
      if (marker) NoteWorkers(*store, summary);
    }
    summary->state = StateOf(*summary);
    const bool is_wanted = Shows(kConfiguration) || Shows(kMetadata);
    return is_wanted ? ReadConfiguration(*store, summary) : Status::Ok();
  }

  Status Look(storage::Store &store, Summary *summary) const {
    Seconds first;
    Seconds last;
    SMD_ASSIGN_OR_RETURN(
        const std::vector<StepFile> files,
        store.IsMetered() ? ListWithTimes(store, &first, &last) : ListAndAsk(store, &first, &last));
    Count(files, &summary->of);
    // Several steps are written at once.
    if (first && last && *last < *first) std::swap(first, last);
    summary->of.first_time = Microseconds(first);
    summary->of.last_time = Microseconds(last);
    return Status::Ok();
  }

  // Collections files that cannot be read say nothing.
  static void NoteWorkers(storage::Store &store, Summary *summary) {
    const double silence = SilenceOf(*summary);
    summary->is_lasting = summary->of.workers < 2 || silence > analyze::kLongestSilence;
    if (summary->is_lasting) return;
    const auto names = store.List(std::string(format::kCollectionsFolder));
    if (!names.IsOk()) return;
    size_t all = 0;
    size_t ended = 0;
    for (const std::string &name : *names) {
      if (!format::ParseCollectionsFileName(name)) continue;
      const Result<std::string> text = store.ReadText(name);
      if (!text.IsOk()) return;
      const auto file = config::CollectionsFromJson(*text, name);
      if (!file.IsOk()) return;
      ++all;
      if (file->has_ended) ++ended;
    }
    summary->is_lasting = all > 0 && ended == all;
    summary->others_go_on = analyze::OthersGoOn(ended, all, silence);
  }

  // Returns the seconds since the last step.
  static double SilenceOf(const Summary &summary) {
    const double last = static_cast<double>(summary.of.last_time.value_or(0)) / kMicroseconds;
    return Clock::System().WallSeconds() - last;
  }

  // Another program's marker may hold anything.
  static Status ReadFailure(storage::Store &store, Summary *summary) {
    const Result<std::string> text =
        store.ReadText(std::string(format::kEndMarker), config::MetadataSet::kLongestValue);
    if (text.IsOk()) {
      summary->of.failure = WellFormed(Trim(*text));
    } else if (text.GetStatus().GetCode() != Code::kUnsupported) {
      return text.GetStatus();
    }
    return Status::Ok();
  }

  // The listing of a bucket has the times.
  Result<std::vector<StepFile>> ListWithTimes(storage::Store &store, Seconds *first,
                                              Seconds *last) const {
    auto *const versions = dynamic_cast<storage::VersionStore *>(&store);
    if (versions == nullptr) return ListAndAsk(store, first, last);
    SMD_ASSIGN_OR_RETURN(std::vector<ListedStep> listed,
                         ListStepVersions(*versions, request_.steps));
    std::vector<StepFile> files;
    for (ListedStep &step : listed) {
      if (!request_.steps.Holds(step.file.step)) continue;
      if (!request_.WantsWorker(step.file.worker)) continue;
      if (files.empty()) *first = step.modified_at;
      *last = step.modified_at;
      files.push_back(std::move(step.file));
    }
    return files;
  }

  // In a folder, asking for two times is faster than for all.
  Result<std::vector<StepFile>> ListAndAsk(storage::Store &store, Seconds *first,
                                           Seconds *last) const {
    SMD_ASSIGN_OR_RETURN(std::vector<StepFile> files,
                         ListStepFiles(store, request_.steps, request_.workers));
    if (files.empty()) return files;
    SMD_ASSIGN_OR_RETURN(*first, store.ModifiedAt(files.front().name));
    SMD_ASSIGN_OR_RETURN(*last, store.ModifiedAt(files.back().name));
    return files;
  }

  static std::string StateOf(const Summary &summary) {
    if (!summary.of.failure.empty()) return "failed";
    if (summary.end_marker && !summary.others_go_on) return "finished";
    if (summary.of.steps == 0) return "empty";
    return SilenceOf(summary) > kQuietSeconds ? "interrupted" : "running";
  }

  static void Count(const std::vector<StepFile> &files, TrialSummary *summary) {
    if (files.empty()) return;
    std::set<std::string_view> workers;
    int64_t last = -1;
    for (const StepFile &file : files) {
      workers.insert(file.worker);
      summary->steps += file.step != last ? 1 : 0;
      last = file.step;
    }
    summary->first_step = files.front().step;
    summary->last_step = files.back().step;
    summary->workers = static_cast<int64_t>(workers.size());
  }

  Status ReadConfiguration(storage::Store &store, Summary *summary) const {
    SMD_ASSIGN_OR_RETURN(const auto names, store.List(std::string(format::kCollectionsFolder)));
    for (const std::string &name : names) {
      if (!format::ParseCollectionsFileName(name)) continue;
      SMD_ASSIGN_OR_RETURN(const std::string text, store.ReadText(name));
      summary->configuration = WellFormed(text);
      if (!Shows(kMetadata)) break;
      SMD_ASSIGN_OR_RETURN(const config::CollectionsFile file,
                           config::CollectionsFromJson(text, StrCat(store.Location(), "/", name)));
      JsonWriter json;
      config::WriteMetadata(file.metadata, json);
      summary->metadata = json.Take();
      break;
    }
    return Status::Ok();
  }

  const Request &request_;
  const std::vector<size_t> &columns_;
};

std::string ProblemOf(const Summary &summary) {
  return summary.problem.IsOk() ? summary.of.failure : WellFormed(summary.problem.Message());
}

void WriteColumn(size_t column, const FoundTrial &trial, const Summary &summary, Column *out) {
  switch (column) {
    case kTrial: return out->AddTexts(trial.name);
    case kPath: return out->AddTexts(trial.path);
    case kState: return out->AddTexts(summary.state);
    case kSteps: return out->AddIntegers(summary.of.steps);
    case kFirstStep: return out->AddOptional(summary.of.first_step);
    case kLastStep: return out->AddOptional(summary.of.last_step);
    case kWorkers: return out->AddIntegers(summary.of.workers);
    case kFirstTime: return out->AddOptional(summary.of.first_time);
    case kLastTime: return out->AddOptional(summary.of.last_time);
    case kProblem: return out->AddOptional(ProblemOf(summary));
    case kConfiguration: return out->AddOptional(summary.configuration);
    default: return out->AddOptional(summary.metadata);
  }
}

// The catalogues of the folders that trials were found in.
class Catalogues {
 public:
  Catalogue &Of(const std::string &root) {
    auto &of = of_[root];
    if (of == nullptr) of = std::make_unique<Catalogue>(root);
    return *of;
  }
  // Writes and forgets all but that of `root`, whose trials may follow.
  void KeepOnly(const std::string &root) {
    std::erase_if(of_, [&](const auto &each) { return each.first != root; });
  }

 private:
  std::map<std::string, std::unique_ptr<Catalogue>> of_;
};

class TrialStream final : public TrialByTrial {
 public:
  TrialStream(std::shared_ptr<const Request> request, std::vector<FoundTrial> trials)
      : TrialByTrial(std::move(request), std::move(trials)) {}

 private:
  Status Advance() override {
    const Summarizer summarizer(*request_, columns_);
    std::vector<Summary> summaries(std::min(kTrialsAtOnce, trials_.size() - next_));
    std::vector<Catalogue *> known(summaries.size(), nullptr);
    catalogues_.KeepOnly(trials_[next_].root);
    for (size_t i = 0; i < known.size() && summarizer.IsOfWholeTrials(); ++i) {
      known[i] = &catalogues_.Of(trials_[next_ + i].root);
    }
    InParallel(summaries.size(), LooksAtOnce(trials_[next_].path), [&](size_t i) {
      summaries[i] = summarizer.Summarize(trials_[next_ + i], known[i]);
    });
    for (size_t i = 0; i < summaries.size(); ++i) {
      SMD_RETURN_IF_ERROR(Write(summaries[i], known[i]));
    }
    return Status::Ok();
  }

  Status Write(const Summary &summary, Catalogue *catalogue) {
    const FoundTrial &trial = trials_[next_];
    if (request_->fails_on_damage) SMD_RETURN_IF_ERROR(summary.problem);
    for (size_t i = 0; i < columns_.size(); ++i) {
      WriteColumn(columns_[i], trial, summary, &builder_.At(i));
    }
    builder_.NoteRows(1);
    ++next_;
    const bool is_new = catalogue && summary.is_lasting && summary.problem.IsOk();
    if (is_new) catalogue->Note(trial.path, *summary.end_marker, summary.of);
    return Status::Ok();
  }

  Catalogues catalogues_;
};

}  // namespace

std::unique_ptr<BatchStream> StreamTrials(std::shared_ptr<const Request> request,
                                          std::vector<FoundTrial> trials) {
  return std::make_unique<TrialStream>(std::move(request), std::move(trials));
}

}  // namespace smdebug::tables
