// Decides what is saved of which tensor at the current step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mode.h"
#include "base/result.h"
#include "config/collection.h"
#include "config/collection_set.h"
#include "config/reduction_config.h"
#include "config/save_config.h"
#include "tensor/reduction.h"

namespace smdebug::record {

// The parts of a tensor that are saved, over all collections that select it.
struct SavedParts {
  bool raw = false;
  bool shape = false;
  std::vector<tensor::Reduction> reductions;  // in the order they are written
  // For TensorBoard: the collection that names its histogram, and whether it is a scalar.
  config::CollectionPtr histogram;
  bool scalar = false;

  bool IsNothing() const { return !raw && !shape && reductions.empty(); }
};

// The settings of collections that have none of their own.
struct PlanDefaults {
  config::SaveConfig save_config;
  config::ReductionConfig reduction_config = config::ReductionConfig::Raw();
  std::vector<std::string> included;  // names of collections to save
  bool saves_all = false;             // save every collection
};

// Thread safety: one thread at a time.  Further calls of Find() do not change earlier results.
class StepPlan {
 public:
  // `collections` must outlive the plan.
  StepPlan(const config::CollectionSet &collections, PlanDefaults defaults);

  // Selects the collections that save at this step.  Changes made to collections count from
  // here on.  Fails with INVALID_CONFIG (detail "collection"), before the first step only, if a
  // collection of the user's includes nothing.
  Status Begin(Mode mode, int64_t mode_step);

  // Saves these collections at this step too, whatever their save configs say.
  void Add(const std::vector<std::string> &collections);

  bool SavesAnything() const { return saves_anything_; }
  // Grows when Find() may answer otherwise than before.
  uint64_t Round() const { return round_; }

  // Returns the saved parts of the tensor at this step; NULL if nothing is saved.  Caches names, so
  // that expressions are searched once per name.  Fails if a search exceeds its limit.  The result
  // is valid until the next Begin() or Add().
  Result<const SavedParts *> Find(std::string_view tensor);

  // Like Find(), for a tensor that is saved now: its collections list it from here on.
  Result<const SavedParts *> FindToSave(std::string_view tensor);

  // Returns a sentence for each name in PlanDefaults::included that no collection has.
  std::vector<std::string> Unknown() const;

  // Returns the collections with their effective settings.
  std::vector<config::CollectionPtr> FilledIn() const;

  // Returns the saved parts of a custom tensor of these collections.
  SavedParts FindCustom(const std::vector<config::CollectionPtr> &collections) const;

 private:
  // A collection with its settings filled in.
  struct Planned {
    config::CollectionPtr collection;
    config::SaveConfig save_config;
    config::ReductionConfig reduction_config;
    bool saves_now = false;
  };
  struct Memo {
    std::vector<size_t> members;  // of planned_
    uint64_t round = 0;           // the round in which `parts` was computed
    bool is_noted = false;        // the members list the tensor
    SavedParts parts;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  Status CheckCollections() const;
  void Prepare();
  config::SaveConfig SaveConfigOf(const config::Collection &collection) const;
  config::ReductionConfig ReductionConfigOf(const config::Collection &collection) const;
  Result<Memo *> FindMemo(std::string_view tensor);
  Result<Memo> Remember(std::string_view tensor) const;
  SavedParts Combine(const Memo &memo) const;

  const config::CollectionSet &collections_;
  const PlanDefaults defaults_;
  bool is_checked_ = false;
  uint64_t version_ = 0;  // of the collections that planned_ was made from
  std::vector<Planned> planned_;
  bool saves_anything_ = false;
  uint64_t round_ = 0;  // grows whenever another set of collections saves
  std::unordered_map<std::string, Memo, Hash, std::equal_to<>> memos_;
};

}  // namespace smdebug::record
