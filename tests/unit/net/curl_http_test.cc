#include "net/curl_http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "net/curl_fixture.h"

namespace smdebug::net::curl_http_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(CurlHttp, GetsABodyWithItsHeaders) {
  const auto server = LoopbackServer::Answering([](const auto &, const auto &) {
    return Answer(200, "hello", "X-Amz-Request-Id:  R1 \r\nEmpty:\r\nETag: \"e\"\r\n");
  });
  auto response = OpenClient()->Send(Get(server->Url()));
  ASSERT_TRUE(response.IsOk()) << response.GetStatus().Message();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(response->received, 5U);
  ASSERT_NE(response->Find("x-amz-request-id"), nullptr);
  EXPECT_EQ(*response->Find("x-amz-request-id"), "R1");
  EXPECT_EQ(*response->Find("empty"), "");
  EXPECT_EQ(*response->Find("etag"), "\"e\"");
  EXPECT_EQ(response->Find("ETag"), nullptr) << "names are in lower case";
}

TEST(CurlHttp, SendsTheRequestAndLittleElse) {
  std::string seen;
  const auto server = LoopbackServer::Answering([&](const auto &head, const auto &) {
    seen = head;
    return Answer(200, "");
  });
  Request request = Get(server->Url("/a/../b%2Fc//d?x=%20&y"));
  request.headers = {{"X-Amz-Date", "20130524T000000Z"}, {"Host", "bucket.example"}, {"X-No", ""}};
  ASSERT_TRUE(OpenClient({.ca_bundle = "", .user_agent = "tester/1"})->Send(request).IsOk());
  EXPECT_THAT(seen, StartsWith("GET /a/../b%2Fc//d?x=%20&y HTTP/1.1\r\n"));
  EXPECT_EQ(HeaderOf(seen, "host"), "bucket.example");
  EXPECT_EQ(HeaderOf(seen, "user-agent"), "tester/1");
  EXPECT_EQ(HeaderOf(seen, "x-amz-date"), "20130524T000000Z");
  EXPECT_THAT(seen, HasSubstr("X-No:\r\n"));
  EXPECT_THAT(seen, Not(HasSubstr("Accept")));
}

TEST(CurlHttp, PutsABodyFromPieces) {
  std::string head;
  std::string body;
  const auto server = LoopbackServer::Answering([&](const auto &h, const auto &b) {
    head = h;
    body = b;
    return Answer(200, "");
  });
  const std::string large = Letters(3 << 20);
  Request request = Put(server->Url("/k"), "first,");
  request.body = {AsBytes("first,"), {}, AsBytes(large), AsBytes(",last")};
  request.headers = {{"content-length", std::to_string(large.size() + 11)}};
  ASSERT_TRUE(OpenClient()->Send(request).IsOk());
  EXPECT_THAT(head, StartsWith("PUT /k HTTP/1.1\r\n"));
  EXPECT_EQ(BodySize(head), large.size() + 11);
  EXPECT_EQ(HeaderOf(head, "expect"), "");
  EXPECT_EQ(HeaderOf(head, "transfer-encoding"), "");
  EXPECT_TRUE(body == "first," + large + ",last");
}

TEST(CurlHttp, SendsALengthForEmptyBodiesOfPutAndPostOnly) {
  std::vector<std::string> lengths;
  const auto server = LoopbackServer::Answering([&](const auto &head, const auto &) {
    lengths.push_back(StrCat(head.substr(0, head.find(' ')), HeaderOf(head, "content-length")));
    return Answer(204, "");
  });
  const auto client = OpenClient();
  for (const char *method : {"PUT", "POST", "DELETE", "GET"}) {
    Request request = Get(server->Url());
    request.method = method;
    const auto response = client->Send(request);
    ASSERT_TRUE(response.IsOk()) << method;
    EXPECT_EQ(response->status, 204);
  }
  EXPECT_THAT(lengths, ElementsAre("PUT0", "POST0", "DELETE", "GET"));
}

TEST(CurlHttp, FillsTheSinkOfASuccess) {
  const std::string data = Letters(1 << 20);
  const auto server =
      LoopbackServer::Answering([&](const auto &, const auto &) { return Answer(206, data); });
  std::vector<std::byte> content(data.size());
  SpanSink sink(content);
  Request request = Get(server->Url());
  request.sink = &sink;
  request.sink_status = 206;
  const auto response = OpenClient()->Send(request);
  ASSERT_TRUE(response.IsOk()) << response.GetStatus().Message();
  EXPECT_EQ(response->received, data.size());
  EXPECT_EQ(response->body, "");
  EXPECT_TRUE(AsText(content) == data);
}

TEST(CurlHttp, DoesNotUseTheSinkForAnotherStatus) {
  const auto server = LoopbackServer::Answering(
      [](const auto &, const auto &) { return Answer(404, "<Error>much longer</Error>"); });
  std::vector<std::byte> content(4, std::byte{7});
  SpanSink sink(content);
  Request request = Get(server->Url());
  request.sink = &sink;
  const auto response = OpenClient()->Send(request);
  ASSERT_TRUE(response.IsOk());
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "<Error>much longer</Error>");
  EXPECT_EQ(content[0], std::byte{7});
}

TEST(CurlHttp, ReadsChunkedBodiesAndIgnoresTrailers) {
  const auto server = LoopbackServer::Answering([](const auto &, const auto &) {
    return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-late\r\n\r\n"
           "5\r\nhello\r\n6\r\n there\r\n0\r\nx-late: 1\r\n\r\n";
  });
  const auto response = OpenClient()->Send(Get(server->Url()));
  ASSERT_TRUE(response.IsOk()) << response.GetStatus().Message();
  EXPECT_EQ(response->body, "hello there");
  EXPECT_EQ(response->Find("x-late"), nullptr);
}

TEST(CurlHttp, NeverDecompressesABody) {
  const auto server = LoopbackServer::Answering([](const auto &, const auto &) {
    return Answer(200, "not gzip", "Content-Encoding: gzip\r\n");
  });
  const auto response = OpenClient()->Send(Get(server->Url()));
  ASSERT_TRUE(response.IsOk()) << response.GetStatus().Message();
  EXPECT_EQ(response->body, "not gzip");
}

TEST(CurlHttp, ReadsToTheConnectionsEndWithoutALength) {
  LoopbackServer server([](ServerConnection &connection) {
    connection.ReadHead();
    connection.Send("HTTP/1.0 200 OK\r\n\r\nall there is");
  });
  const auto response = OpenClient()->Send(Get(server.Url()));
  ASSERT_TRUE(response.IsOk());
  EXPECT_EQ(response->body, "all there is");
}

TEST(CurlHttp, NeverWaitsForTheBodyOfAHead) {
  const auto server = LoopbackServer::Answering([](const auto &, const auto &) {
    return "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
  });
  const auto client = OpenClient();
  Request request = Get(server->Url());
  request.method = "HEAD";
  for (int i = 0; i < 2; ++i) {
    const auto response = client->Send(request);
    ASSERT_TRUE(response.IsOk()) << response.GetStatus().Message();
    EXPECT_EQ(*response->Find("content-length"), "100000");
    EXPECT_EQ(response->received, 0U);
  }
  EXPECT_EQ(server->Accepted(), 1);
}

TEST(CurlHttp, SkipsInterimResponses) {
  const auto server = LoopbackServer::Answering([](const auto &, const auto &) {
    return "HTTP/1.1 100 Continue\r\nearly: 1\r\n\r\n" + Answer(200, "x", "late: 1\r\n");
  });
  const auto response = OpenClient()->Send(Get(server->Url()));
  ASSERT_TRUE(response.IsOk()) << response.GetStatus().Message();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->Find("early"), nullptr);
  EXPECT_NE(response->Find("late"), nullptr);
}

TEST(CurlHttp, FollowsNoRedirect) {
  std::atomic<int> requests{0};
  const auto server = LoopbackServer::Answering([&](const auto &, const auto &) {
    ++requests;
    return Answer(307, "", "Location: /elsewhere\r\nx-amz-bucket-region: eu-west-1\r\n");
  });
  const auto response = OpenClient()->Send(Get(server->Url()));
  ASSERT_TRUE(response.IsOk());
  EXPECT_EQ(response->status, 307);
  EXPECT_EQ(*response->Find("x-amz-bucket-region"), "eu-west-1");
  EXPECT_EQ(requests, 1);
}

TEST(CurlHttp, KeepsItsConnection) {
  const auto server =
      LoopbackServer::Answering([](const auto &, const auto &body) { return Answer(200, body); });
  const auto client = OpenClient();
  for (int i = 0; i < 20; ++i) {
    const std::string text = Letters(static_cast<size_t>(i) * 997);
    const auto response = client->Send(Put(server->Url(), text));
    ASSERT_TRUE(response.IsOk());
    EXPECT_EQ(response->body, text);
  }
  EXPECT_EQ(server->Accepted(), 1);
}

TEST(CurlHttp, RetriesOverANewConnectionIfAReusedOneIsClosed) {
  LoopbackServer server([](ServerConnection &connection) {
    const std::string head = connection.ReadHead();
    connection.Send(Answer(200, connection.ReadBody(BodySize(head))));
    // Reads the next request but does not answer it.
    connection.ReadBody(1);
  });
  const auto client = OpenClient();
  const std::string body = Letters(100000);
  for (int i = 0; i < 3; ++i) {
    Request request = Put(server.Url(), "");
    request.body = {AsBytes(body).first(50000), AsBytes(body).subspan(50000)};
    const auto response = client->Send(request);
    // The server may reset the connection because of unread bytes, which is an error.
    if (!response.IsOk()) {
      EXPECT_EQ(CauseOf(response.GetStatus()), "reset");
      continue;
    }
    EXPECT_TRUE(response->body == body);
  }
}

// Blocks requests until a given number has arrived.
class Barrier {
 public:
  explicit Barrier(int wanted) : wanted_(wanted) {}
  void Arrive() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (++arrived_ == wanted_) all_are_here_.notify_all();
    all_are_here_.wait_for(lock, std::chrono::seconds(20), [this] { return arrived_ >= wanted_; });
  }

 private:
  const int wanted_;
  int arrived_ = 0;
  std::mutex mutex_;
  std::condition_variable all_are_here_;
};

TEST(CurlHttp, RunsRequestsInParallel) {
  constexpr int kRequests = 32;
  Barrier barrier(kRequests);
  const auto server = LoopbackServer::Answering([&](const auto &, const auto &body) {
    barrier.Arrive();
    return Answer(200, body);
  });
  const auto client = OpenClient();
  std::vector<std::string> bodies;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (int i = 0; i < kRequests; ++i) bodies.push_back(Letters(static_cast<size_t>(i) + 1));
  for (const auto &body : bodies) exchanges.push_back(client->Start(Put(server->Url(), body)));
  for (size_t i = 0; i < kRequests; ++i) {
    const auto response = exchanges[i]->Wait();
    ASSERT_TRUE(response.IsOk()) << response.GetStatus().Message();
    EXPECT_EQ(response->body, bodies[i]);
  }
  EXPECT_EQ(server->Accepted(), kRequests);
}

TEST(CurlHttp, LimitsConnectionsPerHost) {
  const auto server =
      LoopbackServer::Answering([](const auto &, const auto &body) { return Answer(200, body); });
  const auto client = OpenClient({.ca_bundle = "", .connections_per_host = 3});
  const std::string body = Letters(20000);
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (int i = 0; i < 100; ++i) exchanges.push_back(client->Start(Put(server->Url(), body)));
  for (const auto &exchange : exchanges) {
    const auto response = exchange->Wait();
    ASSERT_TRUE(response.IsOk());
    EXPECT_TRUE(response->body == body);
  }
  EXPECT_LE(server->Accepted(), 3);
}

TEST(CurlHttp, ServesManyThreads) {
  const auto server =
      LoopbackServer::Answering([](const auto &, const auto &body) { return Answer(200, body); });
  const auto client = OpenClient();
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const std::string text = Letters(static_cast<size_t>(1000 + t));
      for (int i = 0; i < 25; ++i) {
        const auto response = client->Send(Put(server->Url(), text));
        if (response.IsOk() && response->body == text) ++right;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(right, 200);
}

TEST(CurlHttp, ReturnsAResponseOnce) {
  const auto server =
      LoopbackServer::Answering([](const auto &, const auto &) { return Answer(200, ""); });
  const auto exchange = OpenClient()->Start(Get(server->Url()));
  EXPECT_TRUE(exchange->Wait().IsOk());
  EXPECT_EQ(exchange->Wait().GetStatus().GetCode(), Code::kWrongState);
}

TEST(CurlHttp, UsesTheInitialProxyUnlessForbidden) {
  const auto proxy = LoopbackServer::Answering(
      [](const auto &head, const auto &) { return Answer(200, head.substr(0, head.find('\r'))); });
  const auto server =
      LoopbackServer::Answering([](const auto &, const auto &) { return Answer(200, "direct"); });
  setenv("http_proxy", proxy->Url().c_str(), 1);
  const auto client = OpenClient();
  unsetenv("http_proxy");
  Request request = Get(server->Url("/x"));
  EXPECT_EQ(client->Send(request)->body, "direct");
  request.may_use_proxy = true;
  EXPECT_EQ(client->Send(request)->body, StrCat("GET ", server->Url("/x"), " HTTP/1.1"));
  EXPECT_EQ(OpenClient()->Send(request)->body, "direct");
}

TEST(CurlHttp, HonoursNoProxy) {
  const auto server =
      LoopbackServer::Answering([](const auto &, const auto &) { return Answer(200, "direct"); });
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  setenv("no_proxy", "localhost,127.0.0.1", 1);
  const auto client = OpenClient();
  unsetenv("http_proxy");
  unsetenv("no_proxy");
  Request request = Get(server->Url());
  request.may_use_proxy = true;
  const auto response = client->Send(request);
  ASSERT_TRUE(response.IsOk()) << response.GetStatus().Message();
  EXPECT_EQ(response->body, "direct");
}

}  // namespace
}  // namespace smdebug::net::curl_http_test
