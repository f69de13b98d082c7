// Sets the options of a request in libcurl.
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/strings.h"
#include "net/curl_transfer.h"

namespace smdebug::net {
namespace {

constexpr uint64_t kSmallBuffer = 16384;
// Large enough that system calls cost little, small enough for the second-level cache.
constexpr uint64_t kLargeBuffer = 262144;
constexpr int kMaxUnsent = 131072;

// Sets options until one fails.
class Setter {
 public:
  explicit Setter(void *easy) : easy_(static_cast<CURL *>(easy)) {}

  template <class Value>
  Setter &Set(CURLoption option, Value value) {
    if (code_ == CURLE_OK) code_ = curl_easy_setopt(easy_, option, value);
    return *this;
  }
  int Code() const { return code_; }

 private:
  CURL *easy_;
  CURLcode code_ = CURLE_OK;
};

// Limits the unsent data in the kernel's buffer.  Without it the kernel accepts megabytes at
// once, and over a slow line the time to send them would count as the server's delay.
int LimitUnsent(void *, curl_socket_t socket, curlsocktype) noexcept {
  setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMaxUnsent, sizeof kMaxUnsent);
  return CURL_SOCKOPT_OK;
}

Status NoMemory() { return {Code::kOutOfMemory, "no memory for an HTTP request"}; }

bool IsTokenCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

Status Append(HeaderList &list, const std::string &line) {
  curl_slist *longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) return NoMemory();
  static_cast<void>(list.release());
  list.reset(longer);
  return Status::Ok();
}

// Returns the buffer size for a body of `bytes`, sent or expected.
long BufferSize(uint64_t bytes) {
  return static_cast<long>(std::clamp(bytes, kSmallBuffer, kLargeBuffer));
}

const char *OrNull(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

long Milliseconds(Clock::Duration time) {
  return std::max(
      1L, static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()));
}

}  // namespace

bool IsHeaderName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), IsTokenCharacter);
}

bool IsHeaderValue(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7F';
  });
}

Status Transfer::MakeHeaders() {
  // A header without a value makes libcurl omit its own.
  for (const char *line : {"Expect:", "Accept:"}) SMD_RETURN_IF_ERROR(Append(headers_, line));
  for (const Header &header : request_.headers) {
    if (!IsHeaderName(header.name) || !IsHeaderValue(header.value)) {
      return InvalidArgument(StrCat(uri_.HostAndPort(),
                                    ": a header of the request has a character that cannot be "
                                    "sent; check its name and value"));
    }
    const std::string name = ToLower(header.name);
    const bool is_own = name == "content-length" && ParseInt(header.value) == upload_size_;
    if (is_own) continue;
    if (name == "content-length" || name == "transfer-encoding" || name == "expect") {
      return InvalidArgument(
          StrCat(uri_.HostAndPort(), ": the header ", name, " is set by the library; remove it"));
    }
    const std::string_view separator = header.value.empty() ? ";" : ": ";
    SMD_RETURN_IF_ERROR(Append(headers_, StrCat(header.name, separator, header.value)));
  }
  return Status::Ok();
}

bool Transfer::HasUpload() const {
  return upload_size_ != 0 || request_.method == "PUT" || request_.method == "POST";
}

int Transfer::SetMethod() {
  Setter setter(easy_.get());
  setter.Set(CURLOPT_URL, request_.url.c_str()).Set(CURLOPT_PATH_AS_IS, 1L);
  if (request_.method == "HEAD") return setter.Set(CURLOPT_NOBODY, 1L).Code();
  if (HasUpload()) {
    setter.Set(CURLOPT_UPLOAD, 1L)
        .Set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(upload_size_))
        .Set(CURLOPT_UPLOAD_BUFFERSIZE, BufferSize(upload_size_));
  }
  return setter.Set(CURLOPT_CUSTOMREQUEST, request_.method.c_str()).Code();
}

int Transfer::SetLimits() {
  const uint64_t expected = request_.sink == nullptr ? 4 * kSmallBuffer : request_.sink_size;
  return Setter(easy_.get())
      .Set(CURLOPT_NOSIGNAL, 1L)
      .Set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1})
      .Set(CURLOPT_HTTP09_ALLOWED, 0L)
      .Set(CURLOPT_FOLLOWLOCATION, 0L)
      .Set(CURLOPT_HTTP_CONTENT_DECODING, 0L)
      .Set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L)
      .Set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L)
#if LIBCURL_VERSION_NUM >= 0x075500
      .Set(CURLOPT_PROTOCOLS_STR, "http,https")
#else
      .Set(CURLOPT_PROTOCOLS, long{CURLPROTO_HTTP | CURLPROTO_HTTPS})
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
      // A name server that does not answer must not delay the other requests.
      .Set(CURLOPT_QUICK_EXIT, 1L)
#endif
      .Set(CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(request_.timeouts.connect))
      .Set(CURLOPT_TCP_NODELAY, 1L)
      .Set(CURLOPT_TCP_KEEPALIVE, 1L)
      .Set(CURLOPT_SOCKOPTFUNCTION, &LimitUnsent)
      .Set(CURLOPT_BUFFERSIZE, BufferSize(expected))
      .Code();
}

int Transfer::SetCallbacks() {
  return Setter(easy_.get())
      .Set(CURLOPT_HTTPHEADER, headers_.get())
      .Set(CURLOPT_ERRORBUFFER, error_text_.data())
      .Set(CURLOPT_NOPROGRESS, 1L)
      .Set(CURLOPT_READFUNCTION, &Transfer::OnRead)
      .Set(CURLOPT_READDATA, this)
      .Set(CURLOPT_SEEKFUNCTION, &Transfer::OnSeek)
      .Set(CURLOPT_SEEKDATA, this)
      .Set(CURLOPT_HEADERFUNCTION, &Transfer::OnHeader)
      .Set(CURLOPT_HEADERDATA, this)
      .Set(CURLOPT_WRITEFUNCTION, &Transfer::OnBody)
      .Set(CURLOPT_WRITEDATA, this)
      .Set(CURLOPT_PREREQFUNCTION, &Transfer::OnConnected)
      .Set(CURLOPT_PREREQDATA, this)
      .Code();
}

// Always sets both proxy options.  Otherwise libcurl would read the environment in the
// worker's thread, while the host may change it.
int Transfer::SetTrust(const ClientSettings &settings) {
  const std::string &proxy = uri_.IsTls() ? settings.https_proxy : settings.http_proxy;
  Setter setter(easy_.get());
  setter.Set(CURLOPT_SSL_VERIFYPEER, 1L)
      .Set(CURLOPT_SSL_VERIFYHOST, 2L)
      .Set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2})
      .Set(CURLOPT_PROXY, request_.may_use_proxy ? proxy.c_str() : "")
      .Set(CURLOPT_NOPROXY, settings.no_proxy.c_str())
      .Set(CURLOPT_USERAGENT, settings.options.user_agent.c_str());
  const char *file = OrNull(settings.trust.file);
  const char *folder = OrNull(settings.trust.folder);
  // Sets both: otherwise libcurl would also trust its built-in default for the other.
  if (file != nullptr || folder != nullptr) {
    setter.Set(CURLOPT_CAINFO, file).Set(CURLOPT_CAPATH, folder);
    setter.Set(CURLOPT_PROXY_CAINFO, file).Set(CURLOPT_PROXY_CAPATH, folder);
  }
  return setter.Code();
}

Status Transfer::SetUp(EasyHandle easy, const ClientSettings &settings) {
  if (easy == nullptr) return NoMemory();
  easy_ = std::move(easy);
  if (!IsHeaderName(request_.method)) return InvalidArgument("the request has no valid method");
  SMD_RETURN_IF_ERROR(MakeHeaders());
  for (const int code : {SetMethod(), SetLimits(), SetCallbacks(), SetTrust(settings)}) {
    if (code == CURLE_OUT_OF_MEMORY) return NoMemory();
    if (code != CURLE_OK) {
      return Unsupported(StrCat("this libcurl lacks an option that a request needs: ",
                                curl_easy_strerror(static_cast<CURLcode>(code))));
    }
  }
  return Status::Ok();
}

}  // namespace smdebug::net
