#include "config/placement.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "config/json_settings.h"
#include "tensor/view.h"

namespace smdebug::config {
namespace {

constexpr size_t kMaxRank = tensor::kMaxRank;
constexpr int64_t kLargest = (int64_t{1} << 53) - 1;  // JSON readers round larger numbers

Status CheckSizes(const std::vector<int64_t> &sizes, std::string_view what) {
  if (sizes.size() > kMaxRank) {
    return InvalidArgument(StrCat("the ", what, " has ", sizes.size(), " numbers, at most ",
                                  kMaxRank, " are allowed"));
  }
  for (const int64_t size : sizes) {
    if (size > kLargest) return InvalidArgument(StrCat("the ", what, " has a size of ", size));
  }
  return tensor::CountElements(sizes).GetStatus();
}

Status CheckInside(int64_t offset, int64_t size, int64_t whole) {
  if (offset >= 0 && offset <= whole && size <= whole - offset) return Status::Ok();
  return InvalidArgument(
      StrCat("a part of ", size, " that begins at ", offset, " is not inside a tensor of ", whole));
}

int64_t CountOf(const std::vector<int64_t> &sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

void WriteNumbers(JsonWriter &json, std::string_view key, const std::vector<int64_t> &numbers) {
  json.Key(key);
  json.BeginArray();
  for (const int64_t number : numbers) json.Int(number);
  json.EndArray();
}

Result<std::vector<int64_t>> ReadNumbers(const JsonValue &json, std::string_view key) {
  const std::optional<JsonValue> given = FindGiven(json, key);
  if (!given) return InvalidConfig(StrCat(json.Place(), ": '", key, "' is missing"));
  if (!given->IsArray()) {
    return InvalidConfig(StrCat(given->Place(), ": expected a list, found ", given->Kind()));
  }
  std::vector<int64_t> numbers;
  for (const JsonValue &item : given->Items()) {
    SMD_ASSIGN_OR_RETURN(const int64_t number, item.Int());
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

Status Placement::Check() const {
  SMD_RETURN_IF_ERROR(CheckSizes(shape, "shape of the whole"));
  SMD_RETURN_IF_ERROR(CheckSizes(part, "shape of the part"));
  SMD_RETURN_IF_ERROR(CheckSizes(mesh, "mesh"));
  const size_t rank = is_flat ? 1 : shape.size();
  if (offset.size() != rank || part.size() != rank) {
    return InvalidArgument(StrCat("the offset has ", offset.size(), " and the part ", part.size(),
                                  " numbers; both must have ", rank));
  }
  if (is_flat) SMD_RETURN_IF_ERROR(CheckInside(offset[0], part[0], CountOf(shape)));
  for (size_t i = 0; !is_flat && i < rank; ++i) {
    SMD_RETURN_IF_ERROR(CheckInside(offset[i], part[i], shape[i]));
  }
  if (mesh.size() != split.size()) {
    return InvalidArgument("each dimension of the mesh must say which dimension it splits, or -1");
  }
  const auto dimensions = static_cast<int64_t>(shape.size());
  for (const int64_t each : split) {
    if (each >= -1 && each < dimensions) continue;
    return InvalidArgument(
        StrCat("the tensor has no dimension ", each, " that a mesh could split"));
  }
  return Status::Ok();
}

int64_t Placement::ElementCount() const { return CountOf(part); }

int64_t Placement::WholeCount() const { return CountOf(shape); }

bool Placement::IsSamePart(const Placement &other) const {
  return is_flat == other.is_flat && shape == other.shape && offset == other.offset &&
         part == other.part;
}

bool Placement::Overlaps(const Placement &other) const {
  if (ElementCount() == 0 || other.ElementCount() == 0) return false;
  if (offset.size() != other.offset.size()) return true;  // not comparable
  for (size_t i = 0; i < offset.size(); ++i) {
    if (offset[i] >= other.offset[i] + other.part[i]) return false;
    if (other.offset[i] >= offset[i] + part[i]) return false;
  }
  return true;
}

void Placement::WriteJson(JsonWriter &json) const {
  json.BeginObject();
  WriteNumbers(json, "shape", shape);
  WriteNumbers(json, "offset", offset);
  WriteNumbers(json, "part", part);
  if (is_flat) {
    json.Key("flat");
    json.Bool(true);
  }
  if (!mesh.empty()) {
    WriteNumbers(json, "mesh", mesh);
    WriteNumbers(json, "split", split);
  }
  json.EndObject();
}

Result<Placement> Placement::FromJson(const JsonValue &json) {
  SMD_RETURN_IF_ERROR(CheckIsObject(json));
  Placement read;
  SMD_ASSIGN_OR_RETURN(read.shape, ReadNumbers(json, "shape"));
  SMD_ASSIGN_OR_RETURN(read.offset, ReadNumbers(json, "offset"));
  SMD_ASSIGN_OR_RETURN(read.part, ReadNumbers(json, "part"));
  if (const std::optional<JsonValue> flat = FindGiven(json, "flat")) {
    SMD_ASSIGN_OR_RETURN(read.is_flat, flat->Bool());
  }
  if (FindGiven(json, "mesh")) {
    SMD_ASSIGN_OR_RETURN(read.mesh, ReadNumbers(json, "mesh"));
    SMD_ASSIGN_OR_RETURN(read.split, ReadNumbers(json, "split"));
  }
  const Status checked = read.Check();
  if (checked.IsOk()) return read;
  return InvalidConfig(StrCat(json.Place(), ": ", checked.Message()));
}

void WritePlacements(const Placements &placements, JsonWriter &json) {
  json.BeginObject();
  for (const auto &[tensor, placement] : placements) {
    json.Key(tensor);
    placement->WriteJson(json);
  }
  json.EndObject();
}

Result<Placements> ReadPlacements(const JsonValue &json) {
  SMD_RETURN_IF_ERROR(CheckIsObject(json));
  Placements placements;
  for (const auto &[tensor, value] : json.Members()) {
    SMD_ASSIGN_OR_RETURN(Placement placement, Placement::FromJson(value));
    placements[tensor] = std::make_shared<const Placement>(std::move(placement));
  }
  return placements;
}

void PlacementSet::Set(std::string_view tensor, Placement placement) {
  auto shared = std::make_shared<const Placement>(std::move(placement));
  const MutexLock lock(mutex_);
  const auto known = placements_.find(tensor);
  if (known == placements_.end()) {
    placements_.emplace(tensor, std::move(shared));
  } else if (*known->second == *shared) {
    return;
  } else {
    known->second = std::move(shared);
  }
  ++version_;
}

Placements PlacementSet::List() const {
  const MutexLock lock(mutex_);
  return placements_;
}

uint64_t PlacementSet::Version() const {
  const MutexLock lock(mutex_);
  return version_;
}

}  // namespace smdebug::config
