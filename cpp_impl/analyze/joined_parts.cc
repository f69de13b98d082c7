#include "analyze/joined_parts.h"

#include <cstring>
#include <utility>

#include "base/strings.h"
#include "format/index_json.h"
#include "tensor/view.h"

namespace smdebug::analyze {
namespace {

Status Damaged(std::string message) { return {Code::kCorruptData, std::move(message)}; }

}  // namespace

Status JoinedParts::Begin(const ReadTensor &first, std::span<const RecordPlace> places) {
  SMD_ASSIGN_OR_RETURN(const int64_t count, tensor::CountElements(shape_));
  uint64_t most = 0;  // the elements take less than their records
  for (const RecordPlace &place : places) most += place.length;
  const size_t size = tensor::DTypeSize(first.value.dtype);
  if (size == 0 || static_cast<uint64_t>(count) > most / size) {
    return Damaged(StrCat("the parts of '", name_, "' do not hold the tensor of the index"));
  }
  elements_ = std::make_shared<AlignedBuffer>(static_cast<size_t>(count) * size);
  whole_.name = name_;
  whole_.context = first.context;
  whole_.value.dtype = first.value.dtype;
  whole_.value.shape = shape_;
  whole_.value.size = elements_->Size();
  return Status::Ok();
}

Status JoinedParts::Add(const ReadTensor &part, std::span<const RecordPlace> places) {
  const std::string name = format::PartName(name_, added_);
  if (part.name != name) {
    return Damaged(StrCat("holds '", part.name, "' where the index says '", name, "'"));
  }
  if (added_++ == 0) SMD_RETURN_IF_ERROR(Begin(part, places));
  const ByteSpan bytes = part.value.Bytes();
  if (part.value.dtype != whole_.value.dtype || bytes.size() > elements_->Size() - filled_) {
    return Damaged(StrCat("'", name, "' does not fit the tensor of the index"));
  }
  if (!bytes.empty()) std::memcpy(elements_->Data() + filled_, bytes.data(), bytes.size());
  filled_ += bytes.size();
  return Status::Ok();
}

Result<ReadTensor> JoinedParts::Take() {
  if (!elements_ || filled_ != elements_->Size()) {
    return Damaged(StrCat("parts of '", name_, "' are missing"));
  }
  const std::byte *data = elements_->Data();
  whole_.value.data = std::shared_ptr<const std::byte>(std::move(elements_), data);
  return std::move(whole_);
}

}  // namespace smdebug::analyze
