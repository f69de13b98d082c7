#include "record/tensorboard_step.h"

#include <unistd.h>

#include "base/strings.h"
#include "record/run_facts.h"
#include "tensor/statistics.h"

namespace smdebug::record {
format::SummaryWriter TensorboardStep::WriterAt(double wall_time) {
  const format::SummaryWriter writer(global_step_, wall_time);
  if (records_.empty()) writer.AddVersion(&records_);
  return writer;
}

void TensorboardStep::AddScalar(std::string_view name, const tensor::View &view, double wall_time) {
  if (view.ElementCount() != 1) return;
  const auto statistics = tensor::ComputeStatistics(view);
  if (!statistics.IsOk()) return;
  WriterAt(wall_time).AddScalar(format::SummaryTag(name), static_cast<float>(statistics->plain.sum),
                                &records_);
}

void TensorboardStep::AddHistogram(std::string_view collection, std::string_view name,
                                   const tensor::View &view, double wall_time) {
  const auto histogram = tensor::MakeHistogram(view);
  if (!histogram) return;
  const std::string tag = format::SummaryTag(StrCat(collection, "/", name));
  WriterAt(wall_time).AddHistogram(tag, *histogram, &records_);
}

std::string TensorboardStep::FileName() const {
  return StrCat(ModeName(mode_), "/", ZeroPadded(global_step_, 12), "_", getpid(), "_",
                HostName().value_or("host"), ".tfevents");
}

}  // namespace smdebug::record
