// Failures of requests: codes, causes, and messages without secrets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "net/curl_fixture.h"

namespace smdebug::net::curl_failure_test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Answers each request with these bytes, then closes the connection.
LoopbackServer::Handler Saying(std::string text) {
  return [text = std::move(text)](ServerConnection &connection) {
    connection.ReadHead();
    connection.Send(text);
  };
}

LoopbackServer::Handler Silent() {
  return [](ServerConnection &connection) { connection.WaitForEnd(); };
}

Status Failing(Request request) {
  const auto response = OpenClient()->Send(std::move(request));
  EXPECT_FALSE(response.IsOk());
  return response.GetStatus();
}

void ExpectNetwork(const Status &status, const std::string &cause) {
  EXPECT_EQ(status.GetCode(), Code::kNetwork) << status.Message();
  EXPECT_EQ(CauseOf(status), cause) << status.Message();
}

TEST(CurlFailure, ContainsHostAndPortButNoSecret) {
  std::string url;
  {
    const LoopbackServer server(Silent());
    url = server.Url("/key?X-Amz-Signature=secret");
  }
  Request request = Get(url);
  request.headers = {{"Authorization", "secret"}};
  const Status status = Failing(request);
  ExpectNetwork(status, "connect");
  EXPECT_TRUE(status.IsRetryable());
  EXPECT_THAT(status.Message(), StartsWith(url.substr(7, url.find("/key") - 7)));
  EXPECT_THAT(status.Message(), Not(HasSubstr("secret")));
  EXPECT_THAT(status.Message(), Not(HasSubstr("key")));
}

TEST(CurlFailure, UnknownHost) {
  Request request = Get("http://no-such-host.invalid/");
  const Status status = Failing(request);
  ExpectNetwork(status, "resolve");
  EXPECT_THAT(status.Message(), StartsWith("no-such-host.invalid:80: "));
}

TEST(CurlFailure, ShortBody) {
  const LoopbackServer server(Saying("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
  std::vector<std::byte> content(10);
  SpanSink sink(content);
  Request request = Get(server.Url());
  request.sink = &sink;
  ExpectNetwork(Failing(request), "short_body");
  ExpectNetwork(Failing(Get(server.Url())), "short_body");
}

TEST(CurlFailure, HeadCutShort) {
  for (const char *head : {"HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Le",
                           "HTTP/1.1 206 Partial Content\r\nServer: half\r\n"}) {
    const LoopbackServer server(Saying(head));
    ExpectNetwork(Failing(Get(server.Url())), "short_body");
  }
}

TEST(CurlFailure, ChunkedBodyCutShort) {
  const LoopbackServer server(
      Saying("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"));
  ExpectNetwork(Failing(Get(server.Url())), "short_body");
}

TEST(CurlFailure, MalformedChunkedBody) {
  const LoopbackServer server(
      Saying("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n"));
  ExpectNetwork(Failing(Get(server.Url())), "protocol");
}

TEST(CurlFailure, BodyLongerThanTheSink) {
  const LoopbackServer server(Saying(Answer(200, Letters(100000))));
  std::vector<std::byte> content(99999);
  SpanSink sink(content);
  Request request = Get(server.Url());
  request.sink = &sink;
  EXPECT_EQ(Failing(request).GetCode(), Code::kCorruptData);
}

TEST(CurlFailure, BodyLongerThanItsLimit) {
  const LoopbackServer server(Saying(Answer(500, Letters(1000))));
  Request request = Get(server.Url());
  request.body_limit = 999;
  EXPECT_EQ(Failing(request).GetCode(), Code::kCorruptData);
  request.body_limit = 1000;
  EXPECT_TRUE(OpenClient()->Send(request).IsOk());
}

TEST(CurlFailure, ConnectionReset) {
  const LoopbackServer server([](ServerConnection &connection) {
    connection.ReadHead();
    connection.Reset();
  });
  ExpectNetwork(Failing(Get(server.Url())), "reset");
}

TEST(CurlFailure, ConnectionResetWithinTheBody) {
  const LoopbackServer server([](ServerConnection &connection) {
    connection.ReadHead();
    connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome");
    connection.Reset();
  });
  ExpectNetwork(Failing(Get(server.Url())), "reset");
}

TEST(CurlFailure, NothingAtAll) {
  const LoopbackServer server(Saying(""));
  ExpectNetwork(Failing(Get(server.Url())), "reset");
}

TEST(CurlFailure, Garbage) {
  const LoopbackServer server(Saying("SSH-2.0-OpenSSH_9.2\r\n\r\n"));
  ExpectNetwork(Failing(Get(server.Url())), "protocol");
}

TEST(CurlFailure, LimitsTheNumberOfHeaders) {
  std::string some;
  for (int i = 0; i < 400; ++i) some += StrCat("x-", i, ": y\r\n");
  const LoopbackServer server(Saying(Answer(200, "", some)));
  EXPECT_TRUE(OpenClient()->Send(Get(server.Url())).IsOk());
  const LoopbackServer talker(Saying(Answer(200, "", some + some)));
  ExpectNetwork(Failing(Get(talker.Url())), "protocol");
}

TEST(CurlFailure, LimitsTheSizeOfHeaders) {
  std::string some;
  for (int i = 0; i < 9; ++i) some += StrCat("x-", i, ": ", std::string(8000, 'y'), "\r\n");
  const LoopbackServer server(Saying(Answer(200, "", some)));
  ExpectNetwork(Failing(Get(server.Url())), "protocol");
}

TEST(CurlFailure, EndlessInterimAnswers) {
  const LoopbackServer server([](ServerConnection &connection) {
    connection.ReadHead();
    while (connection.Send("HTTP/1.1 102 Wait\r\n\r\n")) {
    }
  });
  ExpectNetwork(Failing(Get(server.Url())), "protocol");
}

TEST(CurlFailure, NoFirstByte) {
  const LoopbackServer server(Silent());
  const std::string body = Letters(100000);
  for (Request request : {Get(server.Url()), Put(server.Url(), body)}) {
    request.timeouts.first_byte = milliseconds(100);
    const auto began = std::chrono::steady_clock::now();
    const Status status = Failing(request);
    EXPECT_EQ(status.GetCode(), Code::kTimeout) << status.Message();
    EXPECT_EQ(CauseOf(status), "first_byte");
    EXPECT_THAT(status.Message(), HasSubstr("100 ms"));
    EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(100));
  }
}

TEST(CurlFailure, StalledBody) {
  const LoopbackServer server([](ServerConnection &connection) {
    connection.ReadHead();
    connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome");
    connection.WaitForEnd();
  });
  Request request = Get(server.Url());
  request.timeouts.stall = milliseconds(100);
  const Status status = Failing(request);
  EXPECT_EQ(status.GetCode(), Code::kTimeout) << status.Message();
  EXPECT_EQ(CauseOf(status), "stall");
}

TEST(CurlFailure, StalledUpload) {
  std::atomic<bool> is_over{false};
  const LoopbackServer server([&](ServerConnection &connection) {
    connection.ReadHead();
    while (!is_over) std::this_thread::yield();
  });
  const std::string body = Letters(32 << 20);
  Request request = Put(server.Url(), body);
  request.timeouts.stall = milliseconds(100);
  const Status status = Failing(request);
  is_over = true;
  EXPECT_EQ(CauseOf(status), "stall") << status.Message();
}

TEST(CurlFailure, ASlowUploadSucceeds) {
  const LoopbackServer server([](ServerConnection &connection) {
    connection.KeepBufferSmall();
    const std::string head = connection.ReadHead();
    for (size_t read = 0; read < BodySize(head); read += 32768) {
      connection.ReadBody(32768);
      std::this_thread::sleep_for(milliseconds(10));
    }
    connection.Send(Answer(200, ""));
  });
  const std::string body = Letters(64 * 32768);
  Request request = Put(server.Url(), body);
  request.timeouts.first_byte = milliseconds(400);
  const auto response = OpenClient()->Send(request);
  EXPECT_TRUE(response.IsOk()) << response.GetStatus().Message();
}

TEST(CurlFailure, SlowButSteadyBodiesPass) {
  const LoopbackServer server([](ServerConnection &connection) {
    connection.ReadHead();
    connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 6000\r\n\r\n");
    for (int i = 0; i < 60; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
      connection.Send(std::string(100, 'x'));
    }
  });
  Request request = Get(server.Url());
  request.timeouts.stall = milliseconds(400);
  const auto response = OpenClient()->Send(request);
  EXPECT_TRUE(response.IsOk()) << response.GetStatus().Message();
}

TEST(CurlFailure, WholeTimeIncludesTheQueue) {
  const LoopbackServer server(Silent());
  const auto client = OpenClient({.ca_bundle = "", .connections_per_host = 1});
  const auto first = client->Start(Get(server.Url()));
  Request request = Get(server.Url());
  request.timeouts.whole = milliseconds(50);
  const auto second = client->Start(request)->Wait();
  EXPECT_EQ(CauseOf(second.GetStatus()), "whole");
  EXPECT_LE(server.Accepted(), 1);
}

TEST(CurlFailure, AFailureDoesNotAffectOtherRequests) {
  const auto server = LoopbackServer::Answering([](const auto &head, const auto &) {
    return head.starts_with("GET /bad") ? "garbage\r\n\r\n" : Answer(200, "good");
  });
  const auto client = OpenClient();
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (int i = 0; i < 40; ++i) {
    exchanges.push_back(client->Start(Get(server->Url(i % 2 == 0 ? "/bad" : "/good"))));
  }
  for (size_t i = 0; i < exchanges.size(); ++i) {
    EXPECT_EQ(exchanges[i]->Wait().IsOk(), i % 2 == 1) << i;
  }
}

TEST(CurlFailure, AnAnswerBeforeTheBodysEndCounts) {
  const LoopbackServer server([](ServerConnection &connection) {
    connection.ReadHead();
    connection.Send(Answer(403, "no", "Connection: close\r\n"));
    connection.WaitForEnd();
  });
  const std::string body = Letters(32 << 20);
  const auto response = OpenClient()->Send(Put(server.Url(), body));
  ASSERT_TRUE(response.IsOk()) << response.GetStatus().Message();
  EXPECT_EQ(response->status, 403);
  EXPECT_EQ(response->body, "no");
}

TEST(CurlFailure, ARefusingProxy) {
  const auto proxy =
      LoopbackServer::Answering([](const auto &, const auto &) { return Answer(407, ""); });
  setenv("https_proxy", proxy->Url().c_str(), 1);
  const auto client = OpenClient();
  unsetenv("https_proxy");
  Request request = Get("https://s3.example/");
  request.may_use_proxy = true;
  ExpectNetwork(client->Send(request).GetStatus(), "proxy");
}

TEST(CurlFailure, RefusesInvalidRequests) {
  const auto refused = [](const Request &request) {
    const Status status = Failing(request);
    EXPECT_THAT(status.Message(), Not(HasSubstr("secret")));
    return status.GetCode() == Code::kInvalidArgument;
  };
  const std::string good = "http://127.0.0.1:1/";
  for (const char *url :
       {"", "ftp://a/", "http://u:secret@a/", "http://a/\r\nsecret", "http://a/ "}) {
    EXPECT_TRUE(refused(Get(url))) << url;
  }
  for (const Header &header : std::vector<Header>{{"x", "secret\r\ny: z"},
                                                  {"x y", "secret"},
                                                  {"", "secret"},
                                                  {"x:", "secret"},
                                                  {"x", std::string("secret\0", 7)},
                                                  {"Content-Length", "5"},
                                                  {"transfer-encoding", "chunked"}}) {
    Request request = Get(good);
    request.headers = {header};
    EXPECT_TRUE(refused(request)) << header.name;
  }
  Request request = Get(good);
  request.method = "GET /x";
  EXPECT_TRUE(refused(request));
}

TEST(CurlFailure, MissingBundle) {
  const auto opened = OpenCurlHttp({.ca_bundle = "/no/such/bundle.pem"});
  EXPECT_EQ(opened.GetStatus().GetCode(), Code::kNotFound);
  EXPECT_THAT(opened.GetStatus().Message(), StartsWith("/no/such/bundle.pem: "));
}

}  // namespace
}  // namespace smdebug::net::curl_failure_test
