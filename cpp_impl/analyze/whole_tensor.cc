#include "analyze/whole_tensor.h"

#include <cstring>
#include <utility>

#include "base/strings.h"
#include "tensor/statistics.h"

namespace smdebug::analyze {
namespace {

std::string ShapeText(const std::vector<int64_t> &shape) {
  std::vector<std::string> sizes;
  sizes.reserve(shape.size());
  for (const int64_t size : shape) sizes.push_back(std::to_string(size));
  return StrCat("(", Join(sizes, ", "), ")");
}

bool IsSame(const tensor::Value &a, const tensor::Value &b) {
  if (a.dtype != b.dtype || a.shape != b.shape || a.size != b.size) return false;
  if (a.strings && b.strings) return *a.strings == *b.strings;
  return a.size == 0 || std::memcmp(a.data.get(), b.data.get(), a.size) == 0;
}

// Copies the elements of a part into the whole: runs of elements that are contiguous in both.
void Copy(const config::Placement &placement, size_t element, const std::byte *from,
          std::byte *whole) {
  const std::vector<int64_t> &part = placement.part;
  size_t inner = placement.is_flat || part.empty() ? 0 : part.size() - 1;
  while (inner > 0 && part[inner] == placement.shape[inner]) --inner;
  size_t run = element;
  for (size_t i = inner; i < part.size(); ++i) run *= static_cast<size_t>(part[i]);
  std::vector<int64_t> index(inner, 0);
  for (bool is_done = run == 0 || placement.ElementCount() == 0; !is_done;) {
    int64_t at = 0;
    for (size_t i = 0; i < placement.offset.size(); ++i) {
      const int64_t size = placement.is_flat ? 1 : placement.shape[i];
      at = at * size + placement.offset[i] + (i < inner ? index[i] : 0);
    }
    std::memcpy(whole + static_cast<size_t>(at) * element, from, run);
    from += run;
    size_t i = inner;
    while (i > 0 && ++index[i - 1] == part[i - 1]) index[--i] = 0;
    is_done = i == 0;
  }
}

}  // namespace

std::string WholeTensor::Place() const {
  return StrCat("tensor '", tensor_.Name(), "' at ", ModeName(mode_), " step ", step_);
}

Status WholeTensor::Wrong(std::string_view what) const {
  return Status(Code::kWrongState, StrCat(Place(), ": ", what))
      .With("tensor", tensor_.Name())
      .With("step", std::to_string(step_))
      .With("mode", std::string(ModeName(mode_)));
}

Status WholeTensor::Add(const config::Placement *placement, const std::string &worker) {
  if (parts_.empty()) {
    parts_.push_back({placement, {worker}});
    return Status::Ok();
  }
  if ((placement != nullptr) != HasPlacements()) {
    return Wrong(StrCat("only one of ", parts_.front().workers.front(), " and ", worker,
                        " has recorded which part it holds; read the value of one worker"));
  }
  for (Part &part : parts_) {
    if (placement == nullptr || part.placement->IsSamePart(*placement)) {
      part.workers.push_back(worker);
      return Status::Ok();
    }
    if (part.placement->shape != placement->shape || part.placement->Overlaps(*placement)) {
      return Wrong(StrCat("the parts of ", part.workers.front(), " and ", worker,
                          " do not fit together; read the value of one worker"));
    }
  }
  parts_.push_back({placement, {worker}});
  return Status::Ok();
}

// Drops empty parts: some workers save them, some do not.
Status WholeTensor::CheckIsComplete() {
  if (!HasPlacements()) return Status::Ok();
  int64_t count = 0;
  for (const Part &part : parts_) count += part.placement->ElementCount();
  const int64_t whole = parts_.front().placement->WholeCount();
  if (count != whole) {
    return Wrong(StrCat("not all workers have saved their parts: there are ", count, " of ", whole,
                        " elements; record with include_workers=\"all\""));
  }
  if (whole > 0) {
    std::erase_if(parts_, [](const Part &part) { return part.placement->ElementCount() == 0; });
  }
  return Status::Ok();
}

Result<WholeTensor> WholeTensor::Find(const Tensor &tensor, int64_t step, Mode mode) {
  SMD_ASSIGN_OR_RETURN(const std::vector<std::string> workers, tensor.Workers(step, mode));
  WholeTensor whole(tensor, step, mode);
  for (const std::string &worker : workers) {
    SMD_RETURN_IF_ERROR(whole.Add(tensor.PlacementAt(worker), worker));
  }
  if (!whole.HasPlacements() && workers.size() > 1) {
    // A running job may have written them since.
    SMD_RETURN_IF_ERROR(tensor.GetTrial()->RereadCollections());
    if (tensor.PlacementAt(workers.front()) != nullptr) return Find(tensor, step, mode);
  }
  SMD_RETURN_IF_ERROR(whole.CheckIsComplete());
  return whole;
}

Result<std::vector<int64_t>> WholeTensor::Shape() const {
  if (HasPlacements()) return parts_.front().placement->shape;
  std::vector<int64_t> shape;
  for (const std::string &worker : parts_.front().workers) {
    SMD_ASSIGN_OR_RETURN(std::vector<int64_t> found, tensor_.Shape(step_, mode_, worker));
    if (&worker != &parts_.front().workers.front() && found != shape) {
      return Wrong("the workers have saved different shapes, and not how they fit together");
    }
    shape = std::move(found);
  }
  return shape;
}

// ---- elements --------------------------------------------------------------------------

Result<bool> WholeTensor::HasElements() const {
  for (const Part &part : parts_) {
    std::vector<RecordPlace> places;
    const Status found = tensor_.AddPlace(step_, mode_, part.workers.front(), &places);
    if (found.GetCode() == Code::kValueUnavailable) return false;
    SMD_RETURN_IF_ERROR(found);
  }
  return true;
}

Status WholeTensor::CheckPlace(const Part &part, const tensor::Value &value) const {
  if (value.shape == part.placement->part) return Status::Ok();
  return Wrong(StrCat(part.workers.front(), " has saved the shape ", ShapeText(value.shape),
                      ", but recorded a part of the shape ", ShapeText(part.placement->part),
                      "; read the value of one worker"));
}

Result<tensor::Value> WholeTensor::ReadPart(const Part &part) const {
  SMD_ASSIGN_OR_RETURN(tensor::Value value, tensor_.Value(step_, mode_, part.workers.front()));
  for (size_t i = 1; i < part.workers.size(); ++i) {
    SMD_ASSIGN_OR_RETURN(const tensor::Value other, tensor_.Value(step_, mode_, part.workers[i]));
    if (IsSame(value, other)) continue;
    return Wrong(StrCat(part.workers.front(), " and ", part.workers[i],
                        " have saved different values",
                        HasPlacements() ? " of the same part" : ", and not how they fit together",
                        "; read the value of one worker"));
  }
  return value;
}

// The memory for the whole is taken only if the files hold as much.
Status WholeTensor::CheckFits(const tensor::Value &first) const {
  std::vector<RecordPlace> places;
  for (const Part &part : parts_) {
    SMD_RETURN_IF_ERROR(tensor_.AddPlace(step_, mode_, part.workers.front(), &places));
  }
  uint64_t most = 0;
  for (const RecordPlace &place : places) most += place.length;
  const size_t size = tensor::DTypeSize(first.dtype);
  if (size == 0) return Wrong("texts cannot be put together; read the value of one worker");
  const auto count = static_cast<uint64_t>(parts_.front().placement->WholeCount());
  if (count <= most / size) return Status::Ok();
  return Wrong("its files are shorter than the whole of which they hold parts");
}

Result<tensor::Value> WholeTensor::Value() const {
  SMD_ASSIGN_OR_RETURN(tensor::Value value, ReadPart(parts_.front()));
  if (!HasPlacements()) return value;
  SMD_RETURN_IF_ERROR(CheckFits(value));
  const config::Placement &whole = *parts_.front().placement;
  const size_t size = tensor::DTypeSize(value.dtype);
  auto elements = std::make_shared<AlignedBuffer>(static_cast<size_t>(whole.WholeCount()) * size);
  for (const Part &part : parts_) {
    if (&part != &parts_.front()) {
      const tensor::DType dtype = value.dtype;
      SMD_ASSIGN_OR_RETURN(value, ReadPart(part));
      if (value.dtype != dtype) return Wrong("its parts are of different dtypes");
    }
    SMD_RETURN_IF_ERROR(CheckPlace(part, value));
    Copy(*part.placement, size, value.data.get(), elements->Data());
  }
  value.shape = whole.shape;
  value.size = elements->Size();
  const std::byte *data = elements->Data();
  value.data = std::shared_ptr<const std::byte>(std::move(elements), data);
  return value;
}

}  // namespace smdebug::analyze
