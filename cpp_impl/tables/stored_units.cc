#include "tables/stored_units.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/strings.h"
#include "format/paths.h"
#include "tables/row_writer.h"

namespace smdebug::tables {
namespace {

using format::StoredList;
using format::StoredRows;
using format::StoredStep;

// A step that was written so long ago is finished.  File systems stamp two changes with one time
// only if less than some seconds lie between them.
constexpr double kQuietSeconds = 60;

}  // namespace

bool StoredUnits::CanServe(const Request &request) {
  const Reads reads = ReadsFor(request);
  if (request.table == Table::kScalars) return true;
  return request.table == Table::kTensors && !reads.elements && !reads.computes;
}

StoredUnits::StoredUnits(RowCache *cache, const Request &request,
                         std::shared_ptr<storage::Store> store, const Reads &reads,
                         std::shared_ptr<const config::CollectionSet> collections)
    : cache_(cache),
      request_(request),
      location_(store->Location()),
      reads_(reads),
      row_files_(std::move(store), request.steps, cache),
      names_(request, std::move(collections)) {}

std::vector<StepFile> StoredUnits::Begin(std::vector<ListedStep> listed) {
  std::vector<StepFile> wanted;
  for (ListedStep &each : listed) {
    StepFile &file = each.file;
    const int64_t thousand = file.step / format::kStepsPerBucket;
    Unit &unit = units_[{thousand, file.worker}];
    unit.worker = file.worker;
    unit.thousand = thousand;
    unit.newest = std::max(unit.newest, each.modified_at);
    ++unit.listed;
    if (!request_.steps.Holds(file.step) || !request_.WantsWorker(file.worker)) continue;
    files_.push_back({&unit, unit.steps.size()});
    unit.steps.push_back(
        {.step = file.step, .name = file.name, .version = std::move(each.version)});
    unit.facts.push_back({each.size, each.modified_at});
    wanted.push_back(std::move(file));
  }
  return wanted;
}

std::string StoredUnits::KeyOf(const Unit &unit) const {
  const uint32_t others = (reads_.time ? 1U : 0U) | (reads_.type ? 2U : 0U);
  return StrCat(location_, "\n", unit.worker, "\n", unit.thousand, "\n", TableName(request_.table),
                "\n", reads_.statistics, "\n", others);
}

bool StoredUnits::HasColumns(const StoredRows &rows) const {
  const bool is_scalars = request_.table == Table::kScalars;
  const int columns = is_scalars ? 1 : std::popcount(reads_.statistics);
  if (rows.numbers.size() != static_cast<size_t>(columns) || rows.times.size() != rows.Rows()) {
    return false;
  }
  const auto has_types = [](const StoredList &list) {
    return list.dtypes.size() == list.Rows() && list.shape_of.size() == list.Rows();
  };
  return !reads_.type || std::all_of(rows.lists.begin(), rows.lists.end(), has_types);
}

Result<std::unique_ptr<StoredUnits::Block>> StoredUnits::MakeBlock(StoredRows rows) {
  auto block = std::make_unique<Block>();
  size_t first = 0;
  for (const StoredStep &step : rows.steps) {
    block->first_rows.push_back(first);
    first += rows.RowsOf(step);
  }
  for (const std::string &name : rows.names) {
    SMD_ASSIGN_OR_RETURN(const NamedTensor *const tensor, names_.Tensor(name));
    block->names.push_back({tensor->is_wanted, tensor->collection});
    block->has_all_names = block->has_all_names && tensor->is_wanted;
  }
  names_.Trim();
  block->rows = std::move(rows);
  return block;
}

Result<bool> StoredUnits::OpenCached(Unit *unit) {
  auto rows = cache_ == nullptr ? std::nullopt : cache_->Load(KeyOf(*unit));
  if (!rows || !HasColumns(*rows)) return false;
  std::vector<size_t> places;
  size_t at = 0;
  for (const StoredStep &step : unit->steps) {
    while (at < rows->steps.size() && rows->steps[at].step < step.step) ++at;
    if (at == rows->steps.size()) return false;
    const StoredStep &known = rows->steps[at];
    if (known.name != step.name || known.version != step.version) return false;
    places.push_back(at++);
  }
  SMD_ASSIGN_OR_RETURN(auto block, MakeBlock(*std::move(rows)));
  block->left = places.size();
  for (size_t i = 0; i < places.size(); ++i) unit->places[i] = {block.get(), places[i]};
  unit->blocks.push_back(std::move(block));
  return true;
}

Status StoredUnits::FindInRowFiles(size_t step, Unit *unit) {
  auto &files = unit->files;
  while (unit->places[step].block == nullptr) {
    // The one that begins last before the step: others have it only if it was written twice.
    const auto after =
        std::upper_bound(files.begin(), files.end(), unit->steps[step].step,
                         [](int64_t number, const RowFile &file) { return number < file.first; });
    if (after == files.begin()) return Status::Ok();
    const RowFile file = std::move(*(after - 1));
    files.erase(after - 1);
    SMD_RETURN_IF_ERROR(ReadRowFile(file, unit));
  }
  return Status::Ok();
}

Status StoredUnits::ReadRowFile(const RowFile &file, Unit *unit) {
  auto read = row_files_.Read(file);
  auto rows = read ? SelectRows(*std::move(read), request_.table, reads_) : std::nullopt;
  if (!rows || !HasColumns(*rows)) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(auto block, MakeBlock(*std::move(rows)));
  std::unordered_map<std::string_view, size_t> step_of;
  for (size_t i = 0; i < block->rows.steps.size(); ++i) step_of[block->rows.steps[i].name] = i;
  for (size_t i = unit->passed; i < unit->steps.size(); ++i) {
    const auto known = step_of.find(unit->steps[i].name);
    if (known == step_of.end() || unit->places[i].block != nullptr) continue;
    const StoredStep &step = block->rows.steps[known->second];
    const IndexFacts &facts = unit->facts[i];
    const bool is_as_old = facts.modified_at > 0 && facts.modified_at <= file.modified_at;
    const bool is_same = step.step == unit->steps[i].step && step.version == VersionOf(facts.size);
    if (!is_as_old || !is_same) continue;
    unit->places[i] = {block.get(), known->second};
    ++block->left;
  }
  if (block->left > 0) unit->blocks.push_back(std::move(block));
  return Status::Ok();
}

bool StoredUnits::CanRecord(const Unit &unit) const {
  const bool has_condition = !request_.tensors.empty() || !request_.regexes.empty() ||
                             !request_.collection.empty() || !request_.modes.empty();
  const bool has_versions = std::none_of(unit.steps.begin(), unit.steps.end(),
                                         [](const auto &step) { return step.version.empty(); });
  return cache_ != nullptr && !has_condition && has_versions && unit.listed == unit.steps.size() &&
         Clock::System().WallSeconds() - unit.newest > kQuietSeconds;
}

Status StoredUnits::Open(Unit *unit) {
  unit->is_open = true;
  unit->places.resize(unit->steps.size());
  SMD_ASSIGN_OR_RETURN(const bool is_cached, OpenCached(unit));
  if (is_cached) return Status::Ok();
  unit->files = row_files_.Of(unit->worker, unit->thousand);
  // Rows are recorded only if no file has any.
  while (unit->blocks.empty() && !unit->files.empty()) {
    const RowFile file = std::move(unit->files.front());
    unit->files.erase(unit->files.begin());
    SMD_RETURN_IF_ERROR(ReadRowFile(file, unit));
  }
  if (unit->blocks.empty() && CanRecord(*unit)) {
    unit->recorder =
        std::make_unique<RowRecorder>(reads_, request_.table == Table::kScalars, ++recorders_);
  }
  return Status::Ok();
}

Result<bool> StoredUnits::IsStored(size_t file) {
  const auto &[unit, step] = files_[file];
  if (!unit->is_open) SMD_RETURN_IF_ERROR(Open(unit));
  SMD_RETURN_IF_ERROR(FindInRowFiles(step, unit));
  return unit->places[step].block != nullptr;
}

size_t StoredUnits::AddPiece(size_t file, size_t skip, size_t most,
                             std::vector<StoredPiece> *pieces, size_t *looked_at) const {
  const Unit &unit = *files_[file].unit;
  const auto &[block, place] = unit.places[files_[file].step];
  const StoredStep &step = block->rows.steps[place];
  *looked_at = 0;
  if (!request_.modes.empty() && !request_.modes.contains(step.mode)) return 0;
  const std::vector<uint32_t> &tensors = block->rows.lists[step.list].tensors;
  const size_t count = std::min(tensors.size() - skip, most);
  *looked_at = count;
  StoredPiece piece{&block->rows, &block->names, &step, &unit.worker, block->first_rows[place],
                    skip,         count};
  piece.has_all = block->has_all_names;
  for (size_t row = skip; !piece.has_all && row < skip + count; ++row) {
    if (!block->names[tensors[row]].is_wanted) continue;
    piece.chosen.push_back(static_cast<uint32_t>(row));
  }
  if (piece.Count() > 0) pieces->push_back(std::move(piece));
  return tensors.size() - skip - count;
}

void StoredUnits::Record(size_t file, const StepRows &step, std::span<const StepRow> rows) {
  RowRecorder *const recorder = files_[file].unit->recorder.get();
  if (recorder != nullptr) recorder->Add(step, rows);
}

void StoredUnits::DropRecorded() {
  for (auto &[place, unit] : units_) {
    if (unit.recorder) unit.recorder->Drop();
  }
}

void StoredUnits::Close(Unit *unit) {
  if (unit->recorder) {
    const auto rows = unit->recorder->Take(std::move(unit->steps));
    if (rows) cache_->Save(KeyOf(*unit), *rows);
  }
  const auto at = units_.find({unit->thousand, unit->worker});
  units_.erase(at);
}

void StoredUnits::Pass(size_t file) {
  for (; passed_ <= file; ++passed_) {
    Unit *const unit = files_[passed_].unit;
    const Place place = unit->is_open ? unit->places[files_[passed_].step] : Place();
    if (++unit->passed == unit->steps.size()) {
      Close(unit);
    } else if (place.block != nullptr && --place.block->left == 0) {
      std::erase_if(unit->blocks, [&](const auto &each) { return each.get() == place.block; });
    }
  }
}

}  // namespace smdebug::tables
