#include "base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_descriptor.h"
#include "base/strings.h"

namespace smdebug {
namespace {

constexpr size_t kReadSize = 16384;

Result<std::string> ReadText(int file, const std::string &path, size_t limit) {
  struct stat facts {};
  if (fstat(file, &facts) != 0) return SystemError("reading", path, errno);
  // /dev/null is a common way to specify "no file".
  if (!S_ISREG(facts.st_mode) && !S_ISCHR(facts.st_mode)) {
    return InvalidConfig(StrCat(path, ": is not a regular file"));
  }
  std::string text;
  while (true) {
    const size_t before = text.size();
    text.resize(before + kReadSize);
    const ssize_t got = read(file, text.data() + before, kReadSize);
    const int error = errno;
    text.resize(before + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got < 0 && error == EINTR) continue;
    if (got < 0) return SystemError("reading", path, error);
    if (got == 0) return text;
    if (text.size() > limit) {
      return InvalidConfig(
          StrCat(path, ": is longer than ", limit, " bytes; is it the right file?"));
    }
  }
}

}  // namespace

Result<std::string> ReadSmallFile(const std::string &path, size_t limit) {
  // O_NONBLOCK: a pipe instead of a file must not block.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.IsOpen()) return SystemError("opening", path, errno);
  return ReadText(file.Number(), path, limit);
}

}  // namespace smdebug
