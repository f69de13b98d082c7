#include "storage/store.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "storage/local_store.h"
#include "storage/s3_store.h"

namespace smdebug::storage {
namespace {

Status WriteWhole(FileWriter &file, std::string_view text, bool durable) {
  const std::array pieces = {Piece{nullptr, AsBytes(text)}};
  SMD_RETURN_IF_ERROR(file.Append(pieces));
  return file.Commit(durable);
}

}  // namespace

Status FileReader::ReadInto(uint64_t offset, MutableByteSpan out) const {
  SpanSink sink(out);
  return Read(offset, out.size(), sink);
}

Result<bool> Store::Exists(const std::string &name) {
  SMD_ASSIGN_OR_RETURN(const std::optional<double> modified, ModifiedAt(name));
  return modified.has_value();
}

Result<std::string> Store::ReadText(const std::string &name, uint64_t limit) {
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<FileReader> file, Open(name));
  SMD_ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  if (size > limit) {
    return Unsupported(StrCat(Location(), "/", name, ": ", size,
                              " bytes are more than this kind of file may have (", limit, ")"))
        .With("path", name);
  }
  std::string text(size, '\0');
  SMD_RETURN_IF_ERROR(file->ReadInto(0, {reinterpret_cast<std::byte *>(text.data()), text.size()}));
  return text;
}

Result<size_t> Store::ReadPart(const std::string &name, uint64_t offset, MutableByteSpan out) {
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<FileReader> file, Open(name));
  SMD_ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  if (offset >= size) return size_t{0};
  out = out.first(std::min<uint64_t>(out.size(), size - offset));
  SMD_RETURN_IF_ERROR(file->ReadInto(offset, out));
  return out.size();
}

std::vector<Result<std::string>> Store::ReadTexts(std::span<const std::string> names) {
  std::vector<Result<std::string>> texts;
  texts.reserve(names.size());
  for (const std::string &name : names) texts.push_back(ReadText(name));
  return texts;
}

std::vector<Status> Store::ReadRanges(std::span<const RangeRead> ranges) {
  std::vector<Status> read;
  read.reserve(ranges.size());
  std::string_view name;  // of `file`
  Result<std::shared_ptr<FileReader>> file(std::shared_ptr<FileReader>{});
  for (const RangeRead &range : ranges) {
    if (range.name != name || name.empty()) file = Open(range.name);
    name = range.name;
    read.push_back(file.IsOk() ? (*file)->Read(range.offset, range.length, *range.sink)
                               : file.GetStatus());
  }
  return read;
}

Status Store::WriteText(const std::string &name, std::string_view text, bool durable) {
  SMD_ASSIGN_OR_RETURN(const std::unique_ptr<FileWriter> file, Create(name));
  return WriteWhole(*file, text, durable);
}

Status Store::WriteSharedText(const std::string &name, std::string_view text,
                              std::string_view writer, Older older, bool durable) {
  SMD_ASSIGN_OR_RETURN(const std::unique_ptr<FileWriter> file, CreateShared(name, writer, older));
  return WriteWhole(*file, text, durable);
}

Result<std::shared_ptr<Store>> OpenStore(std::string_view path, const StoreOptions &options,
                                         const Logger &logger) {
  path = Trim(path);
  if (path.empty()) return InvalidArgument("the path of the trial is empty");
  if (path.find('\0') != std::string_view::npos) {
    return InvalidArgument("the path of the trial holds a NUL character");
  }
  if (path.starts_with("s3://")) return S3Store::At(path, options, logger);
  if (path.starts_with("s3:")) {
    return InvalidArgument(StrCat(path, ": is no address in S3; write it as s3://bucket/prefix"));
  }
  if (const size_t scheme = path.find("://"); scheme != std::string_view::npos) {
    return Unsupported(StrCat(path, ": unknown kind of path '", path.substr(0, scheme),
                              "://'; give a folder or s3://bucket/prefix"))
        .With("path", std::string(path));
  }
  SMD_ASSIGN_OR_RETURN(std::shared_ptr<Store> store, LocalStore::At(path));
  return store;
}

}  // namespace smdebug::storage
