#include "record/expected_tensors.h"

namespace smdebug::record {
namespace {

// A job that invents a new name at every step must not fill the memory.
constexpr size_t kMostNames = 20'000;

}  // namespace

void ExpectedTensors::Expect(std::string_view name, const SavedParts *parts) {
  auto found = tensors_.find(name);
  if (found == tensors_.end()) found = tensors_.emplace(std::string(name), ExpectedTensor{}).first;
  ExpectedTensor &tensor = found->second;
  if (tensor.round != round_) tensor.missing = 0;
  tensor.is_saved = parts != nullptr;
  if (parts != nullptr) tensor.parts = *parts;
  tensor.round = round_;
  ++tensor.missing;
  ++missing_;
}

ExpectedTensor *ExpectedTensors::Find(std::string_view name) {
  const auto found = tensors_.find(name);
  return found == tensors_.end() || found->second.round != round_ ? nullptr : &found->second;
}

std::string ExpectedTensors::FirstMissing() const {
  const std::string *first = nullptr;
  for (const auto &[name, tensor] : tensors_) {
    if (tensor.round != round_ || tensor.missing == 0) continue;
    if (first == nullptr || name < *first) first = &name;
  }
  return first == nullptr ? std::string() : *first;
}

void ExpectedTensors::Clear() noexcept {
  missing_ = 0;
  ++round_;
  if (tensors_.size() > kMostNames) tensors_.clear();
}

}  // namespace smdebug::record
