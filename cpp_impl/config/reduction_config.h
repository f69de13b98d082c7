// What is saved of a tensor: itself, its shape, its reductions.
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
  // Saves nothing but the tensor itself.
  static ReductionConfig Raw();

  // The same reductions (in any order) and switches.
  bool operator==(const ReductionConfig &other) const;

  // In the order they were added, each once.
  const std::vector<tensor::Reduction> &Reductions() const { return reductions_; }
  bool SavesRaw() const { return saves_raw_; }
  bool SavesShape() const { return saves_shape_; }

  void Add(tensor::Reduction reduction);
  // Adds from "min,abs_mean,l1_norm,abs_l2".  INVALID_CONFIG names an unknown one and
  // the nearest known; nothing is added then.
  Status AddList(std::string_view names);
  void SetSavesRaw(bool on) { saves_raw_ = on; }
  void SetSavesShape(bool on) { saves_shape_ = on; }

  // "min,l1_norm,abs_mean,abs_l2_norm": as the original writes them, grouped as
  // reductions, norms, absolute reductions, absolute norms.
  std::string List() const;

  // {"save_raw_tensor": ..., "reductions": "min,l1_norm", "save_shape": ...}, and only
  // with a median {"extra_reductions": "median"}, since the original opens no trial with
  // that among the others.  The switches are also read from the texts "true" and "false"
  // in any case; other keys are passed over, and so is an unknown reduction of a file.
  void WriteJson(JsonWriter &json) const;
  std::string ToJson() const;
  static Result<ReductionConfig> FromJson(const JsonValue &json, Origin origin = Origin::kUser);
  static Result<ReductionConfig> FromJson(std::string_view text);

 private:
  std::vector<tensor::Reduction> reductions_;
  bool saves_raw_ = false;
  bool saves_shape_ = false;
};

// "min", "abs_l1_norm": a reduction's name in configurations.
std::string ReductionConfigName(tensor::Reduction reduction);

}  // namespace smdebug::config
