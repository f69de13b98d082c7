// Operations on the objects of a bucket.
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

// All functions fail as S3Call::Wait().

struct ObjectInfo {
  uint64_t size = 0;
  std::string etag{};      // empty if the service has none
  double modified_at = 0;  // seconds since 1970
};

// Returns nothing if the object does not exist.
Result<std::optional<ObjectInfo>> HeadObject(S3Client &client, const std::string &key);

struct ObjectRange {
  std::string key;
  uint64_t offset = 0;
  uint64_t length = 0;
  ByteSink *sink = nullptr;
};

// Reads a range into its sink, with one request.
Status GetRange(S3Client &client, const ObjectRange &range);

// Reads several ranges, with concurrent requests.
std::vector<Status> GetRanges(S3Client &client, std::span<const ObjectRange> ranges);

// Reads whole objects of at most `limit` bytes, with concurrent requests.  Verifies the
// checksum if the service has one.  Fails with UNSUPPORTED for a larger object.
std::vector<Result<std::string>> GetTexts(S3Client &client, const std::vector<std::string> &keys,
                                          uint64_t limit);

Status PutObject(S3Client &client, const std::string &key, std::vector<ByteSpan> body);

// A missing object is a success.
Status DeleteObject(S3Client &client, const std::string &key);

struct ListQuery {
  std::string prefix;
  std::string start_after{};  // omits the keys up to this one; may be empty
  bool is_flat = false;       // omits the keys with a "/" after the prefix
  // If set, keys that contain this text after the prefix are listed as one, up to its end.
  std::string delimiter{};
  uint32_t most = 0;  // keys; 0: all
};

struct ListedObject {
  std::string key;
  std::string etag{};      // empty if the service has none, and for keys that are listed as one
  double modified_at = 0;  // seconds since 1970; 0 if unknown
  uint64_t size = 0;       // bytes; 0 if unknown
};

// Both return what they list in the order of keys.  Fail with CORRUPT_DATA if the service's pages
// never end.
Result<std::vector<ListedObject>> ListObjects(S3Client &client, const ListQuery &query);
Result<std::vector<std::string>> ListKeys(S3Client &client, const ListQuery &query);

}  // namespace smdebug::aws
