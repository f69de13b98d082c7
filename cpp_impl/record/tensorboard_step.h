// What one step shows in TensorBoard.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/mode.h"
#include "format/summary_writer.h"
#include "tensor/view.h"

namespace smdebug::record {

// For one thread.
class TensorboardStep {
 public:
  TensorboardStep(Mode mode, int64_t global_step) : mode_(mode), global_step_(global_step) {}

  // The tensor's only element; nothing of tensors with more, of text and complex numbers.
  void AddScalar(std::string_view name, const tensor::View &view, double wall_time);
  // As "<collection>/<name>".
  void AddHistogram(std::string_view collection, std::string_view name, const tensor::View &view,
                    double wall_time);

  bool IsEmpty() const { return records_.empty(); }
  // "TRAIN/000000000012_<process>_<host>.tfevents"
  std::string FileName() const;
  // The file's bytes.
  std::string Take() { return std::move(records_); }

 private:
  // Begins the file, if that was not done.
  format::SummaryWriter WriterAt(double wall_time);

  const Mode mode_;
  const int64_t global_step_;
  std::string records_;
};

}  // namespace smdebug::record
