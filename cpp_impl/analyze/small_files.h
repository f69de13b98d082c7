// Keeps the contents of small event files that are read again and again.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/bytes.h"
#include "base/mutex.h"

namespace smdebug::analyze {

// Forgets the files used longest ago when it would keep too much.  Safe from any thread.
//
// Who reads the tensors of one step after the other comes back to no file, and memory that is used
// again is faster than new memory.  So few files are kept until one that was forgotten is kept once
// more.
class SmallFiles {
 public:
  // The most bytes of a file, of all files, and of all files at first.
  static constexpr uint64_t kLargest = uint64_t{256} << 10;
  static constexpr uint64_t kMostKept = uint64_t{64} << 20;
  static constexpr uint64_t kKeptAtFirst = uint64_t{1} << 20;

  // Returns the content of the file, or NULL.
  std::shared_ptr<const AlignedBuffer> Find(const std::string &name);

  // Keeps as much as it may from here on: each file will be used again.
  void KeepAll();

  // Does nothing if the file is too large.
  void Keep(const std::string &name, std::shared_ptr<const AlignedBuffer> content);

 private:
  // What a kept file costs besides its bytes, about.
  static constexpr uint64_t kOverhead = 256;
  struct Kept {
    std::string name;
    std::shared_ptr<const AlignedBuffer> content;

    uint64_t Cost() const { return content->Size() + kOverhead; }
  };

  void Forget(const Kept &kept) SMD_REQUIRES(mutex_);

  Mutex mutex_;
  uint64_t most_ SMD_GUARDED_BY(mutex_) = kKeptAtFirst;
  // Hashes of the names of files that were forgotten while few were kept.
  std::unordered_set<size_t> forgotten_ SMD_GUARDED_BY(mutex_);
  std::list<Kept> kept_ SMD_GUARDED_BY(mutex_);  // the most recently used in front
  std::unordered_map<std::string_view, std::list<Kept>::iterator> by_name_ SMD_GUARDED_BY(mutex_);
  uint64_t bytes_ SMD_GUARDED_BY(mutex_) = 0;
};

}  // namespace smdebug::analyze
