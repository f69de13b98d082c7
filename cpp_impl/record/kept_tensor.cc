#include "record/kept_tensor.h"

namespace smdebug::record {

KeptTensor::KeptTensor(const tensor::View &view) {
  value_.dtype = view.dtype;
  value_.shape.assign(view.shape.begin(), view.shape.end());
  if (view.dtype == tensor::DType::kString) {
    const auto *texts = static_cast<const char *const *>(view.data);
    value_.strings = std::make_shared<const std::vector<std::string>>(
        texts, texts + view.ElementCount());
    for (const std::string &text : *value_.strings) texts_.push_back(text.c_str());
    return;
  }
  const auto buffer = std::make_shared<AlignedBuffer>(view.ByteCount());
  CopyCompact(view, buffer->Data());
  value_.size = buffer->Size();
  value_.data = std::shared_ptr<const std::byte>(buffer, buffer->Data());
}

tensor::View KeptTensor::AsView() const {
  tensor::View view = value_.AsView();
  if (view.dtype == tensor::DType::kString) view.data = texts_.data();
  return view;
}

}  // namespace smdebug::record
