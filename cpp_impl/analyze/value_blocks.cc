#include "analyze/value_blocks.h"

#include <algorithm>
#include <cstring>

namespace smdebug::analyze {

tensor::Value ValueBlocks::CopyOf(tensor::DType dtype, ByteSpan bytes, std::vector<int64_t> shape) {
  if (expected_ > 0) --expected_;
  if (bytes.empty() || bytes.size() > kLargestValue) {
    return tensor::Value::CopyOf(dtype, bytes, std::move(shape));
  }
  const size_t unit = std::max<size_t>(tensor::DTypeSize(dtype), 1);
  used_ = (used_ + unit - 1) / unit * unit;
  if (!block_ || block_->Size() < used_ + bytes.size()) {
    const size_t wanted = (expected_ + 1) * bytes.size();
    block_ = std::make_shared<AlignedBuffer>(std::clamp(wanted, bytes.size(), kLargestBlock));
    used_ = 0;
  }
  std::byte *const data = block_->Data() + used_;
  std::memcpy(data, bytes.data(), bytes.size());
  used_ += bytes.size();
  tensor::Value value;
  value.dtype = dtype;
  value.shape = std::move(shape);
  value.data = std::shared_ptr<const std::byte>(block_, data);
  value.size = bytes.size();
  return value;
}

std::optional<tensor::Value> ValueBlocks::ValueOf(const KnownNumber &known) {
  const std::optional<ElementBytes> element = ElementOf(known);
  if (!element) return {};
  return CopyOf(known.dtype, element->Span(), std::vector<int64_t>(known.rank, 1));
}

}  // namespace smdebug::analyze
