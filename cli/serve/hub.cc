#include "serve/hub.h"

#include <algorithm>
#include <limits>
#include <set>

#include "diagnosis_text.h"
#include "finding_json.h"

namespace smdebug::cli::serve {
namespace {

constexpr std::chrono::milliseconds kTick{50};
constexpr std::chrono::milliseconds kBetweenEvents{100};
// Half of what a client costs is the system's call that sends, and each tick looks at all of them.
// So with many clients both are rarer: an event waits for another step, but a step still reaches
// the screen within a quarter of a second.
constexpr std::chrono::milliseconds kTickOfMany{100};
constexpr std::chrono::milliseconds kBetweenEventsOfMany{200};
constexpr size_t kManyClients = 20;
constexpr std::chrono::milliseconds kBetweenLists{1000};
constexpr std::chrono::seconds kHeartbeat{15};
constexpr std::chrono::seconds kBetweenRemoteLooks{2};
constexpr std::chrono::seconds kBetweenWants{5};
constexpr std::chrono::seconds kUntilRetry{5};
constexpr size_t kMostSeries = 64;
constexpr size_t kMostPoints = 500;  // a client reads a longer series by a request
constexpr size_t kMostName = 64;

std::vector<std::string> Fields(const std::string &text) {
  std::vector<std::string> fields;
  size_t begin = 0;
  while (fields.size() < 3) {
    const size_t tab = text.find('\t', begin);
    if (tab == std::string::npos) return {};
    fields.push_back(text.substr(begin, tab - begin));
    begin = tab + 1;
  }
  fields.push_back(text.substr(begin));
  return fields;
}

// Returns true if another job took the place of the one that the client knows.
bool HasBegunAgain(const Cursor::Place &known, int64_t job, int64_t last) {
  const bool is_another = known.job != 0 && job != 0 && known.job != job;
  return is_another || last < known.step;
}

int64_t CountTensors(OpenRun *run) {
  try {
    return static_cast<int64_t>(run->CountTensors());
  } catch (const Error &) {
    return -1;  // the page's own requests say why
  }
}

void StateToJson(const StepTable &steps, const Judge &judge, JsonWriter *json) {
  json->Key("last").Whole(steps.Last());
  json->Key("steps").Whole(static_cast<int64_t>(steps.steps.size()));
  steps.ModesToJson(&json->Key("modes"));
  json->Key("ended").Bool(steps.has_ended).Key("failure").Text(steps.failure);
  json->Key("evaluated").Whole(judge.EvaluatedTo());
  json->Key("count").Whole(static_cast<int64_t>(judge.Count()));
}

}  // namespace

Hub::Hub(Runs &runs) : runs_(runs), thread_([this] { Run(); }) {}

Hub::~Hub() {
  End();
  thread_.join();
}

void Hub::End() {
  const std::lock_guard lock(mutex_);
  ends_ = true;
  for (const auto &client : clients_) client->stream->End();
  has_news_.notify_all();
}

Hub::Client Hub::MakeClient(const Request &request) {
  Client client;
  Asked asked;
  asked.runs = request.Texts("run");
  if (asked.runs.size() > Cursor::kMostRuns) throw BadRequest(400, "At most 16 runs.");
  for (const std::string &text : request.Texts("s")) {
    const std::vector<std::string> fields = Fields(text);
    int64_t run = 0;
    const bool is_valid = fields.size() == 4 && ParseWhole(fields[0], &run) && run >= 0 &&
                          static_cast<size_t>(run) < asked.runs.size();
    if (!is_valid) throw BadRequest(400, "s must be run, worker, measure and tensor, with tabs.");
    asked.series.push_back({static_cast<size_t>(run), {fields[3], fields[1], fields[2]}});
    asked.text += text + '\n';
  }
  for (const std::string &run : asked.runs) asked.text += run + '\n';
  if (asked.series.size() > kMostSeries) throw BadRequest(400, "At most 64 series.");
  client.wants_list = request.Text("list") == "1";
  client.name = request.Text("client").substr(0, kMostName);
  const std::string from =
      request.last_event_id.empty() ? request.Text("from") : request.last_event_id;
  const std::optional<Cursor> cursor = Cursor::Parse(from);
  if (!cursor) throw BadRequest(400, "The cursor is malformed.");
  client.view =
      std::make_shared<View>(View{std::make_shared<Asked>(std::move(asked)), *cursor, {}});
  return client;
}

std::shared_ptr<EventStream> Hub::Add(const Request &request) {
  auto client = std::make_shared<Client>(MakeClient(request));
  for (const std::string &id : client->view->asked->runs) static_cast<void>(runs_.Find(id));
  client->stream = std::make_shared<EventStream>(request);
  const std::lock_guard lock(mutex_);
  if (ends_) throw BadRequest(503, "The server stops.");
  for (const auto &each : clients_) {
    if (!client->name.empty() && each->name == client->name) each->stream->End();
  }
  std::erase_if(clients_, [&](const auto &each) {
    return each->stream->HasGone() || (!client->name.empty() && each->name == client->name);
  });
  if (clients_.size() >= kMostClients) {
    throw BadRequest(503, "Too many clients watch already; close one of them.");
  }
  client->stream->Offer("retry: 1000\n: smdebug\n\n");
  std::shared_ptr<EventStream> stream = client->stream;
  clients_.push_back(std::move(client));
  has_news_.notify_all();
  return stream;
}

size_t Hub::Clients() const {
  const std::lock_guard lock(mutex_);
  return clients_.size();
}

void Hub::Run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (clients_.empty()) {
        watched_.clear();
        has_news_.wait(lock, [this] { return ends_ || !clients_.empty(); });
      } else {
        const auto tick = clients_.size() < kManyClients ? kTick : kTickOfMany;
        has_news_.wait_for(lock, tick, [this] { return ends_; });
      }
      if (ends_) return;
    }
    Tick();
  }
}

void Hub::Tick() {
  ClientList clients;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(clients_, [](const auto &each) { return each->stream->HasGone(); });
    clients = clients_;
  }
  const Clock::time_point now = Clock::now();
  const auto between = clients.size() < kManyClients ? kBetweenEvents : kBetweenEventsOfMany;
  const std::set<std::string> ids = RunsOf(clients);
  std::erase_if(watched_, [&](const auto &each) { return ids.count(each.first) == 0; });
  if (now - wanted_at_ > kBetweenWants && !ids.empty()) {
    runs_.Want({ids.begin(), ids.end()});
    wanted_at_ = now;
  }
  std::erase_if(clients, [&](const auto &each) {
    return now - each->sent_at < between || !each->stream->IsWaiting();
  });
  for (const std::string &id : RunsOf(clients)) Refresh(id);
  events_.clear();
  views_.clear();
  for (const auto &client : clients) Serve(client.get(), now);
}

std::set<std::string> Hub::RunsOf(const ClientList &clients) {
  std::set<const Asked *> all;
  for (const auto &client : clients) all.insert(client->view->asked.get());
  std::set<std::string> runs;
  for (const Asked *asked : all) runs.insert(asked->runs.begin(), asked->runs.end());
  return runs;
}

void Hub::Refresh(const std::string &id) {
  const auto failed = failed_.find(id);
  if (failed != failed_.end() && Clock::now() - failed->second < kUntilRetry) return;
  try {
    const std::shared_ptr<OpenRun> run = runs_.Open(id);
    watched_[id] = run;  // keeps it open
    run->Refresh(run->IsRemote() ? kBetweenRemoteLooks : std::chrono::milliseconds(0));
  } catch (const std::exception &) {
    // The page's own requests say why.
    watched_.erase(id);
    failed_[id] = Clock::now();
  }
}

void Hub::Serve(Client *client, Clock::time_point now) {
  const std::string *made = nullptr;
  try {
    made = &NextEvent(client, now);
  } catch (const std::exception &) {
    events_.erase(client->view);
    return;  // the page's own requests say why
  }
  const std::string &event = *made;
  if (event.empty() && now - client->sent_at < kHeartbeat) return;
  client->sent_at = now;
  client->stream->Offer(event.empty() ? ": alive\n\n" : event);
}

std::string Hub::View::ToText() const {
  std::string text = asked->text + cursor.ToText();
  for (const auto &[run, state] : sent) text.append("\n").append(run).append(" ").append(state);
  return text;
}

// Clients with the same view get one event, made once, and then have the same view again.
const std::string &Hub::NextEvent(Client *client, Clock::time_point now) {
  const auto [made, is_new] = events_.try_emplace(client->view);
  Event &event = made->second;
  if (is_new) {
    View view = *client->view;
    event.text = MakeEvent(client, &view, now);
    event.view = std::make_shared<View>(std::move(view));
    // The list comes at times of the client's own.
    if (!client->wants_list) {
      event.view = views_.try_emplace(event.view->ToText(), event.view).first->second;
    }
  }
  client->view = event.view;
  return event.text;
}

std::string Hub::MakeEvent(Client *client, View *view, Clock::time_point now) {
  JsonWriter json;
  json.BeginObject().Key("runs").BeginArray();
  bool has_news = false;
  for (size_t i = 0; i < view->asked->runs.size(); ++i) {
    has_news = AddRun(view, i, &json) || has_news;
  }
  json.EndArray();
  const auto version = static_cast<int64_t>(runs_.Version());
  const bool has_list = client->wants_list && version != view->cursor.list &&
                        now - client->listed_at >= kBetweenLists;
  if (has_list) {
    json.Key("list").Whole(version);
    view->cursor.list = version;
    client->listed_at = now;
  }
  if (!has_news && !has_list) return "";
  return "id: " + view->cursor.ToText() + "\ndata: " + json.EndObject().Take() + "\n\n";
}

// Returns false if there is nothing new.
bool Hub::AddRun(View *view, size_t index, JsonWriter *json) {
  const Asked &asked = *view->asked;
  const std::string &id = asked.runs[index];
  const auto watched = watched_.find(id);
  if (watched == watched_.end()) return false;
  OpenRun &run = *watched->second;
  const std::shared_ptr<const StepTable> steps = run.Steps();
  const auto [place, is_new] = view->cursor.runs.try_emplace(id);
  if (is_new) place->second.step = steps->Last();
  const auto listed = runs_.FindListed(id);
  if (listed == nullptr) return false;  // it was removed just now
  const int64_t job = listed->row.first_time;
  if (HasBegunAgain(place->second, job, steps->Last())) {
    // The client reads the run anew.
    place->second = {steps->Last(), 0, job};
    json->BeginObject().Key("id").Text(id).Key("again").Bool(true).EndObject();
    return true;
  }
  if (job != 0) place->second.job = job;
  const std::vector<Finding> findings =
      run.GetJudge().Since(static_cast<size_t>(place->second.findings));
  const int64_t evaluated = run.GetJudge().EvaluatedTo();
  const bool grows = steps->Last() > place->second.step;
  const int64_t tensors = CountTensors(&run);  // the page asks for those that are new
  const std::string state = std::to_string(evaluated) + " " + std::to_string(tensors) +
                            (steps->has_ended ? " ended" : "");
  if (!grows && findings.empty() && view->sent[id] == state) return false;
  json->BeginObject().Key("id").Text(id).Key("tensors").Whole(tensors);
  StateToJson(*steps, run.GetJudge(), json);
  if (!findings.empty()) {
    json->Key("findings").BeginArray();
    for (const Finding &finding : findings) ToJson(finding, json);
    cli::ToJson(run.GetJudge().Now().causes, &json->EndArray().Key("causes"));
  }
  if (grows) {
    // Of the new steps, their modes, so that the page knows which line grows.
    json->Key("after").Whole(place->second.step);
    json->Key("series").BeginArray();
    for (size_t i = 0; i < asked.series.size(); ++i) {
      if (asked.series[i].run != index) continue;
      AddSeries(asked, i, run, place->second.step, steps->Last(), json);
    }
    json->EndArray();
  }
  json->EndObject();
  place->second.step = std::max(place->second.step, steps->Last());
  place->second.findings += static_cast<int64_t>(findings.size());
  view->sent[id] = state;
  return true;
}

void Hub::AddSeries(const Asked &asked, size_t index, OpenRun &run, int64_t after, int64_t last,
                    JsonWriter *json) {
  json->BeginObject().Key("s").Whole(static_cast<int64_t>(index));
  try {
    Points points = run.Read(asked.series[index].key, after + 1, last + 1);
    const bool is_too_long = points.steps.size() > kMostPoints;
    json->Key("again").Bool(is_too_long).Key("points");
    ToJson(is_too_long ? Points() : points, json);
  } catch (const std::exception &) {
    // A tensor that was not saved so far has no points.
    json->Key("again").Bool(false).Key("points");
    ToJson(Points(), json);
  }
  json->EndObject();
}

}  // namespace smdebug::cli::serve
