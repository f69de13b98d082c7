// Sends events to the clients that watch runs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/cursor.h"
#include "serve/event_stream.h"
#include "serve/runs.h"

namespace smdebug::cli::serve {

constexpr size_t kMostClients = 50;

// Any thread.
class Hub {
 public:
  // `runs` must outlive this.  Starts a thread.
  explicit Hub(Runs &runs);
  ~Hub();  // as End()
  Hub(const Hub &) = delete;
  Hub &operator=(const Hub &) = delete;

  // Adds a client.  Its query has: "run", an id, at most 16; "s", a series, at most 64: index of
  // the run, worker, measure and tensor, separated by tabs; "list=1": changes of the list; "from",
  // the cursor to begin at; "client", a text that ends an older stream of the same client.  The
  // header Last-Event-ID precedes "from".  Throws BadRequest: 400, or 503 if there are too many
  // clients.
  std::shared_ptr<EventStream> Add(const Request &request);
  size_t Clients() const;
  // Ends all streams, and refuses further clients.
  void End();

 private:
  using Clock = std::chrono::steady_clock;

  struct Series {
    size_t run;
    CurveKey key;
  };
  struct Client {
    std::shared_ptr<EventStream> stream;
    std::string name;
    std::vector<std::string> runs;
    std::vector<Series> series;
    bool wants_list = false;
    std::string asked;  // the runs and the series, as one text
    Cursor cursor;
    std::map<std::string, std::string> sent;  // the state of each run that was sent last
    Clock::time_point sent_at{};
    Clock::time_point listed_at{};
  };

  // An event, and what its client has seen with it.
  struct Event {
    std::string text;
    Cursor cursor;
    std::map<std::string, std::string> sent;
  };

  static Client MakeClient(const Request &request);
  void Run();
  void Tick();
  void Refresh(const std::string &id);
  void Serve(Client *client, Clock::time_point now);
  std::string NextEvent(Client *client, Clock::time_point now);
  std::string MakeEvent(Client *client, Clock::time_point now);
  bool AddRun(Client *client, size_t index, JsonWriter *json);
  void AddSeries(const Client &client, size_t index, OpenRun &run, int64_t after, int64_t last,
                 JsonWriter *json);

  Runs &runs_;
  mutable std::mutex mutex_;
  std::condition_variable has_news_;
  std::vector<std::shared_ptr<Client>> clients_;
  bool ends_ = false;
  std::map<std::string, std::shared_ptr<OpenRun>> watched_;  // of the thread
  std::map<std::string, Clock::time_point> failed_;          // runs that could not be read
  std::map<std::string, Event> events_;                      // of this tick, by who gets them
  Clock::time_point wanted_at_{};
  Clock::duration between_events_{};
  std::thread thread_;
};

}  // namespace smdebug::cli::serve
