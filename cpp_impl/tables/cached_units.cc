#include "tables/cached_units.h"

#include <algorithm>
#include <bit>

#include "base/clock.h"
#include "base/strings.h"
#include "format/paths.h"
#include "tables/row_writer.h"

namespace smdebug::tables {
namespace {

// A step that was written so long ago is finished.  File systems stamp two changes with one time
// only if less than some seconds lie between them.
constexpr double kQuietSeconds = 60;

}  // namespace

bool CachedUnits::CanServe(const Request &request) {
  const Reads reads = ReadsFor(request);
  if (request.table == Table::kScalars) return true;
  return request.table == Table::kTensors && !reads.elements && !reads.computes;
}

CachedUnits::CachedUnits(RowCache &cache, const Request &request, std::string location,
                         const Reads &reads,
                         std::shared_ptr<const config::CollectionSet> collections)
    : cache_(cache),
      request_(request),
      location_(std::move(location)),
      reads_(reads),
      names_(request, std::move(collections)) {}

std::vector<StepFile> CachedUnits::Begin(std::vector<ListedStep> listed) {
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
    wanted.push_back(std::move(file));
  }
  return wanted;
}

std::string CachedUnits::KeyOf(const Unit &unit) const {
  const uint32_t others = (reads_.time ? 1U : 0U) | (reads_.type ? 2U : 0U);
  return StrCat(location_, "\n", unit.worker, "\n", unit.thousand, "\n", TableName(request_.table),
                "\n", reads_.statistics, "\n", others);
}

bool CachedUnits::Match(const CachedRows &rows, Unit *unit) const {
  const bool is_scalars = request_.table == Table::kScalars;
  const int columns = is_scalars ? 1 : std::popcount(reads_.statistics);
  if (rows.numbers.size() != static_cast<size_t>(columns) || rows.times.size() != rows.Rows()) {
    return false;
  }
  const auto has_types = [](const CachedList &list) {
    return list.dtypes.size() == list.Rows() && list.shape_of.size() == list.Rows();
  };
  if (reads_.type && !std::all_of(rows.lists.begin(), rows.lists.end(), has_types)) return false;
  unit->places.clear();
  size_t at = 0;
  for (const CachedStep &step : unit->steps) {
    while (at < rows.steps.size() && rows.steps[at].step < step.step) ++at;
    if (at == rows.steps.size()) return false;
    const CachedStep &known = rows.steps[at];
    if (known.name != step.name || known.version != step.version) return false;
    unit->places.push_back(at++);
  }
  return true;
}

Status CachedUnits::ResolveNames(Unit *unit) {
  for (const std::string &name : unit->rows->names) {
    SMD_ASSIGN_OR_RETURN(const NamedTensor *const tensor, names_.Tensor(name));
    unit->names.push_back({tensor->is_wanted, tensor->collection});
    unit->has_all_names = unit->has_all_names && tensor->is_wanted;
  }
  names_.Trim();
  return Status::Ok();
}

bool CachedUnits::CanRecord(const Unit &unit) const {
  const bool has_condition = !request_.tensors.empty() || !request_.regexes.empty() ||
                             !request_.collection.empty() || !request_.modes.empty();
  const bool has_versions = std::none_of(unit.steps.begin(), unit.steps.end(),
                                         [](const auto &step) { return step.version.empty(); });
  return !has_condition && has_versions && unit.listed == unit.steps.size() &&
         Clock::System().WallSeconds() - unit.newest > kQuietSeconds;
}

Status CachedUnits::Open(Unit *unit) {
  unit->is_open = true;
  auto rows = cache_.Load(KeyOf(*unit));
  if (rows && Match(*rows, unit)) {
    size_t first = 0;
    for (const CachedStep &step : rows->steps) {
      unit->first_rows.push_back(first);
      first += rows->RowsOf(step);
    }
    unit->rows = std::make_unique<CachedRows>(*std::move(rows));
    return ResolveNames(unit);
  }
  if (CanRecord(*unit)) {
    unit->recorder =
        std::make_unique<RowRecorder>(reads_, request_.table == Table::kScalars, ++recorders_);
  }
  return Status::Ok();
}

Result<bool> CachedUnits::IsCached(size_t file) {
  Unit &unit = *files_[file].unit;
  if (!unit.is_open) SMD_RETURN_IF_ERROR(Open(&unit));
  return unit.rows != nullptr;
}

size_t CachedUnits::AddPiece(size_t file, size_t skip, size_t most,
                             std::vector<CachedPiece> *pieces, size_t *looked_at) const {
  const Unit &unit = *files_[file].unit;
  const size_t place = unit.places[files_[file].step];
  const CachedStep &step = unit.rows->steps[place];
  *looked_at = 0;
  if (!request_.modes.empty() && !request_.modes.contains(step.mode)) return 0;
  const std::vector<uint32_t> &tensors = unit.rows->lists[step.list].tensors;
  const size_t count = std::min(tensors.size() - skip, most);
  *looked_at = count;
  CachedPiece piece{unit.rows.get(),        &unit.names, &step, &unit.worker,
                    unit.first_rows[place], skip,        count};
  piece.has_all = unit.has_all_names;
  for (size_t row = skip; !piece.has_all && row < skip + count; ++row) {
    if (!unit.names[tensors[row]].is_wanted) continue;
    piece.chosen.push_back(static_cast<uint32_t>(row));
  }
  if (piece.Count() > 0) pieces->push_back(std::move(piece));
  return tensors.size() - skip - count;
}

void CachedUnits::Record(size_t file, const StepRows &step, std::span<const StepRow> rows) {
  RowRecorder *const recorder = files_[file].unit->recorder.get();
  if (recorder != nullptr) recorder->Add(step, rows);
}

void CachedUnits::DropRecorded() {
  for (auto &[place, unit] : units_) {
    if (unit.recorder) unit.recorder->Drop();
  }
}

void CachedUnits::Close(Unit *unit) {
  if (unit->recorder) {
    const auto rows = unit->recorder->Take(std::move(unit->steps));
    if (rows) cache_.Save(KeyOf(*unit), *rows);
  }
  const auto at = units_.find({unit->thousand, unit->worker});
  units_.erase(at);
}

void CachedUnits::Pass(size_t file) {
  for (; passed_ <= file; ++passed_) {
    Unit *const unit = files_[passed_].unit;
    if (++unit->passed == unit->steps.size()) Close(unit);
  }
}

}  // namespace smdebug::tables
