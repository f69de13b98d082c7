// The collections of one hook or trial, by name, in the order they were made.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "config/collection.h"

namespace smdebug::config {

// Safe from any thread.
class CollectionSet {
 public:
  // The collections a framework-neutral hook begins with: all, default, weights,
  // biases, gradients, losses, with expressions that fit common tensor names.
  static std::vector<CollectionPtr> Defaults();

  // Adds, or replaces the one of the same name in its place.
  void Add(CollectionPtr collection);
  // NULL if there is none of that name.
  CollectionPtr Find(std::string_view name) const;
  CollectionPtr GetOrCreate(std::string_view name);
  std::vector<CollectionPtr> List() const;

  // Changes whenever a collection is added or one of them changes its Version().
  uint64_t Version() const;

 private:
  void AddLocked(CollectionPtr collection) SMD_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::vector<CollectionPtr> collections_ SMD_GUARDED_BY(mutex_);
  std::map<std::string, size_t, std::less<>> places_ SMD_GUARDED_BY(mutex_);
  uint64_t additions_ SMD_GUARDED_BY(mutex_) = 0;
};

// The text of a collections file.
std::string CollectionsToJson(const std::vector<CollectionPtr> &collections, int64_t num_workers);

struct CollectionsFile {
  std::vector<CollectionPtr> collections;
  int64_t num_workers = 1;
};

// Reads such a text; `path` is for messages.  Every key of a collection but its name
// may be missing, and unknown ones are passed over.  Fails with CORRUPT_DATA.
Result<CollectionsFile> CollectionsFromJson(std::string_view text, std::string_view path);

}  // namespace smdebug::config
