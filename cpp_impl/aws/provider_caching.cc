#include <limits>
#include <new>
#include <optional>

#include "aws/providers.h"
#include "base/fork.h"
#include "base/mutex.h"

namespace smdebug::aws {
namespace {

// Seconds before expiry, as in the libraries of AWS.
constexpr double kOneRefreshes = 15 * 60;
constexpr double kAllWait = 10 * 60;
// Between two attempts while the old credentials are still valid.
constexpr Clock::Duration kPause = std::chrono::seconds(10);

class CachingProvider final : public CredentialsProvider {
 public:
  CachingProvider(ProviderPtr source, Clock &clock) : source_(std::move(source)), clock_(clock) {}

  Result<Credentials> Get() override {
    SMD_RETURN_IF_ERROR(mark_.Check());
    const MutexLock lock(mutex_);
    const double left = SecondsLeft();
    if (left > kOneRefreshes) return *current_;
    if (IsUsable() && clock_.Monotonic() < not_before_) return *current_;
    if (left > kAllWait && is_refreshing_) return *current_;
    if (is_refreshing_) {
      WaitForRefresh();
    } else {
      Refresh();
    }
    if (IsUsable()) return *current_;
    return failure_.IsOk() ? Unusable(current_->source,
                                      "the service refused them right after they were renewed")
                           : failure_;
  }

  void Refuse(const Credentials &refused) override {
    if (!mark_.IsSameProcess()) return;
    {
      const MutexLock lock(mutex_);
      if (!current_ || current_->access_key != refused.access_key ||
          current_->secret_key != refused.secret_key ||
          current_->session_token != refused.session_token) {
        return;
      }
      is_refused_ = true;
    }
    source_->Refuse(refused);
  }

 private:
  // Returns the seconds until the credentials expire; negative if there are none to return.
  double SecondsLeft() const SMD_REQUIRES(mutex_) {
    if (!current_ || is_refused_) return -1;
    if (!current_->expires_at) return std::numeric_limits<double>::infinity();
    return *current_->expires_at - clock_.WallSeconds();
  }

  bool IsUsable() const SMD_REQUIRES(mutex_) {
    if (!current_ || is_refused_) return false;
    return SecondsLeft() > 0 || current_->may_outlive_expiry;
  }

  void WaitForRefresh() SMD_REQUIRES(mutex_) {
    const uint64_t before = refreshes_;
    while (refreshes_ == before) refreshed_.Wait(mutex_);
  }

  void Refresh() SMD_REQUIRES(mutex_) {
    is_refreshing_ = true;
    mutex_.Unlock();
    auto fresh = Ask();
    mutex_.Lock();
    failure_ = fresh.GetStatus();
    if (fresh.IsOk()) {
      current_ = *std::move(fresh);
      is_refused_ = false;
    }
    is_refreshing_ = false;
    ++refreshes_;
    not_before_ = clock_.Monotonic() + kPause;
    refreshed_.NotifyAll();
  }

  // Never throws: threads that wait for this refresh must be notified in any case.
  Result<Credentials> Ask() {
    try {
      auto fresh = source_->Get();
      if (!fresh.IsOk() || !fresh->expires_at || fresh->may_outlive_expiry) return fresh;
      if (*fresh->expires_at > clock_.WallSeconds()) return fresh;
      return Unusable(fresh->source,
                      "returned credentials that have already expired; check this machine's clock");
    } catch (const std::bad_alloc &) {
      return Status(Code::kOutOfMemory, "out of memory while requesting AWS credentials");
    }
  }

  const ProviderPtr source_;
  Clock &clock_;
  const ProcessMark mark_;
  Mutex mutex_;
  CondVar refreshed_;
  std::optional<Credentials> current_ SMD_GUARDED_BY(mutex_);
  Status failure_ SMD_GUARDED_BY(mutex_);  // of the last refresh
  bool is_refused_ SMD_GUARDED_BY(mutex_) = false;
  bool is_refreshing_ SMD_GUARDED_BY(mutex_) = false;
  uint64_t refreshes_ SMD_GUARDED_BY(mutex_) = 0;
  Clock::Duration not_before_ SMD_GUARDED_BY(mutex_) = Clock::Duration::zero();
};

}  // namespace

ProviderPtr MakeCachingProvider(ProviderPtr source, Clock &clock) {
  return std::make_shared<CachingProvider>(std::move(source), clock);
}

}  // namespace smdebug::aws
