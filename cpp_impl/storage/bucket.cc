#include "storage/bucket.h"

#include <algorithm>
#include <array>

#include "aws/s3_objects.h"
#include "aws/s3_upload.h"
#include "base/strings.h"
#include "storage/s3_store.h"

namespace smdebug::storage {
namespace {

// Up to this size, memory for a range is allocated before the object's size is known.
constexpr uint64_t kMostUnseen = uint64_t{16} << 20;

Status CheckSize(const std::string &location, uint64_t bytes) {
  if (bytes <= Bucket::kMostBytes) return Status::Ok();
  return Unsupported(StrCat(location, ": ", bytes, " bytes are more than one call transfers (",
                            Bucket::kMostBytes, "); read ranges of it"))
      .With("path", location);
}

}  // namespace

Result<Bucket> Bucket::Open(std::string_view name, const StoreOptions &options,
                            const Logger &logger) {
  SMD_ASSIGN_OR_RETURN(const aws::S3Location location, aws::ParseS3Url(StrCat("s3://", name)));
  if (!location.prefix.empty() || name.ends_with('/')) {
    return InvalidArgument(StrCat(name, ": not the name of a bucket; give it without a prefix"));
  }
  SMD_ASSIGN_OR_RETURN(std::shared_ptr<aws::S3Client> client,
                       OpenS3Client(location.bucket, options, logger));
  return Bucket(std::move(client));
}

Result<std::vector<std::string>> Bucket::List(const Query &query) const {
  aws::ListQuery keys{.prefix = query.prefix};
  keys.start_after = query.start_after;
  keys.delimiter = query.delimiter;
  return aws::ListKeys(*client_, keys);
}

Result<std::optional<uint64_t>> Bucket::SizeOf(const std::string &key) const {
  SMD_ASSIGN_OR_RETURN(const auto info, aws::HeadObject(*client_, key));
  return info ? std::optional<uint64_t>(info->size) : std::optional<uint64_t>();
}

Result<std::string> Bucket::ReadRange(const std::string &key, uint64_t offset,
                                      uint64_t length) const {
  std::string text(length, '\0');
  SpanSink sink({reinterpret_cast<std::byte *>(text.data()), text.size()});
  SMD_RETURN_IF_ERROR(aws::GetRange(*client_, {key, offset, length, &sink}));
  return text;
}

Result<std::string> Bucket::Read(const std::string &key, uint64_t offset,
                                 std::optional<uint64_t> length) const {
  if (offset == 0 && !length) {
    return std::move(aws::GetTexts(*client_, {key}, kMostBytes).front());
  }
  if (length && *length <= kMostUnseen) {
    auto text = ReadRange(key, offset, *length);
    if (text.GetStatus().GetCode() != Code::kCorruptData) return text;
  }
  SMD_ASSIGN_OR_RETURN(const std::optional<uint64_t> size, SizeOf(key));
  const std::string location = client_->LocationOf(key);
  if (!size)
    return Status(Code::kNotFound, StrCat(location, ": no such file")).With("path", location);
  if (offset >= *size) return std::string();
  const uint64_t rest = std::min(*size - offset, length.value_or(*size));
  SMD_RETURN_IF_ERROR(CheckSize(location, rest));
  return ReadRange(key, offset, rest);
}

Status Bucket::Write(const std::string &key, ByteSpan content) const {
  SMD_RETURN_IF_ERROR(CheckSize(client_->LocationOf(key), content.size()));
  aws::S3Upload upload(client_, key);
  const std::array pieces = {Piece{nullptr, content}};
  SMD_RETURN_IF_ERROR(upload.Append(pieces));
  return upload.Finish();
}

Status Bucket::Remove(const std::string &key) const { return aws::DeleteObject(*client_, key); }

}  // namespace smdebug::storage
