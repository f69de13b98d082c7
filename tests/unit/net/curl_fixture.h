// A client and requests for the tests of curl_http.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "net/curl_http.h"
#include "net/loopback_server.h"

namespace smdebug::net {

inline std::shared_ptr<Http> OpenClient(HttpOptions options = {}) {
  auto opened = OpenCurlHttp(std::move(options));
  EXPECT_TRUE(opened.IsOk()) << opened.GetStatus().Message();
  return opened.IsOk() ? *opened : nullptr;
}

inline Request Get(std::string url) {
  Request request;
  request.url = std::move(url);
  request.may_use_proxy = false;
  return request;
}

// `body` must outlive the exchange.
inline Request Put(std::string url, std::string_view body) {
  Request request = Get(std::move(url));
  request.method = "PUT";
  request.body = {AsBytes(body)};
  return request;
}

inline std::string CauseOf(const Status &status) {
  const std::string *cause = status.Detail("cause");
  return cause == nullptr ? "" : *cause;
}

inline std::string Letters(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 1009) % 26);
  return text;
}

}  // namespace smdebug::net
