#include "tables/tensor_stream.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "base/parallel.h"
#include "base/strings.h"
#include "tables/batch_builder.h"
#include "tables/trial_rows.h"

namespace smdebug::tables {
namespace {

constexpr size_t kMostLanes = 8;
// Small trials are read together.
constexpr size_t kLocalTrials = 16;

// Consecutive trials, which one thread reads into batches.  For one thread at a time.
class Lane {
 public:
  Lane(std::shared_ptr<const Request> request, RowCache *cache, std::span<const FoundTrial> trials)
      : request_(std::move(request)),
        cache_(cache),
        trials_(trials),
        builder_(*request_),
        writers_(*request_, &builder_) {}

  // Reads until a batch is full, or all trials are read.
  void Advance() {
    while (state_.IsOk() && !IsAtEnd() && !builder_.IsFull()) {
      state_ = open_ == nullptr || open_->IsAtEnd() ? OpenNext() : open_->Read(&writers_);
    }
  }
  bool HasRows() const { return builder_.Rows() > 0; }
  Batch Take() { return builder_.Take(); }
  bool IsAtEnd() const {
    return !state_.IsOk() || (next_ == trials_.size() && (open_ == nullptr || open_->IsAtEnd()));
  }
  // The failure that ended it, if any.
  const Status &State() const { return state_; }

 private:
  Status OpenNext() {
    auto opened = TrialRows::Open(request_, cache_, trials_[next_++]);
    if (opened.IsOk()) {
      open_ = *std::move(opened);
      return Status::Ok();
    }
    open_ = nullptr;
    if (request_->fails_on_damage) return opened.GetStatus();
    request_->logger.Warning(StrCat(opened.GetStatus().Message(), "; skipped"));
    return Status::Ok();
  }

  const std::shared_ptr<const Request> request_;
  RowCache *const cache_;
  const std::span<const FoundTrial> trials_;
  size_t next_ = 0;
  BatchBuilder builder_;
  RowWriters writers_;
  std::unique_ptr<TrialRows> open_;
  Status state_;
};

// Reads several lanes at a time, but returns their batches in order: a lane that is not the first
// waits after its first batch.
class TensorStream final : public BatchStream {
 public:
  TensorStream(std::shared_ptr<const Request> request, std::shared_ptr<RowCache> cache,
               std::vector<FoundTrial> trials)
      : request_(std::move(request)),
        cache_(std::move(cache)),
        trials_(std::move(trials)),
        schema_(BatchBuilder(*request_).Schema()) {}

  const std::vector<ColumnSpec> &Schema() const override { return schema_; }

  Result<std::optional<Batch>> Next() override {
    while (true) {
      if (lanes_.empty()) {
        if (next_ == trials_.size()) return std::optional<Batch>();
        Begin();
      }
      Lane &first = *lanes_.front();
      if (!first.HasRows() && !first.IsAtEnd()) first.Advance();
      if (first.HasRows()) return std::optional<Batch>(first.Take());
      SMD_RETURN_IF_ERROR(first.State());
      lanes_.pop_front();
    }
  }

 private:
  void Begin() {
    const bool is_remote = trials_[next_].path.starts_with("s3://");
    const size_t threads = std::max(1U, std::thread::hardware_concurrency());
    const size_t count = is_remote ? kMostLanes : std::min(threads, kMostLanes);
    const size_t of_lane = is_remote ? 1 : kLocalTrials;
    for (size_t i = 0; i < count && next_ < trials_.size(); ++i) {
      const size_t some = std::min(of_lane, trials_.size() - next_);
      lanes_.push_back(
          std::make_unique<Lane>(request_, cache_.get(), std::span(trials_).subspan(next_, some)));
      next_ += some;
    }
    InParallel(lanes_.size(), count, [this](size_t i) { lanes_[i]->Advance(); });
  }

  const std::shared_ptr<const Request> request_;
  const std::shared_ptr<RowCache> cache_;
  const std::vector<FoundTrial> trials_;
  const std::vector<ColumnSpec> schema_;
  size_t next_ = 0;
  std::deque<std::unique_ptr<Lane>> lanes_;
};

}  // namespace

Result<std::unique_ptr<BatchStream>> StreamTensors(std::shared_ptr<const Request> request,
                                                   std::vector<FoundTrial> trials) {
  std::shared_ptr<RowCache> cache;
  if (request->uses_cache) {
    SMD_ASSIGN_OR_RETURN(cache, RowCache::FromEnvironment());
  }
  return std::unique_ptr<BatchStream>(
      std::make_unique<TensorStream>(std::move(request), std::move(cache), std::move(trials)));
}

}  // namespace smdebug::tables
