// Implements HTTP with a function instead of a network.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "net/http.h"

namespace smdebug::aws {

// A request that was sent.
struct SentRequest {
  std::string method;
  std::string url;
  std::vector<net::Header> headers;
  std::string body;
  bool may_use_proxy = true;

  std::string Header(std::string_view name) const {
    for (const net::Header &header : headers) {
      if (header.name == name) return header.value;
    }
    return "(none)";
  }
};

inline net::Response Answer(int status, std::string body = "") {
  net::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

inline Status NobodyThere() {
  return Status(Code::kNetwork, "h:80: connecting failed").With("cause", "connect");
}

// Safe from any thread.
class FakeHttp final : public net::Http {
 public:
  using Handler = std::function<Result<net::Response>(const SentRequest &)>;

  explicit FakeHttp(Handler handler) : handler_(std::move(handler)) {}

  std::unique_ptr<net::Exchange> Start(net::Request request) override {
    SentRequest sent{request.method, request.url, request.headers, "", request.may_use_proxy};
    for (const ByteSpan &piece : request.body) sent.body.append(AsText(piece));
    {
      const MutexLock lock(mutex_);
      sent_.push_back(sent);
    }
    return std::make_unique<FakeExchange>(handler_(sent));
  }

  std::vector<SentRequest> Sent() const {
    const MutexLock lock(mutex_);
    return sent_;
  }

 private:
  class FakeExchange final : public net::Exchange {
   public:
    explicit FakeExchange(Result<net::Response> result) : result_(std::move(result)) {}
    Result<net::Response> Wait() override { return result_; }

   private:
    Result<net::Response> result_;
  };

  const Handler handler_;
  mutable Mutex mutex_;
  std::vector<SentRequest> sent_;
};

}  // namespace smdebug::aws
