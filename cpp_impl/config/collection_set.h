// The collections of one hook or trial, by name, in order of creation.
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
#include "config/metadata.h"
#include "config/placement.h"

namespace smdebug::config {

// Safe from any thread.
class CollectionSet {
 public:
  // Returns the initial collections of a framework-neutral hook: all, default, weights,
  // biases, gradients and losses, with expressions for common tensor names.
  static std::vector<CollectionPtr> Defaults();

  // Adds a collection, or replaces the collection with the same name in place.
  void Add(CollectionPtr collection);
  // Returns NULL if there is no collection with this name.
  CollectionPtr Find(std::string_view name) const;
  CollectionPtr GetOrCreate(std::string_view name);
  std::vector<CollectionPtr> List() const;

  // The shared budget for searches of all expressions of these collections.

  // Changes whenever a collection is added or one of them changes its Version().
  uint64_t Version() const;

 private:
  void AddLocked(CollectionPtr collection) SMD_REQUIRES(mutex_);

  const std::shared_ptr<RegexBudget> budget_ = std::make_shared<RegexBudget>();
  mutable Mutex mutex_;
  std::vector<CollectionPtr> collections_ SMD_GUARDED_BY(mutex_);
  std::map<std::string, size_t, std::less<>> places_ SMD_GUARDED_BY(mutex_);
  uint64_t additions_ SMD_GUARDED_BY(mutex_) = 0;
};

// Returns the text of a collections file.
std::string CollectionsToJson(const std::vector<CollectionPtr> &collections, int64_t num_workers,
                              const Placements &placements = {}, const Metadata &metadata = {},
                              bool has_ended = false);

struct CollectionsFile {
  std::vector<CollectionPtr> collections;
  int64_t num_workers = 1;
  Placements placements;
  Metadata metadata;
  bool has_ended = false;  // the worker of several that wrote it
};

// Reads such a text; `path` is for messages.  All keys of a collection except its name are
// optional; unknown keys of a collection and of "_meta" are ignored.  Fails with CORRUPT_DATA.
Result<CollectionsFile> CollectionsFromJson(std::string_view text, std::string_view path);

}  // namespace smdebug::config
