// Owns a file descriptor, and makes the few system calls on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/byte_sink.h"
#include "base/bytes.h"
#include "base/result.h"

namespace smdebug {

// Closes the descriptor when destroyed.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() { Reset(); }
  FileDescriptor(FileDescriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor &operator=(FileDescriptor &&other) noexcept {
    if (this != &other) {
      Reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }

  bool IsOpen() const { return number_ >= 0; }
  int Number() const { return number_; }
  void Reset();
  // Resets, and returns the error that the system reports.  `path` is for messages.
  Status Close(const std::string &path);

 private:
  int number_ = -1;
};

// Writes all pieces at the file's position.  Continues after short writes and EINTR.  `path` is for
// messages.
Status WriteAll(const FileDescriptor &file, std::span<const Piece> pieces, const std::string &path);

// Passes `length` bytes, starting at `offset`, to `sink`.  Fails with CORRUPT_DATA if the file ends
// before, or the sink has no room.
Status ReadAll(const FileDescriptor &file, uint64_t offset, uint64_t length, ByteSink &sink,
               const std::string &path);

}  // namespace smdebug
