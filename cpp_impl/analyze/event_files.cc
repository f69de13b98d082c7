#include "analyze/event_files.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/crc32c.h"
#include "base/strings.h"

namespace smdebug::analyze {
namespace {

constexpr size_t kMostOpen = 64;

// A record up to this size is read in one go and its payload copied; the envelope of a
// larger one is found in its first bytes.
constexpr size_t kSmallRecord = 16 << 10;
constexpr size_t kEnvelope = 4 << 10;

// Larger reads are checksummed in such parts, while the cache still holds them.
constexpr size_t kReadPart = 128 << 10;

Status CutRecord(std::string_view what) { return {Code::kCorruptData, std::string(what)}; }

// Bytes of one record, read in order, and their checksum.
class RecordSource {
 public:
  RecordSource(const storage::FileReader &file, const RecordPlace &place)
      : file_(file), place_(place), offset_(place.start) {}

  Status Read(MutableByteSpan out) {
    while (!out.empty()) {
      const std::array part = {out.first(std::min(out.size(), kReadPart))};
      SMD_RETURN_IF_ERROR(file_.Read(offset_, part));
      if (place_.crc32c) crc32c_ = ExtendCrc32c(crc32c_, part[0]);
      offset_ += part[0].size();
      out = out.subspan(part[0].size());
    }
    return Status::Ok();
  }

  Status CheckChecksum() const {
    if (!place_.crc32c || crc32c_ == *place_.crc32c) return Status::Ok();
    return CutRecord("the record's bytes do not have the checksum that its index says");
  }

 private:
  const storage::FileReader &file_;
  const RecordPlace &place_;
  uint64_t offset_;
  uint32_t crc32c_ = 0;
};

// `content` is either in `kept`, which then becomes the value's memory, or is copied.
Result<std::optional<ReadTensor>> Parse(const format::RecordParts &parts,
                                        std::shared_ptr<AlignedBuffer> kept) {
  SMD_ASSIGN_OR_RETURN(std::optional<format::TensorEvent> event, format::ParseRecord(parts));
  if (!event) return std::optional<ReadTensor>();
  ReadTensor read{std::move(event->name), event->context, {}};
  if (event->dtype == tensor::DType::kString) {
    read.value.dtype = event->dtype;
    read.value.shape = std::move(event->shape);
    read.value.strings =
        std::make_shared<const std::vector<std::string>>(std::move(event->strings));
  } else if (kept && event->content.data() == kept->Data()) {
    read.value.dtype = event->dtype;
    read.value.shape = std::move(event->shape);
    read.value.size = kept->Size();
    const std::byte *data = kept->Data();
    read.value.data = std::shared_ptr<const std::byte>(std::move(kept), data);
  } else {
    read.value = tensor::Value::CopyOf(event->dtype, event->content, std::move(event->shape));
  }
  return std::optional<ReadTensor>(std::move(read));
}

Result<std::optional<ReadTensor>> ReadWhole(RecordSource source, MutableByteSpan bytes) {
  SMD_RETURN_IF_ERROR(source.Read(bytes));
  SMD_RETURN_IF_ERROR(source.CheckChecksum());
  return Parse({bytes, {}, {}}, nullptr);
}

}  // namespace

Result<std::optional<ReadTensor>> ReadRecord(const storage::FileReader &file,
                                             const RecordPlace &place) {
  if (place.start > file.Size() || place.length > file.Size() - place.start) {
    return CutRecord(StrCat("the record of ", place.length, " bytes lies beyond the file's end at ",
                            file.Size()));
  }
  if (place.length < format::kRecordHeaderSize + format::kRecordFooterSize) {
    return CutRecord(StrCat("a record of ", place.length, " bytes is too short to be one"));
  }
  RecordSource source(file, place);
  std::array<std::byte, kSmallRecord> small;
  if (place.length <= small.size())
    return ReadWhole(source, MutableByteSpan(small).first(place.length));

  const MutableByteSpan first = MutableByteSpan(small).first(kEnvelope);
  SMD_RETURN_IF_ERROR(source.Read(first));
  SMD_ASSIGN_OR_RETURN(const auto payload, format::LocatePayload(first, place.length));
  const uint64_t after = payload ? place.length - payload->offset - payload->size : 0;
  if (!payload || payload->offset + payload->size <= first.size() || after > kEnvelope) {
    AlignedBuffer whole(place.length);
    return ReadWhole(RecordSource(file, place), whole.Span());
  }
  const auto content = std::make_shared<AlignedBuffer>(payload->size);
  const ByteSpan begun = ByteSpan(first).subspan(payload->offset);
  std::memcpy(content->Data(), begun.data(), begun.size());
  SMD_RETURN_IF_ERROR(source.Read(content->Span().subspan(begun.size())));
  const MutableByteSpan tail = MutableByteSpan(small).subspan(kEnvelope, after);
  SMD_RETURN_IF_ERROR(source.Read(tail));
  SMD_RETURN_IF_ERROR(source.CheckChecksum());
  return Parse({ByteSpan(first).first(payload->offset), content->Span(), tail}, content);
}

Result<std::shared_ptr<storage::FileReader>> EventFiles::Open(const std::string &name) {
  {
    const MutexLock lock(mutex_);
    const auto found = std::find_if(opened_.begin(), opened_.end(),
                                    [&](const Opened &opened) { return opened.name == name; });
    if (found != opened_.end()) {
      opened_.splice(opened_.begin(), opened_, found);
      return found->file;
    }
  }
  SMD_ASSIGN_OR_RETURN(std::shared_ptr<storage::FileReader> file, store_->Open(name));
  const MutexLock lock(mutex_);
  opened_.push_front({name, file});
  if (opened_.size() > kMostOpen) opened_.pop_back();
  return file;
}

Result<ReadTensor> EventFiles::Read(const RecordPlace &place) {
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::FileReader> file, Open(place.file));
  auto read = ReadRecord(*file, place);
  const std::string where = StrCat(store_->Location(), "/", place.file);
  if (!read.IsOk()) {
    const Status status = read.GetStatus();
    if (status.GetCode() != Code::kCorruptData || status.Detail("path") != nullptr) return status;
    return CorruptData(where, StrCat("record at ", place.start, ": ", status.Message()));
  }
  if (!*read) {
    return CorruptData(where, StrCat("record at ", place.start, ": it holds no tensor"));
  }
  return std::move(**read);
}

}  // namespace smdebug::analyze
