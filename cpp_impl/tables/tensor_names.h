// Resolves the names of records once for all steps of a trial.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "config/collection_set.h"
#include "tables/request.h"

namespace smdebug::tables {

struct NamedTensor {
  std::string name;
  std::string collection;  // the first that holds it, other than "all" and "default"; or ""
  bool is_wanted = false;
  // Where its row was put last.
  mutable uint64_t row_of = 0;
  mutable size_t row = 0;
  // Its number for the recorder that had it last.
  mutable uint64_t recorder = 0;
  mutable uint32_t recorded_as = 0;
};

// A record's name, resolved.
struct NamedRecord {
  std::string name;
  const NamedTensor *tensor = nullptr;
  std::optional<size_t> statistic;  // nothing: the elements
  bool is_absolute_norm = false;    // its statistic is also the norm of the elements
};

// For one thread at a time.
class TensorNames {
 public:
  // `collections` may be NULL: unknown.
  TensorNames(const Request &request, std::shared_ptr<const config::CollectionSet> collections)
      : request_(request), collections_(std::move(collections)) {}

  // Both fail with INVALID_CONFIG if an expression runs away.  What they return is valid until
  // Trim().
  Result<const NamedRecord *> Record(std::string_view name);
  Result<const NamedTensor *> Tensor(std::string_view name);
  static constexpr size_t kMost = 1'000'000;
  // If there are more names than that, forgets all and returns true.
  bool Trim(size_t most = kMost);

 private:
  Status SetCollection(NamedTensor *tensor) const;

  const Request &request_;
  const std::shared_ptr<const config::CollectionSet> collections_;
  std::unordered_map<std::string_view, std::unique_ptr<NamedTensor>> tensors_;
  std::unordered_map<std::string_view, std::unique_ptr<NamedRecord>> records_;
};

}  // namespace smdebug::tables
