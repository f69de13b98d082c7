#include "net/curl_transfer.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>

#include "base/strings.h"

namespace smdebug::net {
namespace {

using std::chrono::milliseconds;

static_assert(CURL_ERROR_SIZE == 256);
// Limits the memory that the headers of many kept responses use.  S3 sends about 20 headers.
constexpr size_t kMaxHeaders = 512;
constexpr uint64_t kMaxHeaderBytes = 65536;

Clock::Duration Now() { return Clock::System().Monotonic(); }

// Returns a quarter of the shortest timeout, so that none is exceeded by much more than that.
Clock::Duration PatienceOf(const Timeouts &timeouts) {
  Clock::Duration shortest = std::min(timeouts.first_byte, timeouts.stall);
  if (timeouts.whole > Clock::Duration::zero()) shortest = std::min(shortest, timeouts.whole);
  return std::clamp<Clock::Duration>(shortest / 4, milliseconds(1), milliseconds(100));
}

uint64_t Information(void *easy, CURLINFO which) {
  curl_off_t number = 0;
  curl_easy_getinfo(static_cast<CURL *>(easy), which, &number);
  return number > 0 ? static_cast<uint64_t>(number) : 0;
}

}  // namespace

void FreeEasy::operator()(void *easy) const { curl_easy_cleanup(static_cast<CURL *>(easy)); }

void FreeHeaderList::operator()(curl_slist *list) const { curl_slist_free_all(list); }

Transfer::Transfer(Request request, Uri uri)
    : request_(std::move(request)),
      uri_(std::move(uri)),
      upload_size_(TotalSize(request_.body)),
      patience_(PatienceOf(request_.timeouts)),
      began_(Now()),
      upload_(request_.body) {}

void Transfer::Enter(Phase phase) {
  phase_ = phase;
  phase_began_ = Now();
  window_began_ = phase_began_;
  window_bytes_ = BytesMoved();
}

uint64_t Transfer::BytesMoved() const {
  return Information(easy_.get(), CURLINFO_SIZE_UPLOAD_T) +
         Information(easy_.get(), CURLINFO_SIZE_DOWNLOAD_T);
}

bool Transfer::IsUploaded() const {
  return Information(easy_.get(), CURLINFO_SIZE_UPLOAD_T) >= upload_size_;
}

// Replaces libcurl's own speed check, which also runs while the server computes a response,
// counts whole seconds, and has the same error code as the other timeouts.
bool Transfer::IsStalled(Clock::Duration now) {
  const Timeouts &timeouts = request_.timeouts;
  const double seconds = std::chrono::duration<double>(timeouts.stall).count();
  const uint64_t moved = BytesMoved();
  if (static_cast<double>(moved - window_bytes_) >= seconds * timeouts.least_speed) {
    window_began_ = now;
    window_bytes_ = moved;
  }
  return now - window_began_ >= timeouts.stall;
}

std::optional<Ending> Transfer::Overdue(Clock::Duration now) {
  const Timeouts &timeouts = request_.timeouts;
  if (timeouts.whole > Clock::Duration::zero() && now - began_ >= timeouts.whole) {
    return Ending::kWhole;
  }
  if (phase_ == Phase::kSending && IsUploaded()) Enter(Phase::kAwaiting);
  switch (phase_) {
    case Phase::kConnecting: break;  // libcurl enforces this timeout
    case Phase::kAwaiting:
      if (now - phase_began_ >= timeouts.first_byte) return Ending::kFirstByte;
      break;
    case Phase::kSending:
    case Phase::kReceiving:
      if (IsStalled(now)) return Ending::kStall;
      break;
  }
  return std::nullopt;
}

int Transfer::OnConnected(void *self, char *, char *, int, int) noexcept {
  auto &transfer = *static_cast<Transfer *>(self);
  transfer.Enter(transfer.upload_size_ != 0 ? Phase::kSending : Phase::kAwaiting);
  return CURL_PREREQFUNC_OK;
}

size_t Transfer::OnRead(char *out, size_t size, size_t count, void *self) noexcept {
  auto &transfer = *static_cast<Transfer *>(self);
  const MutexLock lock(transfer.mutex_);
  if (transfer.is_given_up_) return CURL_READFUNC_ABORT;
  return transfer.upload_.Read({reinterpret_cast<std::byte *>(out), size * count});
}

int Transfer::OnSeek(void *self, int64_t offset, int origin) noexcept {
  auto &transfer = *static_cast<Transfer *>(self);
  const MutexLock lock(transfer.mutex_);
  if (transfer.is_given_up_ || origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_FAIL;
  return transfer.upload_.Seek(static_cast<uint64_t>(offset)) ? CURL_SEEKFUNC_OK
                                                              : CURL_SEEKFUNC_FAIL;
}

size_t Transfer::OnHeader(char *line, size_t size, size_t count, void *self) noexcept {
  auto &transfer = *static_cast<Transfer *>(self);
  if (transfer.phase_ != Phase::kReceiving) transfer.Enter(Phase::kReceiving);
  transfer.header_bytes_ += size * count;
  if (transfer.header_bytes_ > kMaxHeaderBytes ||
      transfer.response_.headers.size() >= kMaxHeaders) {
    transfer.failure_.ending = Ending::kManyHeaders;
    return 0;
  }
  try {
    transfer.TakeHeader({line, size * count});
  } catch (...) {
    transfer.failure_.ending = Ending::kNoMemory;
    return 0;
  }
  return size * count;
}

void Transfer::TakeHeader(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    // A 1xx response may have preceded this one.
    response_.headers.clear();
    is_head_over_ = false;
    const size_t blank = std::min(line.find(' '), line.size());
    response_.status = static_cast<int>(ParseInt(line.substr(blank, 4)).value_or(0));
    return;
  }
  const std::string_view text = Trim(line);
  if (text.empty()) is_head_over_ = true;
  const size_t colon = text.find(':');
  // A trailer after the body must not count as a header.
  if (is_head_over_ || colon == std::string_view::npos) return;
  response_.headers.push_back(
      {ToLower(Trim(text.substr(0, colon))), std::string(Trim(text.substr(colon + 1)))});
}

size_t Transfer::OnBody(char *bytes, size_t size, size_t count, void *self) noexcept {
  auto &transfer = *static_cast<Transfer *>(self);
  const std::string_view text(bytes, size * count);
  try {
    if (transfer.TakeBody(AsBytes(text))) return text.size();
    transfer.failure_.ending = Ending::kTooLong;
  } catch (...) {
    transfer.failure_.ending = Ending::kNoMemory;
  }
  return text.empty() ? 1 : 0;
}

bool Transfer::TakeBody(ByteSpan bytes) {
  response_.received += bytes.size();
  if (request_.sink != nullptr && response_.status == request_.sink_status) {
    const MutexLock lock(mutex_);
    return !is_given_up_ && FillSink(bytes);
  }
  if (bytes.size() > request_.body_limit - response_.body.size()) return false;
  response_.body.append(AsText(bytes));
  return true;
}

bool Transfer::FillSink(ByteSpan bytes) {
  while (!bytes.empty()) {
    const MutableByteSpan room = request_.sink->Room();
    const size_t fits = std::min(room.size(), bytes.size());
    if (fits == 0) return false;
    std::memcpy(room.data(), bytes.data(), fits);
    request_.sink->Advance(fits);
    bytes = bytes.subspan(fits);
  }
  return true;
}

// Returns true if only the end of the connection ends the body.  libcurl accepts that, but an
// attacker in between can close a connection.  TLS proves the end only by the peer's
// close_notify, and libcurl configures OpenSSL not to require it.
bool Transfer::HasOpenEnd() const {
  if (!uri_.IsTls() || request_.method == "HEAD" || response_.status == 204) return false;
  const std::string *encoding = response_.Find("transfer-encoding");
  const bool is_chunked = encoding != nullptr && ToLower(*encoding).ends_with("chunked");
  return !is_chunked && response_.Find("content-length") == nullptr;
}

EasyHandle Transfer::TakeEasy(Ending ending, int curl_code) {
  if (failure_.ending == Ending::kCurl) failure_.ending = ending;
  // libcurl reports success even if the connection ends within the headers.
  if (curl_code == CURLE_OK && !is_head_over_) curl_code = CURLE_PARTIAL_FILE;
  const bool is_whole = failure_.ending == Ending::kCurl && curl_code == CURLE_OK;
  if (is_whole && HasOpenEnd()) failure_.ending = Ending::kOpenEnd;
  failure_.curl_code = curl_code;
  failure_.curl_text = error_text_.data();
  failure_.proxy_status =
      static_cast<int>(Information(easy_.get(), CURLINFO_HTTP_CONNECTCODE) & 0xFFFFU);
  return std::move(easy_);
}

void Transfer::Finish() {
  const MutexLock lock(mutex_);
  is_over_ = true;
  has_ended_.NotifyAll();
}

Result<Response> Transfer::Wait() {
  const MutexLock lock(mutex_);
  while (!is_over_) has_ended_.Wait(mutex_);
  if (is_taken_) return WrongState("the response was already returned");
  is_taken_ = true;
  const bool is_whole = failure_.ending == Ending::kCurl && failure_.curl_code == CURLE_OK;
  if (!is_whole) return FailureStatus(failure_, uri_, request_.timeouts);
  return std::move(response_);
}

bool Transfer::GiveUp() {
  const MutexLock lock(mutex_);
  is_given_up_ = true;
  return !is_over_;
}

bool Transfer::IsGivenUp() const {
  const MutexLock lock(mutex_);
  return is_given_up_;
}

}  // namespace smdebug::net
