#include "net/curl_worker.h"

#include <curl/curl.h>
#include <poll.h>

#include <algorithm>

namespace smdebug::net {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMaxIdleHandles = 128;
// The longest sleep, so that a lost wake-up does not delay a request or the client's end for
// longer.
constexpr int kIdleMilliseconds = 1000;
constexpr int kPauseMilliseconds = 10;
constexpr Clock::Duration kLongestPatience = milliseconds(100);
// Keeps the connections of one busy host, and this many for others.
constexpr long kFurtherConnections = 32;

CURLM *AsMulti(void *multi) { return static_cast<CURLM *>(multi); }
CURL *AsEasy(void *easy) { return static_cast<CURL *>(easy); }

}  // namespace

Worker::Worker(uint32_t connections_per_host)
    : connections_per_host_(std::max(connections_per_host, 1U)) {
  idle_.reserve(kMaxIdleHandles);
}

Worker::~Worker() {
  {
    // Wakes the thread under the lock: once it sees must_stop_, it frees multi_.
    const MutexLock lock(mutex_);
    must_stop_ = true;
    if (has_thread_) curl_multi_wakeup(AsMulti(multi_));
  }
  thread_.Join();
  curl_multi_cleanup(AsMulti(multi_));
}

EasyHandle Worker::TakeEasy() {
  {
    const MutexLock lock(mutex_);
    if (!idle_.empty()) {
      EasyHandle easy = std::move(idle_.back());
      idle_.pop_back();
      return easy;
    }
  }
  return EasyHandle(curl_easy_init());
}

void Worker::PutEasy(EasyHandle easy) {
  curl_easy_reset(AsEasy(easy.get()));
  const MutexLock lock(mutex_);
  if (idle_.size() < kMaxIdleHandles) idle_.push_back(std::move(easy));
}

Status Worker::StartThread() {
  if (has_thread_) return Status::Ok();
  if (multi_ == nullptr) multi_ = curl_multi_init();
  if (multi_ == nullptr) return {Code::kOutOfMemory, "no memory for an HTTP client"};
  // Without its wake-up descriptor, libcurl works but would sleep through every request.
  if (curl_multi_wakeup(AsMulti(multi_)) != CURLM_OK) {
    curl_multi_cleanup(AsMulti(multi_));
    multi_ = nullptr;
    return {Code::kIo, "no file descriptors for an HTTP client; check the limit of open files"};
  }
  curl_multi_setopt(AsMulti(multi_), CURLMOPT_PIPELINING, long{CURLPIPE_NOTHING});
  curl_multi_setopt(AsMulti(multi_), CURLMOPT_MAXCONNECTS,
                    static_cast<long>(connections_per_host_) + kFurtherConnections);
  SMD_RETURN_IF_ERROR(thread_.Start("smdebug-http", [this] { Run(); }));
  has_thread_ = true;
  return Status::Ok();
}

Status Worker::Submit(std::shared_ptr<Transfer> transfer, const std::string &origin) {
  Entries one;
  one.push_back({std::move(transfer), nullptr, {}});
  one.front().self = one.begin();
  {
    const MutexLock lock(mutex_);
    one.front().host = &hosts_[origin];
    SMD_RETURN_IF_ERROR(StartThread());
    const bool is_awake = !inbox_.empty();
    inbox_.splice(inbox_.end(), one);
    if (is_awake) return Status::Ok();
  }
  curl_multi_wakeup(AsMulti(multi_));
  return Status::Ok();
}

void Worker::NoticeGivenUp() {
  has_given_up_ = true;
  curl_multi_wakeup(AsMulti(multi_));
}

void Worker::Run() {
  while (TakeInbox()) {
    int running = 0;
    curl_multi_perform(AsMulti(multi_), &running);
    Reap();
    const Clock::Duration now = Clock::System().Monotonic();
    const bool is_time = is_watching_ && now >= next_look_;
    if (has_given_up_.exchange(false) || is_time) LookAfter(now);
    Sleep(now);
  }
  EndAll();
  // Freed here and not in the owner's thread, where closing a connection could raise SIGPIPE.
  curl_multi_cleanup(AsMulti(multi_));
  multi_ = nullptr;
}

bool Worker::TakeInbox() {
  Entries arrived;
  {
    const MutexLock lock(mutex_);
    if (must_stop_) return false;
    arrived.swap(inbox_);
  }
  while (!arrived.empty()) {
    Host &host = *arrived.front().host;
    host.waiting.splice(host.waiting.end(), arrived, arrived.begin());
    Admit(host);
  }
  return true;
}

void Worker::Admit(Host &host) {
  while (host.active < connections_per_host_ && !host.waiting.empty()) {
    Entry &entry = host.waiting.front();
    Transfer &transfer = *entry.transfer;
    active_.splice(active_.end(), host.waiting, entry.self);
    ++host.active;
    const Clock::Duration look = Clock::System().Monotonic() + transfer.Patience();
    next_look_ = is_watching_ ? std::min(next_look_, look) : look;
    is_watching_ = true;
    curl_easy_setopt(AsEasy(transfer.Easy()), CURLOPT_PRIVATE, &entry);
    const CURLMcode code = curl_multi_add_handle(AsMulti(multi_), AsEasy(transfer.Easy()));
    if (code != CURLM_OK) End(entry, Ending::kNoMemory, CURLE_OUT_OF_MEMORY);
  }
}

void Worker::Reap() {
  int left = 0;
  while (const CURLMsg *message = curl_multi_info_read(AsMulti(multi_), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    Entry *entry = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &entry);
    Host &host = *entry->host;
    End(*entry, Ending::kCurl, code);
    Admit(host);
  }
}

void Worker::End(Entry &entry, Ending ending, int curl_code) {
  Host &host = *entry.host;
  Entries ended;
  ended.splice(ended.end(), active_, entry.self);
  EasyHandle easy = entry.transfer->TakeEasy(ending, curl_code);
  curl_multi_remove_handle(AsMulti(multi_), AsEasy(easy.get()));
  // After a failure, a handle may not accept options any more.
  if (ending == Ending::kCurl && curl_code == CURLE_OK) PutEasy(std::move(easy));
  --host.active;
  entry.transfer->Finish();
}

void Worker::LookAfter(Clock::Duration now) {
  LookAfterWaiting(now);
  Clock::Duration patience = kLongestPatience;
  for (auto at = active_.begin(); at != active_.end();) {
    Entry &entry = *at++;
    std::optional<Ending> ending = entry.transfer->Overdue(now);
    if (entry.transfer->IsGivenUp()) ending = Ending::kGivenUp;
    patience = std::min(patience, entry.transfer->Patience());
    if (!ending) continue;
    Host &host = *entry.host;
    End(entry, *ending, CURLE_OK);
    Admit(host);
  }
  is_watching_ = !active_.empty();
  next_look_ = now + patience;
}

void Worker::LookAfterWaiting(Clock::Duration now) {
  const MutexLock lock(mutex_);
  for (auto &[origin, host] : hosts_) {
    for (auto at = host.waiting.begin(); at != host.waiting.end();) {
      Transfer &transfer = *at->transfer;
      std::optional<Ending> ending = transfer.Overdue(now);
      if (transfer.IsGivenUp()) ending = Ending::kGivenUp;
      if (!ending) {
        ++at;
        continue;
      }
      transfer.TakeEasy(*ending, CURLE_OK).reset();
      transfer.Finish();
      at = host.waiting.erase(at);
    }
  }
}

void Worker::Sleep(Clock::Duration now) {
  int time = kIdleMilliseconds;
  if (is_watching_) {
    const auto left = std::chrono::ceil<milliseconds>(next_look_ - now).count();
    time = static_cast<int>(std::clamp<int64_t>(left, 0, kIdleMilliseconds));
  }
  const CURLMcode code = curl_multi_poll(AsMulti(multi_), nullptr, 0, time, nullptr);
  // Polling failed because there is no memory.  Without a pause the thread would spin.
  if (code != CURLM_OK) poll(nullptr, 0, kPauseMilliseconds);
}

void Worker::EndAll() {
  const MutexLock lock(mutex_);
  for (auto &[origin, host] : hosts_) inbox_.splice(inbox_.end(), host.waiting);
  for (Entry &entry : active_) {
    curl_multi_remove_handle(AsMulti(multi_), AsEasy(entry.transfer->Easy()));
  }
  inbox_.splice(inbox_.end(), active_);
  for (Entry &entry : inbox_) {
    entry.transfer->TakeEasy(Ending::kGivenUp, CURLE_OK).reset();
    entry.transfer->Finish();
  }
  inbox_.clear();
}

}  // namespace smdebug::net
