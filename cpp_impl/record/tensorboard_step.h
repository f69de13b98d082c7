// Encodes one step for TensorBoard.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/mode.h"
#include "format/summary_writer.h"
#include "tensor/view.h"

namespace smdebug::record {

// Thread safety: one thread at a time.
class TensorboardStep {
 public:
  TensorboardStep(Mode mode, int64_t global_step) : mode_(mode), global_step_(global_step) {}

  // Adds the tensor's only element.  Skips tensors with more elements, text and complex numbers.
  void AddScalar(std::string_view name, const tensor::View &view, double wall_time);
  // Adds a histogram as "<collection>/<name>".
  void AddHistogram(std::string_view collection, std::string_view name, const tensor::View &view,
                    double wall_time);

  bool IsEmpty() const { return records_.empty(); }
  // Returns "TRAIN/000000000012_<process>_<host>.tfevents".
  std::string FileName() const;
  // Returns the file's bytes.
  std::string Take() { return std::move(records_); }

 private:
  // Begins the file if that was not done.
  format::SummaryWriter WriterAt(double wall_time);

  const Mode mode_;
  const int64_t global_step_;
  std::string records_;
};

}  // namespace smdebug::record
