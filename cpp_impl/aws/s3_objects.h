// What is done with the objects of a bucket.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aws/s3_client.h"
#include "base/byte_sink.h"
#include "base/result.h"

namespace smdebug::aws {

// All fail as S3Call::Wait().

struct ObjectInfo {
  uint64_t size = 0;
  double modified_at = 0;  // seconds since 1970
};

// Nothing if there is no such object.
Result<std::optional<ObjectInfo>> HeadObject(S3Client &client, const std::string &key);

struct ObjectRange {
  std::string key;
  uint64_t offset = 0;
  uint64_t length = 0;
  ByteSink *sink = nullptr;
};

// Gives the sink the bytes of the range, by one request.
Status GetRange(S3Client &client, const ObjectRange &range);

// The same for each of several, all asked for at once.
std::vector<Status> GetRanges(S3Client &client, std::span<const ObjectRange> ranges);

// Whole objects of at most `limit` bytes, all asked for at once; a checksum that the
// service keeps is verified.  UNSUPPORTED for a larger one.
std::vector<Result<std::string>> GetTexts(S3Client &client, const std::vector<std::string> &keys,
                                          uint64_t limit);

Status PutObject(S3Client &client, const std::string &key, std::vector<ByteSpan> body);

// A missing object is a success.
Status DeleteObject(S3Client &client, const std::string &key);

struct ListQuery {
  std::string prefix;
  std::string start_after{};  // keys up to this one are left out; may be empty
  bool is_flat = false;       // without keys that have a "/" behind the prefix
  uint32_t most = 0;          // keys; 0: all
};

// In order.  CORRUPT_DATA for a service whose pages do not come to an end.
Result<std::vector<std::string>> ListKeys(S3Client &client, const ListQuery &query);

}  // namespace smdebug::aws
