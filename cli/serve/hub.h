// Sends events to the clients that watch runs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
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
  struct Asked {
    std::vector<std::string> runs;
    std::vector<Series> series;
    std::string text;  // of both
  };
  // What a client asked for, and has seen.
  struct View {
    std::shared_ptr<const Asked> asked;
    Cursor cursor;
    std::map<std::string, std::string> sent;  // the state of each run that was sent last

    std::string ToText() const;  // equal for equal views alone
  };
  using ViewPtr = std::shared_ptr<const View>;
  struct Client {
    std::shared_ptr<EventStream> stream;
    std::string name;
    ViewPtr view;  // one of several clients, once they have the same
    bool wants_list = false;
    Clock::time_point sent_at{};
    Clock::time_point listed_at{};
  };
  using ClientList = std::vector<std::shared_ptr<Client>>;
  // An event, and what its clients have seen with it.
  struct Event {
    std::string text;
    ViewPtr view;
  };

  static Client MakeClient(const Request &request);
  void Run();
  void Tick();
  static std::set<std::string> RunsOf(const ClientList &clients);
  void Refresh(const std::string &id);
  void Serve(Client *client, Clock::time_point now);
  // Valid until the next tick.
  const std::string &NextEvent(Client *client, Clock::time_point now);
  std::string MakeEvent(Client *client, View *view, Clock::time_point now);
  bool AddRun(View *view, size_t index, JsonWriter *json);
  void AddSeries(const Asked &asked, size_t index, OpenRun &run, int64_t after, int64_t last,
                 JsonWriter *json);

  Runs &runs_;
  mutable std::mutex mutex_;
  std::condition_variable has_news_;
  ClientList clients_;
  bool ends_ = false;
  std::map<std::string, std::shared_ptr<OpenRun>> watched_;  // of the thread
  std::map<std::string, Clock::time_point> failed_;          // runs that could not be read
  std::map<ViewPtr, Event> events_;                          // of this tick, by who gets them
  std::map<std::string, ViewPtr> views_;                     // of these events, by their texts
  Clock::time_point wanted_at_{};
  std::thread thread_;
};

}  // namespace smdebug::cli::serve
