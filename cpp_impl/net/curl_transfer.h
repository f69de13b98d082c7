// One request in libcurl: its options, its callbacks, and its end.
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
// A CURL *.  Only curl_*.cc may include its type.
using EasyHandle = std::unique_ptr<void, FreeEasy>;

struct FreeHeaderList {
  void operator()(curl_slist *list) const;
};
using HeaderList = std::unique_ptr<curl_slist, FreeHeaderList>;

// The settings that all requests of a client share.
struct ClientSettings {
  HttpOptions options;
  TrustStore trust;
  std::string http_proxy;
  std::string https_proxy;
  std::string no_proxy;
};

enum class Ending {
  kCurl,       // see Failure::curl_code
  kFirstByte,  // this and the next two: timeouts
  kStall,
  kWhole,
  kGivenUp,
  kTooLong,      // the body exceeds the sink or the limit
  kManyHeaders,  // the headers exceed their limits
  kOpenEnd,      // the response does not state the body's length
  kNoMemory,
};

struct Failure {
  Ending ending = Ending::kCurl;
  int curl_code = 0;
  std::string_view curl_text;
  int proxy_status = 0;  // the status of a proxy's answer to CONNECT, or 0
};

Status FailureStatus(const Failure &failure, const Uri &uri, const Timeouts &timeouts);

// Return true if a request's head may contain the text as a name, or as a value.
bool IsHeaderName(std::string_view name);
bool IsHeaderValue(std::string_view value);

// Until a transfer is submitted to the worker, only the caller's thread may use it.  After
// that, each method belongs to the thread named above it.
class Transfer {
 public:
  Transfer(Request request, Uri uri);
  Transfer(const Transfer &) = delete;
  Transfer &operator=(const Transfer &) = delete;

  // Fails with INVALID_ARGUMENT if a header cannot be sent.
  Status SetUp(EasyHandle easy, const ClientSettings &settings);

  // The worker's thread:
  void *Easy() const { return easy_.get(); }
  // Returns the timeout that has expired, if any.  Call it once every Patience().
  std::optional<Ending> Overdue(Clock::Duration now);
  Clock::Duration Patience() const { return patience_; }
  // Ends the transfer: no callback runs after this.  Returns the handle for another request.
  EasyHandle TakeEasy(Ending ending, int curl_code);
  // Wakes the caller.  Needs no memory.
  void Finish();

  // The caller's thread:
  Result<Response> Wait();
  // Cancels the transfer: borrowed memory is not accessed after this.  Returns false if the
  // transfer had ended.
  bool GiveUp();

  // Any thread:
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

  // Belong to the worker's thread until Finish(), then to the caller's.
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
  // Borrowed memory is only accessed while mutex_ is held.
  PieceReader upload_ SMD_GUARDED_BY(mutex_);
};

}  // namespace smdebug::net
