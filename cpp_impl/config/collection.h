// A named group of tensors, with optional settings of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/regex.h"
#include "base/result.h"
#include "config/reduction_config.h"
#include "config/save_config.h"

namespace smdebug::config {

// A collection, shared by hooks, trials and callers.  Safe from any thread.
class Collection {
 public:
  // The limit for a file, since each expression is compiled.
  static constexpr size_t kMaxRegexes = 100'000;

  explicit Collection(std::string name) : name_(std::move(name)) {}
  // Creates an independent copy.
  Collection(const Collection &other);

  const std::string &Name() const { return name_; }
  const ProcessMark &Mark() const { return mark_; }

  // Grows with each change that can affect what is saved.  NoteMatch() is not such a change.
  uint64_t Version() const { return version_.load(std::memory_order_acquire); }

  // Includes the tensors that an expression matches.  Repeated expressions are stored once.
  Status Include(std::string_view regex);
  void AddTensor(std::string_view tensor);
  void RemoveTensor(std::string_view tensor);
  // Records a tensor that an expression matched, for the collections file.
  void NoteMatch(std::string_view tensor);

  // Returns true if the tensor was added, or an expression is found in its name.  Fails with
  // INVALID_CONFIG if an expression runs away, or the budget is used up.
  Result<bool> Has(std::string_view tensor) const;
  // Searches for the expressions on this budget.  A new collection has a budget of its own.
  void SetBudget(std::shared_ptr<RegexBudget> budget);
  // Returns true if the collection includes nothing: it has no expressions and no tensors.
  bool IsEmpty() const;

  std::vector<std::string> Regexes() const;
  std::vector<std::string> Tensors() const;  // sorted

  std::optional<SaveConfig> GetSaveConfig() const;
  void SetSaveConfig(std::optional<SaveConfig> config);
  std::optional<ReductionConfig> GetReductionConfig() const;
  void SetReductionConfig(std::optional<ReductionConfig> config);
  bool SavesHistogram() const;
  void SetSavesHistogram(bool on);

  // Writes {"name", "include_regex", "tensor_names", "reduction_config", "save_config",
  // "save_histogram"}, in this order, as the original does.
  void WriteJson(JsonWriter &json) const;
  std::string ToJson() const;
  // Reads that form.  All keys except the name are optional.  If an expression in a file does
  // not compile, it is kept, and Has() fails.
  static Result<std::shared_ptr<Collection>> FromJson(const JsonValue &json,
                                                      Origin origin = Origin::kUser);
  static Result<std::shared_ptr<Collection>> FromJson(std::string_view text);

 private:
  struct Inclusion {
    std::string expression;
    Result<Regex> regex;
  };
  using Inclusions = std::vector<std::shared_ptr<const Inclusion>>;

  static Result<Inclusions> ReadInclusions(const JsonValue &json, Origin origin);
  void Changed() { version_.fetch_add(1, std::memory_order_acq_rel); }

  const std::string name_;
  const ProcessMark mark_;
  std::atomic<uint64_t> version_{0};
  mutable Mutex mutex_;
  // Never modified, only replaced as a whole, so that names are matched without the lock.
  std::shared_ptr<const Inclusions> inclusions_ SMD_GUARDED_BY(mutex_) =
      std::make_shared<const Inclusions>();
  std::shared_ptr<RegexBudget> budget_ SMD_GUARDED_BY(mutex_) = std::make_shared<RegexBudget>();
  std::set<std::string, std::less<>> tensors_ SMD_GUARDED_BY(mutex_);
  std::optional<SaveConfig> save_config_ SMD_GUARDED_BY(mutex_);
  std::optional<ReductionConfig> reduction_config_ SMD_GUARDED_BY(mutex_);
  bool saves_histogram_ SMD_GUARDED_BY(mutex_) = true;
};

using CollectionPtr = std::shared_ptr<Collection>;

}  // namespace smdebug::config
