#include "analyze/event_files.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>

#include "base/crc32c.h"
#include "base/strings.h"

namespace smdebug::analyze {
namespace {

constexpr size_t kMostOpen = 64;

// How many reads of many files are remembered.
constexpr size_t kMostBegun = 256;

// A small file is kept in memory at this use of it.
constexpr int kUsesOfSmallFile = 3;

// A record up to this size is read in one call, and its payload is copied.  The envelope of a
// larger record is found in its first bytes.
constexpr size_t kSmallRecord = 16 << 10;
constexpr size_t kEnvelope = 4 << 10;

// A smaller file is read as a whole.
constexpr size_t kTinyFile = 16 << 10;

// Larger reads are checksummed in parts of this size, while the cache still holds them.
constexpr size_t kReadPart = 128 << 10;

bool IsTooShort(const RecordPlace &place) {
  return place.length < format::kRecordHeaderSize + format::kRecordFooterSize;
}

Status CutRecord(std::string_view what) { return {Code::kCorruptData, std::string(what)}; }

Status WrongChecksum() {
  return CutRecord("the record's bytes do not have the checksum that its index says");
}

// Parses a record.  `content` either lies in `kept`, which then becomes the value's memory, or is
// copied, into `blocks` if there are any.
Result<std::optional<ReadTensor>> Parse(const format::RecordParts &parts,
                                        std::shared_ptr<AlignedBuffer> kept,
                                        ValueBlocks *blocks = nullptr) {
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
  } else if (blocks != nullptr) {
    read.value = blocks->CopyOf(event->dtype, event->content, std::move(event->shape));
  } else {
    read.value = tensor::Value::CopyOf(event->dtype, event->content, std::move(event->shape));
  }
  return std::optional<ReadTensor>(std::move(read));
}

// Parses a record from its bytes, which are checked first.
Result<std::optional<ReadTensor>> ParseWhole(const RecordPlace &place, ByteSpan bytes,
                                             ValueBlocks *blocks = nullptr) {
  if (place.crc32c && Crc32c(bytes) != *place.crc32c) return WrongChecksum();
  return Parse({bytes, {}, {}}, nullptr, blocks);
}

// Receives the bytes of one record in order, and writes its elements into the future value's
// memory.
class RecordSink final : public ByteSink {
 public:
  explicit RecordSink(const RecordPlace &place)
      : place_(place), first_(small_.data(), FirstSize(place.length)) {}

  MutableByteSpan Room() override {
    const MutableByteSpan rest = Rest();
    room_ = rest.first(std::min(rest.size(), kReadPart));
    return room_;
  }

  void Advance(size_t count) override {
    if (place_.crc32c) crc32c_ = ExtendCrc32c(crc32c_, room_.first(count));
    received_ += count;
  }

  // Returns success unless the bytes so far prove that this is not a record.
  const Status &State() const { return state_; }

  // Returns the tensor.  Requires that all bytes have arrived.
  Result<std::optional<ReadTensor>> Finish() {
    if (place_.crc32c && crc32c_ != *place_.crc32c) {
      return WrongChecksum();
    }
    if (whole_) return Parse({whole_->Span(), {}, {}}, nullptr);
    if (!content_) return Parse({first_, {}, {}}, nullptr);
    return Parse({first_.first(payload_.offset), content_->Span(), Tail()}, content_);
  }

 private:
  static size_t FirstSize(uint64_t length) { return length <= kSmallRecord ? length : kEnvelope; }

  MutableByteSpan Tail() {
    const uint64_t end = payload_.offset + payload_.size;
    return MutableByteSpan(small_).subspan(kEnvelope, place_.length - end);
  }

  MutableByteSpan Rest() {
    if (received_ < first_.size()) return first_.subspan(received_);
    if (!whole_ && !content_ && state_.IsOk()) state_ = PlaceRest();
    if (!state_.IsOk()) return {};
    if (whole_) return whole_->Span().subspan(received_);
    const uint64_t end = payload_.offset + payload_.size;
    return received_ < end ? content_->Span().subspan(received_ - payload_.offset)
                           : Tail().subspan(received_ - end);
  }

  // Decides where the bytes after the first ones go.
  Status PlaceRest() {
    SMD_ASSIGN_OR_RETURN(const auto payload, format::LocatePayload(first_, place_.length));
    const uint64_t after = payload ? place_.length - payload->offset - payload->size : 0;
    if (!payload || payload->offset + payload->size <= first_.size() || after > kEnvelope) {
      whole_ = std::make_unique<AlignedBuffer>(place_.length);
      std::memcpy(whole_->Data(), first_.data(), first_.size());
      return Status::Ok();
    }
    payload_ = *payload;
    content_ = std::make_shared<AlignedBuffer>(payload_.size);
    const ByteSpan begun = first_.subspan(payload_.offset);
    std::memcpy(content_->Data(), begun.data(), begun.size());
    return Status::Ok();
  }

  const RecordPlace &place_;
  std::array<std::byte, kSmallRecord> small_;  // the first bytes and, for large records, the last
  const MutableByteSpan first_;
  MutableByteSpan room_;
  uint64_t received_ = 0;
  uint32_t crc32c_ = 0;
  format::PayloadSpan payload_{};
  std::shared_ptr<AlignedBuffer> content_;
  std::unique_ptr<AlignedBuffer> whole_;  // for records with an unusual layout
  Status state_;
};

}  // namespace

Result<std::optional<ReadTensor>> ReadRecord(const storage::FileReader &file,
                                             const RecordPlace &place) {
  if (IsTooShort(place)) {
    return CutRecord(StrCat("a record of ", place.length, " bytes is too short to be one"));
  }
  RecordSink sink(place);
  const Status read = file.Read(place.start, place.length, sink);
  SMD_RETURN_IF_ERROR(sink.State());
  SMD_RETURN_IF_ERROR(read);
  return sink.Finish();
}

Result<std::shared_ptr<storage::FileReader>> EventFiles::Open(const std::string &name) {
  std::shared_ptr<storage::FileReader> file;
  bool is_used_often = false;
  {
    const MutexLock lock(mutex_);
    const auto found = std::find_if(opened_.begin(), opened_.end(),
                                    [&](const Opened &each) { return each.name == name; });
    if (found != opened_.end()) {
      opened_.splice(opened_.begin(), opened_, found);
      is_used_often = ++found->uses == kUsesOfSmallFile;
      file = found->file;
    }
  }
  if (is_used_often && ReadsAtOnce() == 1) KeepWhole(name, *file);
  if (file) return file;
  SMD_ASSIGN_OR_RETURN(file, store_->Open(name));
  if (ReadsAtOnce() == 1) {
    const Result<uint64_t> size = file->Size();
    expects_tiny_files_ = size.IsOk() && *size < kTinyFile;
  }
  const MutexLock lock(mutex_);
  opened_.push_front({name, file, 1});
  if (opened_.size() > kMostOpen) opened_.pop_back();
  return file;
}

std::shared_ptr<const AlignedBuffer> EventFiles::KeepWhole(const std::string &name,
                                                           const storage::FileReader &file) {
  const Result<uint64_t> size = file.Size();
  if (!size.IsOk() || *size > SmallFiles::kLargest) return nullptr;
  auto whole = std::make_shared<AlignedBuffer>(*size);
  if (!file.ReadInto(0, whole->Span()).IsOk()) return nullptr;
  small_files_.Keep(name, whole);
  return whole;
}

std::shared_ptr<const AlignedBuffer> EventFiles::ReadWhole(const std::string &name) {
  std::array<std::byte, kTinyFile> memory;  // most files need no more
  const Result<size_t> size = store_->ReadPart(name, 0, memory);
  if (!size.IsOk()) return nullptr;
  expects_tiny_files_ = *size < memory.size();
  if (!expects_tiny_files_) {
    const auto file = store_->Open(name);
    return file.IsOk() ? KeepWhole(name, **file) : nullptr;
  }
  auto whole = std::make_shared<AlignedBuffer>(*size);
  if (*size > 0) std::memcpy(whole->Data(), memory.data(), *size);
  small_files_.Keep(name, whole);
  return whole;
}

std::shared_ptr<const AlignedBuffer> EventFiles::ReadIfTiny(const RecordPlace &place) {
  const bool may_be_tiny = place.crc32c && place.length < kTinyFile &&
                           place.start < kTinyFile - place.length && ReadsAtOnce() == 1;
  return may_be_tiny && expects_tiny_files_ ? ReadWhole(place.file) : nullptr;
}

std::optional<ReadTensor> EventFiles::ReadFrom(const AlignedBuffer *whole, const RecordPlace &place,
                                               ValueBlocks *blocks) {
  // The checksum proves that the file still holds what the index says.
  if (whole == nullptr || !place.crc32c || IsTooShort(place)) return {};
  if (place.start > whole->Size() || place.length > whole->Size() - place.start) return {};
  auto read = ParseWhole(place, whole->Span().subspan(place.start, place.length), blocks);
  return read.IsOk() ? *std::move(read) : std::nullopt;
}

bool EventFiles::BeginMany(const std::string &file, size_t count) {
  {
    const MutexLock lock(mutex_);
    // A reader of a long curve takes one part after the other, and reads no file twice.
    if (begun_.size() >= kMostBegun) begun_.clear();
    if (begun_.insert(file).second) return false;
  }
  const auto opened = store_->Open(file);
  if (!opened.IsOk()) return false;
  const Result<uint64_t> size = (*opened)->Size();
  const bool fit = size.IsOk() && *size <= SmallFiles::kLargest &&
                   count <= SmallFiles::kMostKept / 4 * 3 / (*size + 1);
  if (fit) small_files_.KeepAll();
  return fit;
}

bool EventFiles::IsKept(const RecordPlace &place) {
  const MutexLock lock(mutex_);
  return kept_at_.count({place.file, place.start}) > 0;
}

void EventFiles::Keep(const RecordPlace &place, ReadTensor tensor) {
  const MutexLock lock(mutex_);
  // Another thread may have read it meanwhile.
  const auto [at, is_new] = kept_at_.try_emplace({place.file, place.start});
  if (!is_new) return;
  at->second = kept_.insert(kept_.end(), {place, std::move(tensor)});
  kept_bytes_ += place.length;
  while (kept_bytes_ > kMostKept) Release(kept_.begin());
}

ReadTensor EventFiles::Release(std::list<Kept>::iterator kept) {
  ReadTensor tensor = std::move(kept->tensor);
  kept_bytes_ -= kept->place.length;
  kept_at_.erase({kept->place.file, kept->place.start});
  kept_.erase(kept);
  return tensor;
}

std::optional<ReadTensor> EventFiles::TakeKept(const RecordPlace &place) {
  const MutexLock lock(mutex_);
  if (kept_.empty()) return {};
  const auto found = kept_at_.find({place.file, place.start});
  if (found == kept_at_.end() || found->second->place.length != place.length) return {};
  return Release(found->second);
}

Result<ReadTensor> EventFiles::ReadOnce(const RecordPlace &place, ValueBlocks *blocks,
                                        bool keeps_files) {
  std::shared_ptr<const AlignedBuffer> whole = small_files_.Find(place.file);
  if (!whole && keeps_files && place.crc32c) whole = ReadWhole(place.file);
  if (auto kept = ReadFrom(whole.get(), place, blocks)) return *std::move(kept);
  Result<std::optional<ReadTensor>> read = std::optional<ReadTensor>();
  if (place.length <= kSmallRecord && !IsTooShort(place)) {
    std::array<std::byte, kSmallRecord> memory;
    const MutableByteSpan bytes = MutableByteSpan(memory).first(place.length);
    SMD_ASSIGN_OR_RETURN(const size_t size, store_->ReadPart(place.file, place.start, bytes));
    if (size < bytes.size()) return CutRecord("the file ends before the record does");
    read = ParseWhole(place, bytes, blocks);
  } else {
    SMD_ASSIGN_OR_RETURN(const auto file, store_->Open(place.file));
    read = ReadRecord(*file, place);
  }
  if (!read.IsOk()) return read.GetStatus();
  if (!*read) return CutRecord("it holds no tensor");
  return std::move(**read);
}

std::vector<std::optional<ReadTensor>> EventFiles::ReadAtOnce(std::span<const RecordPlace> places) {
  std::vector<std::optional<ReadTensor>> tensors(places.size());
  std::vector<size_t> indexes;
  std::deque<RecordSink> sinks;
  std::vector<storage::RangeRead> ranges;
  for (size_t i = 0; i < places.size(); ++i) {
    const RecordPlace &place = places[i];
    if (IsTooShort(place)) continue;
    tensors[i] = TakeKept(place);
    if (tensors[i]) continue;
    indexes.push_back(i);
    sinks.emplace_back(place);
    ranges.push_back({place.file, place.start, place.length, &sinks.back()});
  }
  const std::vector<Status> read = store_->ReadRanges(ranges);
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (!read[i].IsOk() || !sinks[i].State().IsOk()) continue;
    auto tensor = sinks[i].Finish();
    if (tensor.IsOk()) tensors[indexes[i]] = *std::move(tensor);
  }
  return tensors;
}

void EventFiles::Prefetch(std::span<const RecordPlace> places) {
  if (ReadsAtOnce() == 1) return;
  std::vector<RecordPlace> wanted;
  uint64_t bytes = 0;
  for (const RecordPlace &place : places) {
    bytes += place.length;
    if (bytes <= kMostKept && !IsKept(place)) wanted.push_back(place);
  }
  auto read = ReadAtOnce(wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (read[i]) Keep(wanted[i], *std::move(read[i]));
  }
}

Result<std::shared_ptr<const AlignedBuffer>> EventFiles::ReadBytes(const std::string &file,
                                                                   uint64_t offset,
                                                                   uint64_t length) {
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::FileReader> reader, Open(file));
  auto bytes = std::make_shared<AlignedBuffer>(length);
  SMD_RETURN_IF_ERROR(reader->ReadInto(offset, bytes->Span()));
  shared_.KeepPart(file, offset, bytes);
  return std::shared_ptr<const AlignedBuffer>(std::move(bytes));
}

Result<ReadTensor> EventFiles::Read(const RecordPlace &place) {
  if (std::optional<ReadTensor> shared = shared_.FindRecord(place)) return *std::move(shared);
  if (const Piece shared = shared_.FindBytes(place); !shared.bytes.empty()) {
    // Damage is reported when the file is read.
    auto read = ParseWhole(place, shared.bytes);
    if (read.IsOk() && *read) return std::move(**read);
  }
  std::optional<ReadTensor> kept = TakeKept(place);
  Result<ReadTensor> read = kept ? Result<ReadTensor>(*std::move(kept)) : ReadFromFile(place);
  if (read.IsOk()) shared_.KeepRecord(place, *read);
  return read;
}

Result<ReadTensor> EventFiles::ReadFromFile(const RecordPlace &place) {
  std::shared_ptr<const AlignedBuffer> whole = small_files_.Find(place.file);
  if (!whole) whole = ReadIfTiny(place);
  if (auto kept = ReadFrom(whole.get(), place, nullptr)) return *std::move(kept);
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::FileReader> file, Open(place.file));
  if (!whole) whole = small_files_.Find(place.file);  // if it is used often
  if (auto kept = ReadFrom(whole.get(), place, nullptr)) return *std::move(kept);
  auto read = ReadRecord(*file, place);
  if (read.IsOk() && *read) return std::move(**read);
  const std::string where = StrCat(store_->Location(), "/", place.file);
  if (!read.IsOk()) {
    const Status status = read.GetStatus();
    if (status.GetCode() != Code::kCorruptData || status.Detail("path") != nullptr) return status;
    return CorruptData(where, StrCat("record at ", place.start, ": ", status.Message()));
  }
  return CorruptData(where, StrCat("record at ", place.start, ": it holds no tensor"));
}

}  // namespace smdebug::analyze
