#include "tables/trial_stream.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/strings.h"
#include "format/paths.h"
#include "storage/store.h"
#include "tables/batch_builder.h"
#include "tables/step_rows.h"

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
};

constexpr size_t kTrialsAtOnce = 256;
constexpr size_t kRequestsAtOnce = 32;
constexpr double kMicroseconds = 1e6;

struct Summary {
  std::string state = "unreadable";
  int64_t steps = 0;
  std::optional<int64_t> first_step;
  std::optional<int64_t> last_step;
  int64_t workers = 0;
  std::optional<double> first_time;
  std::optional<double> last_time;
  std::string configuration;
  Status problem;
};

class Summarizer {
 public:
  Summarizer(const Request &request, const std::vector<size_t> &columns)
      : request_(request), columns_(columns) {}

  Summary Summarize(const FoundTrial &trial) const {
    Summary summary;
    summary.problem = Read(trial, &summary);
    return summary;
  }

 private:
  bool Shows(size_t column) const {
    return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
  }

  Status Read(const FoundTrial &trial, Summary *summary) const {
    SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::Store> store,
                         storage::OpenStore(trial.path, request_.store_options, request_.logger));
    SMD_ASSIGN_OR_RETURN(const std::vector<StepFile> files,
                         ListStepFiles(*store, request_.steps, request_.workers));
    Count(files, summary);
    if (Shows(kState) || Shows(kFirstTime) || Shows(kLastTime)) {
      SMD_RETURN_IF_ERROR(ReadState(*store, files, summary));
    }
    return Shows(kConfiguration) ? ReadConfiguration(*store, summary) : Status::Ok();
  }

  static void Count(const std::vector<StepFile> &files, Summary *summary) {
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

  Status ReadState(storage::Store &store, const std::vector<StepFile> &files,
                   Summary *summary) const {
    if (!files.empty() && Shows(kFirstTime)) {
      SMD_ASSIGN_OR_RETURN(summary->first_time, store.ModifiedAt(files.front().name));
    }
    SMD_ASSIGN_OR_RETURN(const bool has_ended, store.Exists(std::string(format::kEndMarker)));
    if (!files.empty() && (Shows(kLastTime) || !has_ended)) {
      SMD_ASSIGN_OR_RETURN(summary->last_time, store.ModifiedAt(files.back().name));
    }
    if (has_ended) {
      summary->state = "finished";
    } else if (files.empty()) {
      summary->state = "empty";
    } else {
      const double now = Clock::System().WallSeconds();
      const bool is_quiet = summary->last_time && now - *summary->last_time > kQuietSeconds;
      summary->state = is_quiet ? "interrupted" : "running";
    }
    return Status::Ok();
  }

  static Status ReadConfiguration(storage::Store &store, Summary *summary) {
    SMD_ASSIGN_OR_RETURN(const auto names, store.List(std::string(format::kCollectionsFolder)));
    for (const std::string &name : names) {
      if (!format::ParseCollectionsFileName(name)) continue;
      SMD_ASSIGN_OR_RETURN(summary->configuration, store.ReadText(name));
      break;
    }
    return Status::Ok();
  }

  const Request &request_;
  const std::vector<size_t> &columns_;
};

void AddOptional(std::string_view text, Column *column) {
  // A file that is no text is no configuration.
  text.empty() || !column->Fits(text.size()) || !IsUtf8(text) ? column->AddNulls()
                                                              : column->AddTexts(text);
}

void AddOptional(std::optional<int64_t> number, Column *column) {
  number ? column->AddIntegers(*number) : column->AddNulls();
}

void AddTime(std::optional<double> seconds, Column *column) {
  seconds ? column->AddIntegers(static_cast<int64_t>(std::llround(*seconds * kMicroseconds)))
          : column->AddNulls();
}

void WriteColumn(size_t column, const FoundTrial &trial, const Summary &summary, Column *out) {
  switch (column) {
    case kTrial: return out->AddTexts(trial.name);
    case kPath: return out->AddTexts(trial.path);
    case kState: return out->AddTexts(summary.state);
    case kSteps: return out->AddIntegers(summary.steps);
    case kFirstStep: return AddOptional(summary.first_step, out);
    case kLastStep: return AddOptional(summary.last_step, out);
    case kWorkers: return out->AddIntegers(summary.workers);
    case kFirstTime: return AddTime(summary.first_time, out);
    case kLastTime: return AddTime(summary.last_time, out);
    case kProblem: return AddOptional(summary.problem.Message(), out);
    default: return AddOptional(summary.configuration, out);
  }
}

class TrialStream final : public BatchStream {
 public:
  TrialStream(std::shared_ptr<const Request> request, std::vector<FoundTrial> trials)
      : request_(std::move(request)),
        trials_(std::move(trials)),
        columns_(request_->Columns()),
        builder_(*request_) {}

  const std::vector<ColumnSpec> &Schema() const override { return builder_.Schema(); }

  Result<std::optional<Batch>> Next() override {
    const auto most = static_cast<size_t>(request_->batch_rows);
    while (builder_.Rows() < most && next_ < trials_.size()) SMD_RETURN_IF_ERROR(ReadSome());
    if (builder_.Rows() == 0) return std::optional<Batch>();
    return std::optional<Batch>(builder_.Take());
  }

 private:
  Status ReadSome() {
    const bool is_remote = trials_[next_].path.starts_with("s3://");
    std::vector<Summary> summaries(std::min(kTrialsAtOnce, trials_.size() - next_));
    const Summarizer summarizer(*request_, columns_);
    InParallel(summaries.size(), is_remote ? kRequestsAtOnce : 2,
               [&](size_t i) { summaries[i] = summarizer.Summarize(trials_[next_ + i]); });
    for (const Summary &summary : summaries) {
      if (request_->fails_on_damage) SMD_RETURN_IF_ERROR(summary.problem);
      for (size_t i = 0; i < columns_.size(); ++i) {
        WriteColumn(columns_[i], trials_[next_], summary, &builder_.At(i));
      }
      builder_.NoteRows(1);
      ++next_;
    }
    return Status::Ok();
  }

  const std::shared_ptr<const Request> request_;
  const std::vector<FoundTrial> trials_;
  const std::vector<size_t> columns_;
  size_t next_ = 0;
  BatchBuilder builder_;
};

}  // namespace

std::unique_ptr<BatchStream> StreamTrials(std::shared_ptr<const Request> request,
                                          std::vector<FoundTrial> trials) {
  return std::make_unique<TrialStream>(std::move(request), std::move(trials));
}

}  // namespace smdebug::tables
