// Selects what a collection saves of each tensor: the tensor itself, its shape, its reductions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "config/json_settings.h"
#include "tensor/reduction.h"

namespace smdebug::config {

class ReductionConfig {
 public:
  // Returns a config that saves only the tensor itself.
  static ReductionConfig Raw();

  // Returns true if the reductions (in any order) and the switches are equal.
  bool operator==(const ReductionConfig &other) const;

  // Returns the reductions in the order they were added, without repetitions.
  const std::vector<tensor::Reduction> &Reductions() const { return reductions_; }
  bool SavesRaw() const { return saves_raw_; }
  bool SavesShape() const { return saves_shape_; }

  void Add(tensor::Reduction reduction);
  // Adds the reductions of a list such as "min,abs_mean,l1_norm,abs_l2".  Fails with
  // INVALID_CONFIG, and adds nothing, if a name is unknown; the message suggests the most
  // similar name.
  Status AddList(std::string_view names);
  void SetSavesRaw(bool on) { saves_raw_ = on; }
  void SetSavesShape(bool on) { saves_shape_ = on; }

  // Returns "min,l1_norm,abs_mean,abs_l2_norm".  Like the original, groups them as reductions,
  // norms, absolute reductions and absolute norms.
  std::string List() const;

  // Writes {"save_raw_tensor": ..., "reductions": "min,l1_norm", "save_shape": ...}.  If there
  // is a median, adds "extra_reductions": "median": the original refuses to open a trial with
  // "median" in "reductions".  FromJson() also reads the switches from the texts "true" and
  // "false" in any case.  It ignores other keys, and unknown reductions in a file.
  void WriteJson(JsonWriter &json) const;
  std::string ToJson() const;
  static Result<ReductionConfig> FromJson(const JsonValue &json, Origin origin = Origin::kUser);
  static Result<ReductionConfig> FromJson(std::string_view text);

 private:
  std::vector<tensor::Reduction> reductions_;
  bool saves_raw_ = false;
  bool saves_shape_ = false;
};

// Returns a reduction's name in configurations: "min", "abs_l1_norm".
std::string ReductionConfigName(tensor::Reduction reduction);

}  // namespace smdebug::config
