// An object written little by little.
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

// A small object is put at the end, whole; a larger one is sent in parts as it comes.
// Without Finish() nothing of it is left.  For one thread.
class S3Upload {
 public:
  // What is smaller is put whole; S3 takes no smaller part but the last.
  static constexpr uint64_t kPartSize = uint64_t{8} << 20;
  // Parts under way at a time, besides the one that fills.
  static constexpr size_t kPartsUnderWay = 2;

  S3Upload(std::shared_ptr<S3Client> client, std::string key)
      : client_(std::move(client)), key_(std::move(key)) {}
  ~S3Upload();
  S3Upload(const S3Upload &) = delete;
  S3Upload &operator=(const S3Upload &) = delete;

  // Keeps the pieces by their owners, and copies those without one.  Fails as
  // S3Call::Wait(), maybe for what was appended before; then all that follows fails so.
  Status Append(std::span<const Piece> pieces);
  // The object is there when this returns.
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

  // What stays of a call that an exception ends: from there on bytes are missing.
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
