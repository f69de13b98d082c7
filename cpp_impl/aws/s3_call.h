// One request to S3 from its first attempt to its last.
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

// For one thread.  What the request points to must outlive it.
class S3Call {
 public:
  // The first attempt is under way when this returns.
  S3Call(S3Client &client, S3Request request);
  S3Call(const S3Call &) = delete;
  S3Call &operator=(const S3Call &) = delete;

  // An answer that is a success.  Tries again, within the client's policy and budget,
  // what is worth it: what the network or the service could not do for now, a wrong
  // region, a wrong clock, expired credentials; the latter three once each.  A body that
  // broke off is asked for from there on.  Fails as S3Failure(), net::Exchange::Wait() or
  // the credentials' provider; CORRUPT_DATA for an answer that does not fit the request,
  // and for a range that no object can have.
  Result<net::Response> Wait();

  // Begun so far; corrections do not count.
  int Attempts() const { return retries_.Attempts(); }

 private:
  // Counts what came, and takes no more than was asked for.
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
  Status AddRange();
  Status CheckRange(const net::Response &response) const;
  bool HasWholeRange() const;
  // What a failed answer says.
  S3Error Read(const net::Response &response) const;
  // Whether something was put right, so that the same request may succeed at once.
  bool Correct(const S3Error &error, const net::Response &response);
  bool CorrectRegion(const S3Error &error);
  bool CorrectClock(const S3Error &error, const net::Response &response);
  bool CorrectCredentials(const S3Error &error);
  Status About(const Status &failure) const;

  S3Client &client_;
  S3Request request_;
  Progress progress_;
  uint64_t attempt_begin_ = 0;  // bytes that had come before this attempt
  std::string payload_hash_;
  std::vector<net::Header> headers_;  // the caller's
  Retries retries_;
  Credentials credentials_;
  Status not_begun_;
  // Destroyed first: until then it may use the sink.
  std::unique_ptr<net::Exchange> exchange_;
  bool has_moved_ = false;
  bool has_set_clock_ = false;
  bool has_renewed_ = false;
};

// Sends it and waits.
Result<net::Response> Call(S3Client &client, S3Request request);

}  // namespace smdebug::aws
