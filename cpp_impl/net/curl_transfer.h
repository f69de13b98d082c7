// One request in libcurl: what it is set to, what it calls back, how it ends.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "net/curl_http.h"
#include "net/curl_trust.h"
#include "net/pieces.h"
#include "net/uri.h"

struct curl_slist;

namespace smdebug::net {

struct FreeEasy {
  void operator()(void *easy) const;
};
// A CURL *, whose type only curl_*.cc may know.
using EasyHandle = std::unique_ptr<void, FreeEasy>;

struct FreeHeaderList {
  void operator()(curl_slist *list) const;
};
using HeaderList = std::unique_ptr<curl_slist, FreeHeaderList>;

// What all requests of a client have in common.
struct ClientSettings {
  HttpOptions options;
  TrustStore trust;
  std::string http_proxy;
  std::string https_proxy;
  std::string no_proxy;
};

enum class Ending {
  kCurl,       // as libcurl's code says
  kFirstByte,  // the timeouts
  kStall,
  kWhole,
  kGivenUp,
  kTooLong,      // more than the sink or the limit takes
  kManyHeaders,  // likewise
  kOpenEnd,      // nothing says where the body ends
  kNoMemory,
};

struct Failure {
  Ending ending = Ending::kCurl;
  int curl_code = 0;
  std::string_view curl_text;
  int proxy_status = 0;  // of a proxy's answer to CONNECT, or 0
};

Status FailureStatus(const Failure &failure, const Uri &uri, const Timeouts &timeouts);

// Whether the bytes may stand in a request's head.
bool IsHeaderName(std::string_view name);
bool IsHeaderValue(std::string_view value);

// Its calls are for the caller's thread until it is handed to the worker, then each for
// the thread that is named.
class Transfer {
 public:
  Transfer(Request request, Uri uri);
  Transfer(const Transfer &) = delete;
  Transfer &operator=(const Transfer &) = delete;

  // INVALID_ARGUMENT for headers that cannot be sent.
  Status SetUp(EasyHandle easy, const ClientSettings &settings);

  // The worker's.
  void *Easy() const { return easy_.get(); }
  // The timeout that is over, if one is.  To be asked every Patience().
  std::optional<Ending> Overdue(Clock::Duration now);
  Clock::Duration Patience() const { return patience_; }
  // Nothing more is called back.  The handle is for another request.
  EasyHandle TakeEasy(Ending ending, int curl_code);
  // Wakes the caller, needs no memory.
  void Finish();

  // The caller's.
  Result<Response> Wait();
  // Afterwards nothing lent is touched.  False if it had ended.
  bool GiveUp();

  // Any thread's.
  bool IsGivenUp() const;

 private:
  enum class Phase { kConnecting, kSending, kAwaiting, kReceiving };

  static size_t OnRead(char *out, size_t size, size_t count, void *self) noexcept;
  static int OnSeek(void *self, int64_t offset, int origin) noexcept;
  static size_t OnHeader(char *line, size_t size, size_t count, void *self) noexcept;
  static size_t OnBody(char *bytes, size_t size, size_t count, void *self) noexcept;
  static int OnConnected(void *self, char *, char *, int, int) noexcept;

  // Parts of SetUp.
  Status MakeHeaders();
  bool HasUpload() const;
  int SetMethod();
  int SetLimits();
  int SetCallbacks();
  int SetTrust(const ClientSettings &settings);

  void TakeHeader(std::string_view line);
  bool TakeBody(ByteSpan bytes);
  bool FillSink(ByteSpan bytes) SMD_REQUIRES(mutex_);
  void Enter(Phase phase);
  uint64_t BytesMoved() const;
  bool IsUploaded() const;
  bool IsStalled(Clock::Duration now);
  bool HasOpenEnd() const;

  const Request request_;
  const Uri uri_;
  const uint64_t upload_size_;
  const Clock::Duration patience_;
  const Clock::Duration began_;
  HeaderList headers_;
  EasyHandle easy_;
  std::array<char, 256> error_text_{};  // CURL_ERROR_SIZE

  // The worker's until Finish, then the caller's.
  Phase phase_ = Phase::kConnecting;
  Clock::Duration phase_began_{};
  Clock::Duration window_began_{};
  uint64_t window_bytes_ = 0;
  uint64_t header_bytes_ = 0;
  bool is_head_over_ = false;
  Response response_;
  Failure failure_;

  mutable Mutex mutex_;
  CondVar has_ended_;
  bool is_over_ SMD_GUARDED_BY(mutex_) = false;
  bool is_given_up_ SMD_GUARDED_BY(mutex_) = false;
  bool is_taken_ SMD_GUARDED_BY(mutex_) = false;
  // Held while what is lent is touched.
  PieceReader upload_ SMD_GUARDED_BY(mutex_);
};

}  // namespace smdebug::net
