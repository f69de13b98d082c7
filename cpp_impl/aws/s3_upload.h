// Writes an object piece by piece.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aws/s3_call.h"
#include "aws/s3_client.h"
#include "base/bytes.h"
#include "base/result.h"

namespace smdebug::aws {

// Finish() writes a small object with one request; a larger object is sent in parts as data
// arrives.  Without Finish() nothing remains of the object.  Only one thread may use it.
class S3Upload {
 public:
  // Smaller objects are written with one request.  S3 accepts parts from 5 MiB; the last may be
  // smaller.
  static constexpr uint64_t kPartSize = uint64_t{8} << 20;
  // The number of parts sent concurrently, in addition to the part being filled.
  static constexpr size_t kPartsUnderWay = 2;

  S3Upload(std::shared_ptr<S3Client> client, std::string key)
      : client_(std::move(client)), key_(std::move(key)) {}
  ~S3Upload();
  S3Upload(const S3Upload &) = delete;
  S3Upload &operator=(const S3Upload &) = delete;

  // Shares ownership of the pieces, and copies pieces without an owner.  Fails as
  // S3Call::Wait(), possibly because of earlier pieces; all later calls then fail equally.
  Status Append(std::span<const Piece> pieces);
  // Completes the object: after success it exists.
  Status Finish();

 private:
  struct Part {
    int number;
    std::vector<Piece> pieces;
    std::string checksum;
    std::unique_ptr<S3Call> call;
  };
  struct SentPart {
    int number;
    std::string etag;
    std::string checksum;
  };

  // Sets the failure that remains if an exception leaves the call: bytes would be missing.
  void ExpectNoMemory();
  Status Take(std::span<const Piece> pieces);
  Status Begin();
  Status SendPart();
  Status AwaitPart();
  Status Complete();
  Status FinishWhole();
  void Abort();

  const std::shared_ptr<S3Client> client_;
  const std::string key_;
  std::string upload_id_;           // empty before the first part
  std::optional<double> begun_at_;  // by the service's clock
  std::vector<Piece> pieces_;
  uint64_t filled_ = 0;  // bytes in pieces_
  uint64_t total_ = 0;
  Status failure_;
  std::deque<Part> under_way_;
  std::vector<SentPart> sent_;
};

}  // namespace smdebug::aws
