#include "aws/s3_upload.h"

#include <algorithm>
#include <cstring>

#include "aws/base64.h"
#include "aws/s3_objects.h"
#include "base/crc32c.h"
#include "base/strings.h"
#include "net/http_date.h"
#include "net/xml.h"

namespace smdebug::aws {
namespace {

constexpr int kMostParts = 10'000;  // the limit of S3

// The resolution of the service's dates, in seconds.
constexpr double kClockResolution = 1;

Piece Kept(const Piece &piece) {
  if (piece.owner) return piece;
  auto copy = std::make_shared<AlignedBuffer>(piece.bytes.size());
  std::memcpy(copy->Data(), piece.bytes.data(), piece.bytes.size());
  const ByteSpan bytes = copy->Span();
  return {std::move(copy), bytes};
}

// Escapes text for XML: an ETag contains quotes.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += letter;
    }
  }
  return escaped;
}

std::vector<ByteSpan> BytesOf(const std::vector<Piece> &pieces) {
  std::vector<ByteSpan> bytes;
  bytes.reserve(pieces.size());
  for (const Piece &piece : pieces) bytes.push_back(piece.bytes);
  return bytes;
}

}  // namespace

S3Upload::~S3Upload() {
  if (upload_id_.empty()) return;
  try {
    Abort();
  } catch (const std::bad_alloc &) {
    // The bucket's lifecycle rule for unfinished uploads removes it.
  }
}

Status S3Upload::Append(std::span<const Piece> pieces) {
  SMD_RETURN_IF_ERROR(failure_);
  ExpectNoMemory();
  failure_ = Take(pieces);
  return failure_;
}

void S3Upload::ExpectNoMemory() {
  failure_ = Status(Code::kOutOfMemory,
                    StrCat(client_->LocationOf(key_), ": out of memory while writing"));
}

Status S3Upload::Take(std::span<const Piece> pieces) {
  for (const Piece &piece : pieces) {
    ByteSpan rest = piece.bytes;
    while (!rest.empty()) {
      const size_t fits = std::min<uint64_t>(rest.size(), kPartSize - filled_);
      pieces_.push_back(Kept({piece.owner, rest.first(fits)}));
      rest = rest.subspan(fits);
      filled_ += fits;
      total_ += fits;
      if (filled_ == kPartSize) SMD_RETURN_IF_ERROR(SendPart());
    }
  }
  return Status::Ok();
}

Status S3Upload::Begin() {
  S3Request request{.action = "beginning to write", .method = "POST"};
  request.key = key_;
  request.query = {{"uploads", ""}};
  request.headers = {{"x-amz-checksum-algorithm", "CRC32C"}};
  SMD_ASSIGN_OR_RETURN(const net::Response response, Call(*client_, std::move(request)));
  if (const std::string *date = response.Find("date")) begun_at_ = net::ParseHttpDate(*date);
  const auto answer = net::ParseXml(response.body);
  if (answer.IsOk()) upload_id_ = answer->TextOf("UploadId");
  if (!upload_id_.empty()) return Status::Ok();
  return CorruptData(client_->LocationOf(key_),
                     "the service returned no ID for a multipart upload");
}

Status S3Upload::SendPart() {
  if (upload_id_.empty()) SMD_RETURN_IF_ERROR(Begin());
  while (under_way_.size() >= kPartsUnderWay) SMD_RETURN_IF_ERROR(AwaitPart());
  const int number = static_cast<int>(sent_.size() + under_way_.size()) + 1;
  if (number > kMostParts) {
    return Unsupported(StrCat(client_->LocationOf(key_), ": more than ", kMostParts, " parts of ",
                              kPartSize, " bytes; save less in one step"));
  }
  Part part{number, std::move(pieces_), {}, nullptr};
  pieces_.clear();
  filled_ = 0;
  uint32_t crc32c = 0;
  for (const Piece &piece : part.pieces) crc32c = ExtendCrc32c(crc32c, piece.bytes);
  part.checksum = ChecksumText(crc32c);
  S3Request request{.action = "writing a part", .method = "PUT"};
  request.key = key_;
  request.query = {{"partNumber", std::to_string(number)}, {"uploadId", upload_id_}};
  request.body = BytesOf(part.pieces);
  part.call = std::make_unique<S3Call>(*client_, std::move(request));
  under_way_.push_back(std::move(part));
  return Status::Ok();
}

Status S3Upload::AwaitPart() {
  Part part = std::move(under_way_.front());
  under_way_.pop_front();
  SMD_ASSIGN_OR_RETURN(const net::Response response, part.call->Wait());
  const std::string *etag = response.Find("etag");
  if (etag == nullptr) {
    return CorruptData(client_->LocationOf(key_),
                       "the service accepted a part but returned no ETag");
  }
  sent_.push_back({part.number, *etag, std::move(part.checksum)});
  return Status::Ok();
}

Status S3Upload::Complete() {
  std::string text = "<CompleteMultipartUpload>";
  for (const SentPart &part : sent_) {
    text += StrCat("<Part><PartNumber>", part.number, "</PartNumber><ETag>", Escaped(part.etag),
                   "</ETag><ChecksumCRC32C>", part.checksum, "</ChecksumCRC32C></Part>");
  }
  text += "</CompleteMultipartUpload>";
  S3Request request{.action = "writing", .method = "POST"};
  request.key = key_;
  request.query = {{"uploadId", upload_id_}};
  request.headers = {{"content-type", "application/xml"}};
  request.body = {AsBytes(text)};
  request.may_fail_late = true;
  S3Call call(*client_, std::move(request));
  Status completed = call.Wait().GetStatus();
  // An attempt whose answer was lost may have completed the upload; libcurl retries by itself
  // if a reused connection breaks.  An older object of equal size must not count.
  const std::string *code = completed.Detail("s3_code");
  if (code != nullptr && *code == "NoSuchUpload") {
    SMD_ASSIGN_OR_RETURN(const auto info, HeadObject(*client_, key_));
    const bool is_new = info && begun_at_ && info->modified_at >= *begun_at_ - kClockResolution;
    if (info && info->size == total_ && (is_new || call.Attempts() > 1)) return Status::Ok();
  }
  return completed;
}

void S3Upload::Abort() {
  under_way_.clear();
  S3Request request{.action = "giving up", .method = "DELETE"};
  request.key = key_;
  request.query = {{"uploadId", upload_id_}};
  const Status aborted = Call(*client_, std::move(request)).GetStatus();
  if (!aborted.IsOk()) client_->Parts().logger.Warning(aborted.Message());
}

Status S3Upload::Finish() {
  SMD_RETURN_IF_ERROR(failure_);
  ExpectNoMemory();
  failure_ = FinishWhole();
  return failure_;
}

Status S3Upload::FinishWhole() {
  if (upload_id_.empty()) {
    SMD_RETURN_IF_ERROR(PutObject(*client_, key_, BytesOf(pieces_)));
    pieces_.clear();
    return Status::Ok();
  }
  if (filled_ > 0) SMD_RETURN_IF_ERROR(SendPart());
  while (!under_way_.empty()) SMD_RETURN_IF_ERROR(AwaitPart());
  SMD_RETURN_IF_ERROR(Complete());
  upload_id_.clear();
  return Status::Ok();
}

}  // namespace smdebug::aws
