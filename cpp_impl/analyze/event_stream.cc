#include "analyze/event_stream.h"

#include <array>

#include "base/strings.h"
#include "format/tfrecord.h"

namespace smdebug::analyze {

Result<EventStream> EventStream::Open(const std::string &path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::Store> store, storage::OpenStore(folder));
  SMD_ASSIGN_OR_RETURN(std::shared_ptr<storage::FileReader> file,
                       store->Open(path.substr(slash + 1)));
  return EventStream(path, std::move(file));
}

Result<std::optional<ReadTensor>> EventStream::Next() {
  SMD_ASSIGN_OR_RETURN(const uint64_t end, file_->Size());
  while (offset_ < end) {
    std::array<std::byte, format::kRecordHeaderSize> header;
    SMD_RETURN_IF_ERROR(file_->ReadInto(offset_, header));
    auto size = format::ParseRecordHeader(header);
    if (!size.IsOk()) {
      return CorruptData(path_, StrCat("record at ", offset_, ": ", size.GetStatus().Message()));
    }
    const RecordPlace place{
        path_, offset_, *size + format::kRecordHeaderSize + format::kRecordFooterSize, {}};
    auto read = ReadRecord(*file_, place);
    if (!read.IsOk()) {
      const Status status = read.GetStatus();
      if (status.GetCode() != Code::kCorruptData) return status;
      return CorruptData(path_, StrCat("record at ", offset_, ": ", status.Message()));
    }
    offset_ += place.length;
    if (*read) return read;
  }
  return std::optional<ReadTensor>();
}

}  // namespace smdebug::analyze
