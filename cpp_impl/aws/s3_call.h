// One request to S3, from its first attempt to its last.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "aws/s3_client.h"
#include "aws/s3_error.h"
#include "base/byte_sink.h"
#include "base/result.h"
#include "net/http.h"

namespace smdebug::aws {

// Only one thread may use a call.  What the request points to must outlive the call.
class S3Call {
 public:
  // Starts the first attempt.
  S3Call(S3Client &client, S3Request request);
  S3Call(const S3Call &) = delete;
  S3Call &operator=(const S3Call &) = delete;

  // Waits for the answer and returns it if it is a success.  Retries, within the client's
  // policy and budget, after a transient failure of the network or the service, a wrong
  // region, a wrong clock, or expired credentials; the last three once each.  If a body is cut
  // off, requests only the rest.  Fails as S3Failure(), net::Exchange::Wait() or the
  // credentials provider.  Fails with CORRUPT_DATA if the answer does not match the request,
  // and for a range that no object can have.
  Result<net::Response> Wait();

  // Returns the number of attempts started so far, without corrections.
  int Attempts() const { return retries_.Attempts(); }

 private:
  // Counts the received bytes, and accepts no more than were requested.
  class Progress final : public ByteSink {
   public:
    Progress(ByteSink *sink, uint64_t size) : sink_(sink), size_(size) {}
    MutableByteSpan Room() override {
      const MutableByteSpan room = sink_->Room();
      return room.first(std::min<uint64_t>(room.size(), size_ - received_));
    }
    void Advance(size_t count) override {
      received_ += count;
      sink_->Advance(count);
    }
    uint64_t Received() const { return received_; }

   private:
    ByteSink *const sink_;
    const uint64_t size_;
    uint64_t received_ = 0;
  };

  Status Begin();
  Result<net::Response> Finish();
  std::string Location() const;  // for messages
  Status AddRange();
  Status CheckRange(const net::Response &response) const;
  bool HasWholeRange() const;
  // Returns the error that a failed answer reports.
  S3Error Read(const net::Response &response) const;
  // Returns true if it corrected the cause, so that the same request may succeed now.
  bool Correct(const S3Error &error, const net::Response &response);
  bool CorrectRegion(const S3Error &error);
  bool CorrectClock(const S3Error &error, const net::Response &response);
  bool CorrectCredentials(const S3Error &error);
  Status About(const Status &failure) const;

  S3Client &client_;
  S3Request request_;
  Progress progress_;
  uint64_t attempt_begin_ = 0;  // bytes received before this attempt
  std::string payload_hash_;
  std::vector<net::Header> headers_;  // those of the caller
  Retries retries_;
  Credentials credentials_;
  Status not_begun_;
  // Destroyed first, since it may use the sink until then.
  std::unique_ptr<net::Exchange> exchange_;
  bool has_moved_ = false;
  bool has_set_clock_ = false;
  bool has_renewed_ = false;
};

// Sends a request and waits for the answer.
Result<net::Response> Call(S3Client &client, S3Request request);

}  // namespace smdebug::aws
