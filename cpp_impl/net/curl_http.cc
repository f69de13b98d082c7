#include "net/curl_http.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/environment.h"
#include "base/fork.h"
#include "base/strings.h"
#include "net/curl_worker.h"

namespace smdebug::net {
namespace {

// The state that a client and its exchanges share; the last owner destroys it.
class Core {
 public:
  explicit Core(ClientSettings settings)
      : settings_(std::move(settings)),
        worker_(std::make_unique<Worker>(settings_.options.connections_per_host)) {}
  // In a forked child the thread does not exist, its locks may be held forever, and the
  // connections belong to the parent.
  ~Core() {
    if (!mark_.IsSameProcess()) static_cast<void>(worker_.release());
  }
  Core(const Core &) = delete;
  Core &operator=(const Core &) = delete;

  const ProcessMark &Mark() const { return mark_; }

  Result<std::shared_ptr<Transfer>> Submit(Request request) {
    SMD_RETURN_IF_ERROR(mark_.Check());
    SMD_ASSIGN_OR_RETURN(Uri uri, ParseUri(request.url));
    if (uri.has_user_info) {
      return InvalidArgument(StrCat(uri.HostAndPort(), ": the URL contains user info; remove it"));
    }
    const std::string origin = StrCat(uri.scheme, "://", uri.HostAndPort());
    auto transfer = std::make_shared<Transfer>(std::move(request), std::move(uri));
    SMD_RETURN_IF_ERROR(transfer->SetUp(worker_->TakeEasy(), settings_));
    SMD_RETURN_IF_ERROR(worker_->Submit(transfer, origin));
    return transfer;
  }

  void GiveUp(Transfer &transfer) {
    if (transfer.GiveUp()) worker_->NoticeGivenUp();
  }

 private:
  const ProcessMark mark_;
  const ClientSettings settings_;
  std::unique_ptr<Worker> worker_;
};

class CurlExchange final : public Exchange {
 public:
  explicit CurlExchange(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  ~CurlExchange() override {
    if (transfer_ != nullptr && core_->Mark().IsSameProcess()) core_->GiveUp(*transfer_);
  }
  CurlExchange(const CurlExchange &) = delete;
  CurlExchange &operator=(const CurlExchange &) = delete;

  // From here on the memory that the request borrows is accessed.
  void Begin(Request request) {
    auto begun = core_->Submit(std::move(request));
    if (begun.IsOk()) {
      transfer_ = *std::move(begun);
    } else {
      failed_ = begun.GetStatus();
    }
  }

  Result<Response> Wait() override {
    SMD_RETURN_IF_ERROR(core_->Mark().Check());
    SMD_RETURN_IF_ERROR(failed_);
    return transfer_->Wait();
  }

 private:
  const std::shared_ptr<Core> core_;
  std::shared_ptr<Transfer> transfer_;
  Status failed_;
};

class CurlHttp final : public Http {
 public:
  explicit CurlHttp(ClientSettings settings) : core_(std::make_shared<Core>(std::move(settings))) {}

  std::unique_ptr<Exchange> Start(Request request) override {
    auto exchange = std::make_unique<CurlExchange>(core_);
    exchange->Begin(std::move(request));
    return exchange;
  }

 private:
  const std::shared_ptr<Core> core_;
};

std::string FirstOf(std::initializer_list<const char *> names) {
  for (const char *name : names) {
    if (std::optional<std::string> value = Environment(name)) return *std::move(value);
  }
  return "";
}

void ReadProxies(ClientSettings &settings) {
  // In a CGI program, HTTP_PROXY is a header that an HTTP client sent.
  const bool is_cgi = Environment("REQUEST_METHOD").has_value();
  settings.http_proxy = is_cgi ? FirstOf({"http_proxy", "all_proxy", "ALL_PROXY"})
                               : FirstOf({"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"});
  settings.https_proxy = FirstOf({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"});
  settings.no_proxy = FirstOf({"no_proxy", "NO_PROXY"});
}

Status CheckBundle(const std::string &path) {
  if (path.empty()) return Status::Ok();
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return SystemError("opening the CA bundle", path, errno);
  close(file);
  return Status::Ok();
}

// curl_global_init() is thread-safe since the version that the build requires.  It is never
// undone, since the host may use libcurl too.
Status InitialiseCurl() {
  static const CURLcode kCode = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (kCode == CURLE_OK) return Status::Ok();
  return {Code::kInternal, StrCat("libcurl cannot be initialised: ", curl_easy_strerror(kCode))};
}

}  // namespace

Result<std::shared_ptr<Http>> OpenCurlHttp(HttpOptions options) {
  if (!IsHeaderValue(options.user_agent)) {
    return InvalidArgument("the user agent has a control character");
  }
  SMD_RETURN_IF_ERROR(CheckBundle(options.ca_bundle));
  SMD_RETURN_IF_ERROR(InitialiseCurl());
  ClientSettings settings;
  settings.trust =
      options.ca_bundle.empty() ? SystemTrustStore() : TrustStore{options.ca_bundle, ""};
  settings.options = std::move(options);
  ReadProxies(settings);
  return std::shared_ptr<Http>(std::make_shared<CurlHttp>(std::move(settings)));
}

}  // namespace smdebug::net
