#include "tables/tensor_names.h"

#include "tensor/reduction.h"

namespace smdebug::tables {

Status TensorNames::SetCollection(NamedTensor *tensor) const {
  const bool is_filtered = !request_.collection.empty();
  bool is_member = false;
  if (collections_) {
    for (const config::CollectionPtr &each : collections_->List()) {
      const std::string &name = each->Name();
      const bool is_named = name != "all" && name != "default";
      if ((!is_named || !tensor->collection.empty()) && name != request_.collection) continue;
      const auto has = each->Has(tensor->name);
      if (!has.IsOk()) return has.GetStatus();
      if (!*has) continue;
      is_member = is_member || name == request_.collection;
      if (is_named && tensor->collection.empty()) tensor->collection = name;
    }
  }
  if (is_filtered && !is_member) tensor->is_wanted = false;
  return Status::Ok();
}

Result<const NamedTensor *> TensorNames::Tensor(std::string_view name) {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second.get();
  auto tensor = std::make_unique<NamedTensor>();
  tensor->name = name;  // as it is in files: index files hold only UTF-8
  SMD_ASSIGN_OR_RETURN(tensor->is_wanted, request_.WantsTensor(name));
  if (tensor->is_wanted) SMD_RETURN_IF_ERROR(SetCollection(tensor.get()));
  const std::string_view key = tensor->name;
  return tensors_.emplace(key, std::move(tensor)).first->second.get();
}

Result<const NamedRecord *> TensorNames::Record(std::string_view name) {
  const auto found = records_.find(name);
  if (found != records_.end()) return found->second.get();
  auto record = std::make_unique<NamedRecord>();
  record->name = name;
  std::string_view of = name;
  if (const auto saved = tensor::ParseReductionTensorName(name)) {
    record->statistic = StatisticOf(saved->reduction);
    record->is_absolute_norm = saved->reduction.absolute && saved->reduction.IsNorm();
    of = saved->tensor;
  }
  SMD_ASSIGN_OR_RETURN(record->tensor, Tensor(of));
  const std::string_view key = record->name;
  return records_.emplace(key, std::move(record)).first->second.get();
}

bool TensorNames::Trim(size_t most) {
  if (records_.size() <= most && tensors_.size() <= most) return false;
  records_.clear();
  tensors_.clear();
  return true;
}

}  // namespace smdebug::tables
