#include "storage/growing_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/strings.h"
#include "base/system_calls.h"

namespace smdebug::storage {
namespace {

Status NameIsTaken(const std::string &name) {
  return Status(Code::kTrialExists, StrCat(name, ": exists already")).With("path", name);
}

// Renames without replacing a file.  On failure returns -1 and sets errno.
int RenameNew(int root, const std::string &from, const std::string &to) {
  if (system_calls::RenameNew(root, from.c_str(), to.c_str()) == 0) return 0;
  // Some file systems and sandboxes lack the flag.
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (faccessat(root, to.c_str(), F_OK, 0) == 0) {
    errno = EEXIST;
    return -1;
  }
  return renameat(root, from.c_str(), root, to.c_str());
}

}  // namespace

Result<std::unique_ptr<GrowingFile>> Grow(Store &store, const std::string &temporary_name) {
  if (auto *growing = dynamic_cast<GrowingStore *>(&store)) return growing->Grow(temporary_name);
  return std::unique_ptr<GrowingFile>(std::make_unique<BufferedFile>(store));
}

Status TakeOver(Store &store, const std::string &temporary_name, const UseText &use) {
  auto *growing = dynamic_cast<GrowingStore *>(&store);
  return growing == nullptr ? Status::Ok() : growing->TakeOver(temporary_name, use);
}

Status BufferedFile::Append(std::string_view text) {
  text_.append(text);
  return Status::Ok();
}

Status BufferedFile::Commit(const std::string &name) {
  SMD_ASSIGN_OR_RETURN(const bool exists, store_.Exists(name));
  if (exists) return NameIsTaken(name);
  return store_.WriteText(name, text_, false);
}

Status LocalGrowingFile::Append(std::string_view text) {
  const std::array pieces = {Piece{nullptr, AsBytes(text)}};
  Status written = WriteAll(file_, pieces, path_);
  if (written.IsOk()) {
    size_ += static_cast<int64_t>(text.size());
  } else if (ftruncate(file_.Number(), size_) != 0 || lseek(file_.Number(), size_, SEEK_SET) < 0) {
    return SystemError("cutting back", path_, errno);
  }
  return written;
}

Status LocalGrowingFile::Commit(const std::string &name) {
  const size_t slash = name.rfind('/');
  if (slash != std::string::npos) SMD_RETURN_IF_ERROR(make_folder_(name.substr(0, slash)));
  if (RenameNew(root_.Number(), temporary_name_, name) != 0) {
    if (errno == EEXIST) return NameIsTaken(name);
    return SystemError("renaming to its final name", path_, errno);
  }
  // Some file systems report failed writes only here, when the file has its name already.
  return file_.Close(path_);
}

}  // namespace smdebug::storage
