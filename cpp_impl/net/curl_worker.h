// The thread that runs all requests of a client.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "net/curl_transfer.h"

namespace smdebug::net {

// Safe from any thread.  The worker's thread allocates no memory: callers of Submit()
// allocate what it keeps.
class Worker {
 public:
  explicit Worker(uint32_t connections_per_host);
  // Cancels the running requests and stops the thread.
  ~Worker();
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  // Returns a handle to set up, or NULL if there is no memory.
  EasyHandle TakeEasy();
  // Queues a transfer, and starts the thread if it is not running.  `origin` consists of
  // scheme, host and port.
  Status Submit(std::shared_ptr<Transfer> transfer, const std::string &origin);
  // Call it after Transfer::GiveUp().
  void NoticeGivenUp();

 private:
  struct Host;
  struct Entry {
    std::shared_ptr<Transfer> transfer;
    Host *host = nullptr;
    std::list<Entry>::iterator self;  // the entry itself, in the list that holds it
  };
  // Entries move between lists, which needs no memory.
  using Entries = std::list<Entry>;
  struct Host {
    uint32_t active = 0;
    Entries waiting;
  };

  Status StartThread() SMD_REQUIRES(mutex_);
  void PutEasy(EasyHandle easy);

  // Only for the worker's thread:
  void Run();
  bool TakeInbox();
  void Admit(Host &host);
  void Reap();
  void End(Entry &entry, Ending ending, int curl_code);
  void LookAfter(Clock::Duration now);
  void LookAfterWaiting(Clock::Duration now);
  void Sleep(Clock::Duration now);
  void EndAll();

  const uint32_t connections_per_host_;
  void *multi_ = nullptr;  // a CURLM *, created before the thread starts, freed by the thread
  Thread thread_;
  std::atomic<bool> has_given_up_{false};

  // Belong to the worker's thread.
  Entries active_;
  Clock::Duration next_look_{};
  bool is_watching_ = false;

  Mutex mutex_;
  bool has_thread_ SMD_GUARDED_BY(mutex_) = false;
  bool must_stop_ SMD_GUARDED_BY(mutex_) = false;
  Entries inbox_ SMD_GUARDED_BY(mutex_);
  std::map<std::string, Host> hosts_ SMD_GUARDED_BY(mutex_);  // members of Host: the thread's
  std::vector<EasyHandle> idle_ SMD_GUARDED_BY(mutex_);
};

}  // namespace smdebug::net
