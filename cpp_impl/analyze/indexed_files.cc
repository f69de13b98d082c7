#include "analyze/indexed_files.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace smdebug::analyze {
namespace {

constexpr size_t kMostCompared = 8;  // layouts with one hash: more are made on purpose
constexpr size_t kRecent = 8;        // arrangements, or blocks of extents

bool IsKnown(tensor::DType dtype) { return dtype != tensor::DType::kInvalid; }
bool IsFloat32(tensor::DType dtype) { return dtype == tensor::DType::kFloat32; }

// Returns the type of the row's number if it can be kept.
tensor::DType KeptType(const KnownNumber &known) {
  const bool is_other = IsFloat32(known.dtype) && !std::isnan(known.number) &&
                        static_cast<double>(static_cast<float>(known.number)) != known.number;
  return is_other ? tensor::DType::kInvalid : known.dtype;
}

uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

}  // namespace

IndexedFiles::IndexedFiles()
    : by_step_{FilesByStep({this}), FilesByStep({this}), FilesByStep({this}), FilesByStep({this})} {
}

// Returns the first file of a step, or of a later one.  Most jobs save at equal intervals, so that
// its place can be guessed, which costs fewer cache misses than a search.
size_t IndexedFiles::FirstAt(const std::vector<uint32_t> &files, int64_t step) const {
  const auto step_of = [this](uint32_t file) { return files_[file].step; };
  const auto is_before = [&](uint32_t file, int64_t wanted) { return step_of(file) < wanted; };
  if (files.empty() || step <= step_of(files.front())) return 0;
  if (step > step_of(files.back())) return files.size();
  const auto front = static_cast<double>(step_of(files.front()));
  const double all = static_cast<double>(step_of(files.back())) - front;
  const double part = static_cast<double>(step) - front;
  const size_t last = files.size() - 1;
  const double guessed = part / all * static_cast<double>(last) + 0.5;
  const size_t guess = std::min(last, static_cast<size_t>(guessed));
  const bool is_right =
      guess > 0 && step_of(files[guess - 1]) < step && step_of(files[guess]) >= step;
  if (is_right) return guess;
  constexpr size_t kAround = 16;
  const size_t low = guess > kAround ? guess - kAround : 0;
  const size_t high = std::min(guess + kAround, last);
  const auto begin = files.begin() + static_cast<ptrdiff_t>(step_of(files[low]) < step ? low : 0);
  const auto end =
      files.begin() + static_cast<ptrdiff_t>(step_of(files[high]) >= step ? high : files.size());
  return static_cast<size_t>(std::lower_bound(begin, end, step, is_before) - files.begin());
}

void IndexedFiles::Split(std::span<const Row> rows, uint64_t start) {
  shared_.clear();
  extents_.clear();
  for (const Row &row : rows) {
    const bool is_record = !(row.kind == EntryKind::Shape());
    shared_.push_back(
        {row.tensor, row.kind, row.has_crc32c, KeptType(row.number), row.number.rank});
    extents_.push_back({is_record ? row.start - start : row.start, row.length, row.parts});
  }
}

uint32_t IndexedFiles::FindLayout(const File &file) {
  uint64_t hash = Mix(static_cast<uint64_t>(file.mode), file.worker);
  for (const SharedRow &row : shared_) {
    hash =
        Mix(hash, row.tensor | uint64_t{row.kind.Number()} << 32 | uint64_t{row.has_crc32c} << 40 |
                      static_cast<uint64_t>(row.dtype) << 48 | uint64_t{row.rank} << 56);
  }
  size_t compared = 0;
  for (auto [at, end] = by_hash_.equal_range(hash); at != end && compared < kMostCompared;
       ++at, ++compared) {
    const Layout &layout = layouts_[at->second];
    const bool is_same =
        layout.mode == file.mode && layout.worker == file.worker && layout.rows == shared_;
    if (is_same) return at->second;
  }
  const uint32_t made = MakeLayout(file);
  by_hash_.emplace(hash, made);
  return made;
}

uint32_t IndexedFiles::MakeLayout(const File &file) {
  const auto number = static_cast<uint32_t>(layouts_.size());
  Layout layout{.mode = file.mode, .worker = file.worker, .rows = shared_};
  const std::vector<SharedRow> &rows = layout.rows;
  std::vector<uint32_t> &order = layout.order;
  order.resize(rows.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](uint32_t row) { return std::pair(rows[row].tensor, rows[row].kind); };
  // The last of equal rows comes first, and stays.
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return key(a) == key(b) ? a > b : key(a) < key(b); });
  order.erase(std::unique(order.begin(), order.end(),
                          [&](uint32_t a, uint32_t b) { return key(a) == key(b); }),
              order.end());
  const bool has_crcs =
      std::any_of(rows.begin(), rows.end(), [](const SharedRow &row) { return row.has_crc32c; });
  layout.crcs = PerFile<uint32_t>(has_crcs ? rows.size() : 0);
  uint32_t floats = 0;
  uint32_t numbers = 0;
  for (const SharedRow &row : rows) {
    uint32_t &place = IsFloat32(row.dtype) ? floats : numbers;
    layout.known.push_back(place);
    if (IsKnown(row.dtype)) ++place;
  }
  if (floats + numbers == 0) layout.known = {};
  layout.floats = PerFile<float>(floats);
  layout.numbers = PerFile<double>(numbers);
  layouts_.push_back(std::move(layout));
  const Layout &made = layouts_.back();
  for (uint32_t begin = 0; begin < made.order.size();) {
    const uint32_t tensor = made.rows[made.order[begin]].tensor;
    uint32_t end = begin + 1;
    while (end < made.order.size() && made.rows[made.order[end]].tensor == tensor) ++end;
    if (places_.size() <= tensor) places_.resize(tensor + size_t{1});
    places_[tensor].push_back({number, begin, end - begin});
    begin = end;
  }
  return number;
}

// Lengths change seldom, alternate between a few, or differ in each file.
uint32_t IndexedFiles::FindExtents(Layout *layout) const {
  std::vector<Extent> &all = layout->extents;
  const size_t rows = extents_.size();
  if (rows == 0) return 0;
  const size_t count = all.size() / rows;
  for (size_t i = count; i > 0 && count - i < kRecent; --i) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>((i - 1) * rows);
    if (std::equal(extents_.begin(), extents_.end(), begin)) return static_cast<uint32_t>(i - 1);
  }
  all.insert(all.end(), extents_.begin(), extents_.end());
  return static_cast<uint32_t>(count);
}

uint32_t IndexedFiles::FindArrangement(const Arrangement &wanted) {
  std::vector<uint32_t> &known = layouts_[wanted.layout].arrangements;
  for (size_t i = known.size(); i > 0 && known.size() - i < kRecent; --i) {
    if (arrangements_[known[i - 1]] == wanted) return known[i - 1];
  }
  const auto made = static_cast<uint32_t>(arrangements_.size());
  arrangements_.push_back(wanted);
  known.push_back(made);
  return made;
}

void IndexedFiles::Settle() {
  shared_ = {};
  extents_ = {};
}

void IndexedFiles::AddNumbers(std::span<const Row> rows, Layout *layout) {
  const size_t place = layout->files.size();
  layout->floats.Add(place, [&](std::vector<float> *floats) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!IsFloat32(layout->rows[i].dtype)) continue;
      floats->push_back(static_cast<float>(rows[i].number.number));
    }
  });
  layout->numbers.Add(place, [&](std::vector<double> *numbers) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const tensor::DType dtype = layout->rows[i].dtype;
      if (IsKnown(dtype) && !IsFloat32(dtype)) numbers->push_back(rows[i].number.number);
    }
  });
}

void IndexedFiles::Add(const File &file, std::span<const Row> rows) {
  const auto is_record = [](const Row &row) { return !(row.kind == EntryKind::Shape()); };
  const auto first = std::find_if(rows.begin(), rows.end(), is_record);
  const uint64_t start = first == rows.end() ? 0 : first->start;
  Split(rows, start);
  const uint32_t number = FindLayout(file);
  Layout &layout = layouts_[number];
  const uint32_t arrangement = FindArrangement({start, number, FindExtents(&layout)});
  layout.crcs.Add(layout.files.size(), [&](std::vector<uint32_t> *crcs) {
    for (const Row &row : rows) crcs->push_back(row.crc32c);
  });
  AddNumbers(rows, &layout);
  const auto id = static_cast<uint32_t>(files_.size());
  const auto place = static_cast<uint32_t>(layout.files.size());
  files_.push_back({file.step, file.global_step, arrangement, place, file.time});
  layout.files.push_back(id);
  by_step_[ModeIndex(file.mode)].Add(id);
}

// Readers mostly ask for all tensors of a step, or for the next step of a tensor.
std::span<const uint32_t> IndexedFiles::FilesAt(Mode mode, int64_t step) const {
  const std::vector<uint32_t> &files = by_step_[ModeIndex(mode)].All();
  Range &last = last_[ModeIndex(mode)];
  if (last.of != files.size() || last.step != step) {
    const bool is_next = last.of == files.size() && last.end > 0 && last.end < files.size() &&
                         files_[files[last.end]].step == step;
    const size_t begin = is_next ? last.end : FirstAt(files, step);
    size_t end = begin;
    while (end < files.size() && files_[files[end]].step == step) ++end;
    last = {step, begin, end, files.size()};
  }
  return std::span(files).subspan(last.begin, last.end - last.begin);
}

const IndexedFiles::Place *IndexedFiles::Find(uint32_t tensor, uint32_t layout) const {
  const std::vector<Place> &places = places_[tensor];
  const auto at =
      std::lower_bound(places.begin(), places.end(), layout,
                       [](const Place &place, uint32_t wanted) { return place.layout < wanted; });
  return at == places.end() || at->layout != layout ? nullptr : &*at;
}

void IndexedFiles::AppendEntries(const Place &place, const StoredFile &file,
                                 std::vector<Entry> *entries) const {
  const Layout &layout = layouts_[place.layout];
  const Arrangement &arrangement = arrangements_[file.arrangement];
  const Extent *const extents = layout.extents.data() + arrangement.block * layout.rows.size();
  const uint32_t *const crcs = layout.crcs.Of(file.place);
  const float *const floats = layout.floats.Of(file.place);
  const double *const numbers = layout.numbers.Of(file.place);
  const auto number_of = [&](uint32_t row) -> double {
    const tensor::DType dtype = layout.rows[row].dtype;
    if (!IsKnown(dtype)) return 0;
    const uint32_t known = layout.known[row];
    return IsFloat32(dtype) ? double{floats[known]} : numbers[known];
  };
  for (uint32_t i = place.begin; i < place.begin + place.count; ++i) {
    const uint32_t number = layout.order[i];
    const SharedRow &row = layout.rows[number];
    const Extent &extent = extents[number];
    const bool is_record = !(row.kind == EntryKind::Shape());
    entries->push_back({file.step,
                        file.global_step,
                        is_record ? arrangement.start + extent.start : extent.start,
                        extent.length,
                        crcs == nullptr ? 0 : crcs[number],
                        layout.worker,
                        row.kind,
                        row.has_crc32c,
                        extent.parts,
                        {number_of(number), row.dtype, row.rank},
                        file.time});
  }
}

std::span<const Entry> IndexedFiles::At(uint32_t tensor, Mode mode, int64_t step) const {
  // Readers ask for the tensor of each worker in turn, in a mode and among all modes' steps.
  Found &found = found_[ModeIndex(mode)];
  const std::tuple of(tensor, step, files_.size());
  if (found.of == of) return found.entries;
  found.of.reset();
  Collect(tensor, mode, step, &found.entries);
  found.of = of;
  return found.entries;
}

void IndexedFiles::Collect(uint32_t tensor, Mode mode, int64_t step,
                           std::vector<Entry> *entries) const {
  entries->clear();
  if (tensor >= places_.size()) return;
  bool has_worker_twice = false;
  std::optional<uint16_t> before;  // the worker
  for (const uint32_t id : FilesAt(mode, step)) {
    const StoredFile &file = files_[id];
    const uint32_t layout = LayoutOf(file);
    const uint16_t worker = layouts_[layout].worker;
    has_worker_twice = has_worker_twice || before == worker;
    before = worker;
    const Place *const place = Find(tensor, layout);
    if (place != nullptr) AppendEntries(*place, file, entries);
  }
  if (!has_worker_twice) return;
  // Two steps of a worker with one number: of the entries with one key, the last stays.
  const auto key = [](const Entry &entry) { return std::pair(entry.worker, entry.kind); };
  std::reverse(entries->begin(), entries->end());
  std::stable_sort(entries->begin(), entries->end(),
                   [&](const Entry &a, const Entry &b) { return key(a) < key(b); });
  entries->erase(std::unique(entries->begin(), entries->end(),
                             [&](const Entry &a, const Entry &b) { return key(a) == key(b); }),
                 entries->end());
}

void IndexedFiles::AppendTensorsAt(Mode mode, int64_t step, std::vector<uint32_t> *tensors) const {
  const auto before = static_cast<ptrdiff_t>(tensors->size());
  const std::span<const uint32_t> files = FilesAt(mode, step);
  for (const uint32_t id : files) {
    const Layout &layout = layouts_[LayoutOf(files_[id])];
    for (const uint32_t row : layout.order) tensors->push_back(layout.rows[row].tensor);
  }
  const auto begin = tensors->begin() + before;
  if (files.size() > 1) std::sort(begin, tensors->end());
  tensors->erase(std::unique(begin, tensors->end()), tensors->end());
}

bool IndexedFiles::Has(uint32_t tensor, Mode mode) const {
  if (tensor >= places_.size()) return false;
  const std::vector<Place> &places = places_[tensor];
  return std::any_of(places.begin(), places.end(), [&](const Place &place) {
    const Layout &layout = layouts_[place.layout];
    return layout.mode == mode && !layout.files.empty();
  });
}

std::vector<SavedStep> IndexedFiles::Steps(uint32_t tensor, Mode mode) const {
  std::vector<SavedStep> steps;
  if (tensor >= places_.size()) return steps;
  for (const Place &place : places_[tensor]) {
    const Layout &layout = layouts_[place.layout];
    if (layout.mode != mode) continue;
    for (const uint32_t id : layout.files)
      steps.push_back({files_[id].step, files_[id].global_step});
  }
  const auto is_before = [](const SavedStep &a, const SavedStep &b) { return a.step < b.step; };
  if (!std::is_sorted(steps.begin(), steps.end(), is_before)) {
    std::stable_sort(steps.begin(), steps.end(), is_before);
  }
  return steps;
}

}  // namespace smdebug::analyze
