#include "record/kept_tensor.h"

#include "base/strings.h"

namespace smdebug::record {

Result<KeptTensor> KeptTensor::Of(const tensor::View &view) {
  KeptTensor kept;
  kept.value_.dtype = view.dtype;
  kept.value_.shape.assign(view.shape.begin(), view.shape.end());
  if (view.dtype == tensor::DType::kString) {
    SMD_RETURN_IF_ERROR(kept.KeepTexts(view));
    return kept;
  }
  const auto buffer = std::make_shared<AlignedBuffer>(view.ByteCount());
  CopyCompact(view, buffer->Data());
  kept.value_.size = buffer->Size();
  kept.value_.data = std::shared_ptr<const std::byte>(buffer, buffer->Data());
  return kept;
}

Status KeptTensor::KeepTexts(const tensor::View &view) {
  // Pointers to texts are strided like integers of their size.
  tensor::View addresses = view;
  addresses.dtype = tensor::DType::kUInt64;
  static_assert(sizeof(const char *) == sizeof(uint64_t));
  std::vector<const char *> texts(static_cast<size_t>(view.ElementCount()));
  CopyCompact(addresses, reinterpret_cast<std::byte *>(texts.data()));
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i] == nullptr) return InvalidArgument(StrCat("text ", i, " of the tensor is NULL"));
  }
  value_.strings = std::make_shared<const std::vector<std::string>>(texts.begin(), texts.end());
  for (const std::string &text : *value_.strings) texts_.push_back(text.c_str());
  return Status::Ok();
}

tensor::View KeptTensor::AsView() const {
  tensor::View view = value_.AsView();
  if (view.dtype == tensor::DType::kString) view.data = texts_.data();
  return view;
}

}  // namespace smdebug::record
