#include "tables/row_files.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/strings.h"
#include "format/paths.h"
#include "tables/row_cache.h"

namespace smdebug::tables {
namespace {

using format::StoredList;
using format::StoredRows;
using format::StoredStep;

// Keeps the rows whose number is known: the scalars.
class ScalarRows {
 public:
  ScalarRows(StoredRows from, StoredRows::Numbers scalars)
      : from_(std::move(from)), scalars_(std::move(scalars)), list_of_(from_.lists.size(), 0) {}

  StoredRows Take() {
    StoredRows out;
    out.lists.emplace_back();  // that of steps without rows
    out.numbers.resize(1);
    size_t first = 0;
    for (StoredStep &step : from_.steps) {
      const uint32_t list = step.list;
      const size_t count = from_.lists[list].Rows();
      step.list = Add(list, first, &out);
      first += count;
    }
    out.steps = std::move(from_.steps);
    out.names = std::move(from_.names);
    out.shapes = std::move(from_.shapes);
    return out;
  }

 private:
  // Adds the rows of a step.  Returns their list.
  uint32_t Add(uint32_t list, size_t first, StoredRows *out) {
    const std::vector<uint32_t> &tensors = from_.lists[list].tensors;
    chosen_.tensors.clear();
    for (size_t row = 0; row < tensors.size(); ++row) {
      if (!IsScalar(first + row)) continue;
      chosen_.tensors.push_back(tensors[row]);
      out->times.push_back(from_.times[first + row]);
      out->numbers[0].values.push_back(scalars_.values[first + row]);
    }
    if (chosen_.tensors.empty()) return 0;
    // Steps with the same tensors mostly have the same scalars.
    if (out->lists[list_of_[list]] != chosen_) {
      list_of_[list] = static_cast<uint32_t>(out->lists.size());
      out->lists.push_back(chosen_);
    }
    return list_of_[list];
  }
  bool IsScalar(size_t row) const {
    return !scalars_.values.empty() && (scalars_.known.empty() || scalars_.known[row] != 0);
  }

  StoredRows from_;
  const StoredRows::Numbers scalars_;
  std::vector<uint32_t> list_of_;  // of the scalars of a list, in the last step that has it
  StoredList chosen_;
};

}  // namespace

Reads AllReads() {
  Reads all;
  all.statistics = (1U << kStatistics) - 1;
  all.time = true;
  all.type = true;
  return all;
}

std::string VersionOf(uint64_t index_size) { return std::to_string(index_size); }

std::optional<StoredRows> SelectRows(StoredRows rows, Table table, const Reads &reads) {
  if (rows.numbers.size() != kStatistics + 1 || rows.times.size() != rows.Rows()) return {};
  StoredRows::Numbers scalars = std::move(rows.numbers.back());
  if (table == Table::kScalars) return ScalarRows(std::move(rows), std::move(scalars)).Take();
  std::vector<StoredRows::Numbers> chosen;
  for (uint32_t left = reads.statistics; left != 0; left &= left - 1) {
    chosen.push_back(std::move(rows.numbers[static_cast<size_t>(std::countr_zero(left))]));
  }
  rows.numbers = std::move(chosen);
  return rows;
}

RowFiles::RowFiles(std::shared_ptr<storage::Store> store, const analyze::StepRange &range,
                   RowCache *cache)
    : store_(std::move(store)),
      range_(range),
      cache_(store_->Location().starts_with("s3://") ? cache : nullptr) {}

std::optional<StoredRows> RowFiles::Read(const RowFile &file) {
  if (file.size > RowCache::kLargest) return {};
  const std::string key = StrCat(store_->Location(), "\n", file.name, "\n", file.version);
  const bool is_cacheable = cache_ != nullptr && !file.version.empty();
  if (is_cacheable) {
    if (auto cached = cache_->Load(key)) return cached;
  }
  const auto text = store_->ReadText(file.name);
  if (!text.IsOk()) return {};
  // A file under another name is not taken for this one.
  auto rows = format::DecodeRows(AsBytes(*text), file.name);
  if (rows && is_cacheable) cache_->Save(key, *rows);
  return rows;
}

std::vector<RowFile> RowFiles::Of(std::string_view worker, int64_t thousand) {
  if (!files_) {
    auto listed = ListRowFiles(dynamic_cast<storage::VersionStore &>(*store_), range_);
    files_ = listed.IsOk() ? *std::move(listed) : std::vector<RowFile>();
  }
  std::vector<RowFile> found;
  for (const RowFile &file : *files_) {
    if (file.worker == worker && file.first / format::kStepsPerBucket == thousand) {
      found.push_back(file);
    }
  }
  return found;
}

}  // namespace smdebug::tables
