// Destroys exchanges, clients and processes in every order.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <condition_variable>
#include <vector>

#include "net/curl_fixture.h"

namespace smdebug::net::curl_life_test {
namespace {

class Event {
 public:
  void Set() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }
  bool Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [this] { return is_set_; });
  }

 private:
  bool is_set_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

TEST(CurlLife, ACancelledExchangeClosesItsConnection) {
  Event has_arrived;
  Event has_ended;
  const LoopbackServer server([&](ServerConnection &connection) {
    connection.ReadHead();
    has_arrived.Set();
    connection.WaitForEnd();
    has_ended.Set();
  });
  const auto client = OpenClient();
  auto exchange = client->Start(Get(server.Url()));
  ASSERT_TRUE(has_arrived.Wait());
  exchange.reset();
  EXPECT_TRUE(has_ended.Wait());
}

TEST(CurlLife, BorrowedMemoryIsNotAccessedAfterCancelling) {
  const LoopbackServer server([](ServerConnection &connection) {
    connection.ReadHead();
    connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
    while (connection.Send(Letters(100000))) {
    }
  });
  const auto client = OpenClient();
  for (int i = 0; i < 20; ++i) {
    auto content = std::make_unique<std::vector<std::byte>>(1000000000 / 100);
    auto sink = std::make_unique<SpanSink>(*content);
    auto body = std::make_unique<std::string>(Letters(100000));
    Request request = Put(server.Url(), *body);
    request.sink = sink.get();
    const auto exchange = client->Start(request);
    std::this_thread::sleep_for(std::chrono::microseconds(300 * i));
  }
}

TEST(CurlLife, CancellingAQueuedExchangeFreesNoOtherSlot) {
  Event may_answer;
  const auto server = LoopbackServer::Answering([&](const auto &, const auto &) {
    may_answer.Wait();
    return Answer(200, "x");
  });
  const auto client = OpenClient({.ca_bundle = "", .connections_per_host = 1});
  const auto first = client->Start(Get(server->Url()));
  auto second = client->Start(Get(server->Url()));
  const auto third = client->Start(Get(server->Url()));
  second.reset();
  may_answer.Set();
  EXPECT_TRUE(first->Wait().IsOk());
  EXPECT_TRUE(third->Wait().IsOk());
  EXPECT_EQ(server->Accepted(), 1);
}

TEST(CurlLife, ExchangesOutliveTheirClient) {
  Event may_answer;
  const auto server = LoopbackServer::Answering([&](const auto &, const auto &) {
    may_answer.Wait();
    return Answer(200, "x");
  });
  auto client = OpenClient();
  auto first = client->Start(Get(server->Url()));
  auto second = client->Start(Get(server->Url()));
  auto third = client->Start(Get(server->Url()));
  client.reset();
  second.reset();
  may_answer.Set();
  EXPECT_TRUE(first->Wait().IsOk());
  first.reset();
  EXPECT_TRUE(third->Wait().IsOk());
}

TEST(CurlLife, EverythingMayEndTogether) {
  const LoopbackServer server([](ServerConnection &connection) { connection.WaitForEnd(); });
  for (int i = 0; i < 10; ++i) {
    const auto client = OpenClient();
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (int k = 0; k < 50; ++k) exchanges.push_back(client->Start(Get(server.Url())));
  }
}

TEST(CurlLife, AClientWithoutRequestsHasNoThread) { EXPECT_NE(OpenClient(), nullptr); }

// Returns the result of `body` in a child of this process.
int InChild(const std::function<int()> &body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by a signal";
  return WEXITSTATUS(status);
}

TEST(CurlLife, AChildIsRefusedAndTheParentContinues) {
  Event may_answer;
  std::atomic<int> requests{0};
  const auto server = LoopbackServer::Answering([&](const auto &head, const auto &) {
    ++requests;
    if (head.starts_with("GET /slow")) may_answer.Wait();
    return Answer(200, "x");
  });
  auto client = OpenClient();
  EXPECT_TRUE(client->Send(Get(server->Url())).IsOk());
  auto open = client->Start(Get(server->Url("/slow")));
  const int failed = InChild([&] {
    if (client->Send(Get(server->Url())).GetStatus().GetCode() != Code::kAfterFork) return 1;
    if (open->Wait().GetStatus().GetCode() != Code::kAfterFork) return 2;
    open.reset();
    client.reset();
    return 0;
  });
  EXPECT_EQ(failed, 0);
  may_answer.Set();
  EXPECT_TRUE(open->Wait().IsOk());
  EXPECT_TRUE(client->Send(Get(server->Url())).IsOk());
  EXPECT_EQ(requests, 3);
}

TEST(CurlLife, ManyForksAmidRequests) {
  const auto server =
      LoopbackServer::Answering([](const auto &, const auto &body) { return Answer(200, body); });
  auto client = OpenClient();
  const std::string body = Letters(50000);
  for (int i = 0; i < 10; ++i) {
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (int k = 0; k < 20; ++k) exchanges.push_back(client->Start(Put(server->Url(), body)));
    EXPECT_EQ(InChild([&] {
                exchanges.clear();
                client.reset();
                return 0;
              }),
              0);
    for (const auto &exchange : exchanges) EXPECT_TRUE(exchange->Wait().IsOk());
  }
}

}  // namespace
}  // namespace smdebug::net::curl_life_test
