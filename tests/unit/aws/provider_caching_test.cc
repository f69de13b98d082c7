#include <thread>

#include "aws/provider_fixture.h"

namespace smdebug::aws::provider_caching_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

// Returns key 1, 2, ..., each valid for an hour, or fails.
class Source final : public CredentialsProvider {
 public:
  explicit Source(Clock &clock) : clock_(clock) {}

  Result<Credentials> Get() override {
    ++calls;
    if (on_get) on_get();
    if (!failure.IsOk()) return failure;
    Credentials credentials{"K" + std::to_string(calls), "S", "T"};
    if (lifetime > 0) credentials.expires_at = clock_.WallSeconds() + lifetime;
    if (lifetime < 0) credentials.expires_at = 1;
    credentials.may_outlive_expiry = may_outlive_expiry;
    credentials.source = "source";
    return credentials;
  }
  void Refuse(const Credentials &) override { ++refusals; }

  std::function<void()> on_get;
  Status failure;
  std::atomic<int> calls{0};
  int refusals = 0;
  double lifetime = 3600;  // seconds; 0: forever; negative: expired
  bool may_outlive_expiry = false;

 private:
  Clock &clock_;
};

class ProviderCachingTest : public ProviderFixture {
 protected:
  std::string Key() {
    const auto found = cache_->Get();
    return found.IsOk() ? found->access_key : found.GetStatus().Message();
  }

  std::shared_ptr<Source> source_ = std::make_shared<Source>(clock_);
  const ProviderPtr cache_ = MakeCachingProvider(source_, clock_);
};

TEST_F(ProviderCachingTest, AsksOnceUntilFifteenMinutesBefore) {
  EXPECT_EQ(source_->calls, 0);
  EXPECT_EQ(Key(), "K1");
  clock_.Pass(minutes(44));
  EXPECT_EQ(Key(), "K1");
  clock_.Pass(minutes(1));
  EXPECT_EQ(Key(), "K2");
  EXPECT_EQ(Key(), "K2");
}

TEST_F(ProviderCachingTest, KeysWithoutExpiryAreKept) {
  source_->lifetime = 0;
  EXPECT_EQ(Key(), "K1");
  clock_.Pass(std::chrono::hours(10'000));
  EXPECT_EQ(Key(), "K1");
}

TEST_F(ProviderCachingTest, ARefusalForcesOneRefresh) {
  source_->lifetime = 0;
  const Credentials first = *cache_->Get();
  cache_->Refuse(first);
  EXPECT_EQ(source_->refusals, 1);
  EXPECT_EQ(Key(), "K2");
  cache_->Refuse(first);  // a late refusal from another thread
  EXPECT_EQ(Key(), "K2");
  EXPECT_EQ(source_->calls, 2);
}

TEST_F(ProviderCachingTest, DoesNotReturnRefusedCredentialsAgain) {
  source_->lifetime = 0;
  cache_->Refuse(*cache_->Get());
  source_->failure = Status(Code::kCredentials, "no more");
  EXPECT_EQ(Key(), "no more");
  source_->failure = Status::Ok();
  EXPECT_EQ(Key(), "K3");
}

TEST_F(ProviderCachingTest, AFailedRefreshKeepsValidCredentials) {
  EXPECT_EQ(Key(), "K1");
  source_->failure = Status(Code::kCredentials, "down");
  clock_.Pass(minutes(50));
  EXPECT_EQ(Key(), "K1");
  EXPECT_EQ(source_->calls, 2);
  EXPECT_EQ(Key(), "K1");
  EXPECT_EQ(source_->calls, 2) << "not retried immediately";
  clock_.Pass(seconds(11));
  EXPECT_EQ(Key(), "K1");
  EXPECT_EQ(source_->calls, 3);
  clock_.Pass(minutes(10));
  EXPECT_EQ(Key(), "down");
  source_->failure = Status::Ok();
  EXPECT_EQ(Key(), "K5");
}

TEST_F(ProviderCachingTest, CredentialsOfTheMachineOutliveTheirExpiry) {
  source_->may_outlive_expiry = true;
  EXPECT_EQ(Key(), "K1");
  source_->failure = Status(Code::kNotFound, "down");
  clock_.Pass(minutes(500));
  EXPECT_EQ(Key(), "K1");
  source_->failure = Status::Ok();
  source_->lifetime = -1;  // available, but cannot renew
  clock_.Pass(seconds(11));
  EXPECT_EQ(Key(), "K3");
  EXPECT_EQ(Key(), "K3");
}

TEST_F(ProviderCachingTest, RefusesOtherCredentialsThatAreAlreadyExpired) {
  source_->lifetime = -1;
  EXPECT_THAT(Key(), HasSubstr("source: returned credentials that have already expired"));
}

TEST_F(ProviderCachingTest, CachesShortLivedCredentials) {
  source_->lifetime = 300;
  EXPECT_EQ(Key(), "K1");
  EXPECT_EQ(Key(), "K1");
  clock_.Pass(seconds(11));
  EXPECT_EQ(Key(), "K2");
}

TEST_F(ProviderCachingTest, DoesNotCacheTheFirstFailure) {
  source_->failure = Status(Code::kCredentials, "none");
  EXPECT_EQ(Key(), "none");
  source_->failure = Status::Ok();
  EXPECT_EQ(Key(), "K2");
}

TEST_F(ProviderCachingTest, OneThreadRefreshesWhileOthersContinue) {
  EXPECT_EQ(Key(), "K1");
  clock_.Pass(minutes(46));
  std::string meanwhile;
  source_->on_get = [&] {
    source_->on_get = nullptr;
    meanwhile = Key();
  };
  EXPECT_EQ(Key(), "K2");
  EXPECT_EQ(meanwhile, "K1");
}

TEST_F(ProviderCachingTest, NearExpiryAllThreadsWaitForOneRefresh) {
  EXPECT_EQ(Key(), "K1");
  clock_.Pass(minutes(55));
  constexpr int kThreads = 8;
  std::atomic<int> begun{0};
  source_->on_get = [&] {
    while (begun < kThreads) std::this_thread::yield();
  };
  std::vector<std::thread> threads;
  std::vector<std::string> keys(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      ++begun;
      keys[static_cast<size_t>(i)] = Key();
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_THAT(keys, testing::Each("K2"));
  EXPECT_EQ(source_->calls, 2);
}

TEST_F(ProviderCachingTest, OutOfMemoryLeavesNoThreadWaiting) {
  source_->on_get = [] { throw std::bad_alloc(); };
  EXPECT_EQ(CodeOf(cache_->Get()), Code::kOutOfMemory);
  source_->on_get = nullptr;
  EXPECT_EQ(Key(), "K2");
}

}  // namespace
}  // namespace smdebug::aws::provider_caching_test
