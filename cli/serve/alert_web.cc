#include "exit_code.h"
#include "net/curl_http.h"
#include "net/uri.h"
#include "serve/alerts.h"

namespace smdebug::cli::serve {
namespace {

constexpr std::chrono::seconds kMostTime{10};
constexpr uint64_t kMostAnswer = 64 << 10;

class WebTarget final : public AlertTarget {
 public:
  WebTarget(std::shared_ptr<net::Http> http, std::string url)
      : http_(std::move(http)), url_(std::move(url)) {}

  std::string Send(const Alert &alert) override {
    net::Request request;
    request.method = "POST";
    request.url = url_;
    request.headers = {{"Content-Type", "application/json"}};
    request.body = {AsBytes(alert.json)};
    request.body_limit = kMostAnswer;
    request.timeouts.whole = kMostTime;
    const auto response = http_->Send(std::move(request));
    if (!response.IsOk()) return response.GetStatus().Message();
    const int status = response->status;
    if (status >= 200 && status < 300) return "";
    // The URL may hold a secret.
    return "the server answered with status " + std::to_string(status);
  }

 private:
  const std::shared_ptr<net::Http> http_;
  const std::string url_;
};

}  // namespace

bool IsWebTarget(const std::string &text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

std::unique_ptr<AlertTarget> MakeWebTarget(const std::string &url) {
  const auto uri = net::ParseUri(url);
  if (!uri.IsOk() || uri->has_user_info) {
    throw UsageError("--on-finding: the address is not one of http:// or https:// without a user");
  }
  auto http = net::OpenCurlHttp(net::HttpOptions{});
  if (!http.IsOk()) throw Error(SMD_INVALID_ARGUMENT, http.GetStatus().Message());
  return std::make_unique<WebTarget>(*std::move(http), url);
}

}  // namespace smdebug::cli::serve
