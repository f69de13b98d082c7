#include "replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "smdebug.hpp"

namespace smdebug::cli {
namespace {

[[noreturn]] void Fail(const std::string &path, int error) {
  const smd_code code = error == ENOSPC || error == EDQUOT  ? SMD_NO_SPACE
                        : error == EACCES || error == EROFS ? SMD_PERMISSION
                                                            : SMD_IO;
  throw Error(code, path + ": cannot write the file: " + std::strerror(error));
}

// Returns 0, or the error number.
int WriteAndClose(int file, const std::string &content) {
  size_t written = 0;
  int error = 0;
  while (written < content.size() && error == 0) {
    const ssize_t count = write(file, content.data() + written, content.size() - written);
    if (count >= 0) {
      written += static_cast<size_t>(count);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (close(file) != 0 && error == 0) error = errno;
  return error;
}

bool IsDeviceOrPipe(const std::string &path) {
  struct stat facts {};
  // stat() follows links, such as /dev/stdout.
  return stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

// Returns the mode of the replaced file, or the mode that open(2) gives a new file.
mode_t ModeFor(const std::string &path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode)) return facts.st_mode & 0777;
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

void ReplaceFile(const std::string &path, const std::string &content) {
  if (IsDeviceOrPipe(path)) {
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const int error = file < 0 ? errno : WriteAndClose(file, content);
    if (error != 0) Fail(path, error);
    return;
  }
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) Fail(path, errno);
  int error = fchmod(file, ModeFor(path)) != 0 ? errno : 0;
  if (const int failed = WriteAndClose(file, content); error == 0) error = failed;
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  unlink(temporary.c_str());
  Fail(path, error);
}

}  // namespace smdebug::cli
