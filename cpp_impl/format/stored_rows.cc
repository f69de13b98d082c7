#include "format/stored_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "base/crc32c.h"
#include "base/step.h"
#include "base/strings.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace smdebug::format {
namespace {

// The last character is the version of the layout.
constexpr std::string_view kMagic = "SMDROWS2";
constexpr size_t kChecksumEnd = kMagic.size() + sizeof(uint32_t);
static_assert(std::endian::native == std::endian::little);

class Writer {
 public:
  template <class Number>
  void Put(Number number) {
    out_.append(reinterpret_cast<const char *>(&number), sizeof number);
  }
  void PutText(std::string_view text) {
    Put(static_cast<uint64_t>(text.size()));
    out_.append(text);
  }
  template <class Number>
  void PutAll(const std::vector<Number> &numbers) {
    static_assert(std::is_arithmetic_v<Number>);
    PutText({reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(Number)});
  }
  std::string &Out() { return out_; }

 private:
  std::string out_;
};

// Reads what Writer wrote.  After something that does not fit, reads nothing more.
class Reader {
 public:
  explicit Reader(ByteSpan bytes) : rest_(bytes) {}

  bool IsGood() const { return is_good_; }
  bool IsAtEnd() const { return is_good_ && rest_.empty(); }

  template <class Number>
  Number Get() {
    Number number{};
    const ByteSpan bytes = First(sizeof number);
    if (is_good_) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }
  ByteSpan GetBytes() { return First(Get<uint64_t>()); }
  std::string GetText() { return std::string(AsText(GetBytes())); }
  template <class Number>
  void GetAll(std::vector<Number> *out) {
    const ByteSpan bytes = GetBytes();
    is_good_ = is_good_ && bytes.size() % sizeof(Number) == 0;
    if (!is_good_ || bytes.empty()) return;
    out->resize(bytes.size() / sizeof(Number));
    std::memcpy(out->data(), bytes.data(), bytes.size());
  }
  // Returns a number of things that take at least `size` bytes each.
  uint64_t GetCount(size_t size) {
    const auto count = Get<uint64_t>();
    is_good_ = is_good_ && count <= rest_.size() / size;
    return is_good_ ? count : 0;
  }

 private:
  ByteSpan First(uint64_t size) {
    is_good_ = is_good_ && size <= rest_.size();
    if (!is_good_) return {};
    const ByteSpan first = rest_.first(size);
    rest_ = rest_.subspan(size);
    return first;
  }

  ByteSpan rest_;
  bool is_good_ = true;
};

void PutStep(const StoredStep &step, Writer *out) {
  out->Put(step.step);
  out->Put(step.mode_step);
  out->Put(static_cast<int32_t>(step.mode));
  out->Put(step.list);
  out->PutText(step.name);
  out->PutText(step.version);
}

bool GetStep(Reader *in, StoredStep *step) {
  step->step = in->Get<int64_t>();
  step->mode_step = in->Get<int64_t>();
  const auto mode = ModeFromNumber(in->Get<int32_t>());
  step->list = in->Get<uint32_t>();
  step->name = in->GetText();
  step->version = in->GetText();
  if (mode) step->mode = *mode;
  return in->IsGood() && mode && step->step >= 0 && step->step <= kMaxStep;
}

// ---- narrow columns --------------------------------------------------------------------------

// Times of one step lie close together.
constexpr uint32_t kNoDelta = std::numeric_limits<uint32_t>::max();

// Calls `visit` with the first row of each step, and the row after its last one.
template <class Visit>
void VisitSteps(const StoredRows &rows, const Visit &visit) {
  size_t first = 0;
  for (const StoredStep &step : rows.steps) {
    visit(first, first + rows.RowsOf(step));
    first += rows.RowsOf(step);
  }
}

// Returns the first time of each step, and for each row how much later it is.  Returns nothing if
// one is much later, or earlier.
struct NearTimes {
  std::vector<int64_t> begins;
  std::vector<uint32_t> deltas;
};
std::optional<NearTimes> Narrow(const StoredRows &rows) {
  NearTimes near;
  near.deltas.reserve(rows.times.size());
  bool are_near = true;
  VisitSteps(rows, [&](size_t first, size_t end) {
    near.begins.push_back(first == end ? StoredRows::kNoTime : rows.times[first]);
    for (size_t row = first; row < end; ++row) {
      const int64_t time = rows.times[row];
      const uint64_t delta =
          static_cast<uint64_t>(time) - static_cast<uint64_t>(near.begins.back());
      are_near = are_near && (time == StoredRows::kNoTime || delta < kNoDelta);
      near.deltas.push_back(time == StoredRows::kNoTime ? kNoDelta : static_cast<uint32_t>(delta));
    }
  });
  if (!are_near) return {};
  return near;
}

void PutTimes(const StoredRows &rows, Writer *out) {
  const auto near = rows.times.empty() ? std::nullopt : Narrow(rows);
  out->PutAll(near ? near->begins : std::vector<int64_t>());
  near ? out->PutAll(near->deltas) : out->PutAll(rows.times);
}

bool GetTimes(Reader *in, StoredRows *rows) {
  NearTimes near;
  in->GetAll(&near.begins);
  if (near.begins.empty()) {
    in->GetAll(&rows->times);
    return in->IsGood() && (rows->times.empty() || rows->times.size() == rows->Rows());
  }
  in->GetAll(&near.deltas);
  const size_t count = rows->Rows();
  if (!in->IsGood() || near.begins.size() != rows->steps.size() || near.deltas.size() != count) {
    return false;
  }
  rows->times.resize(count);
  auto begin = near.begins.begin();
  VisitSteps(*rows, [&](size_t first, size_t end) {
    const auto from = static_cast<uint64_t>(*begin++);
    for (size_t row = first; row < end; ++row) {
      const uint32_t delta = near.deltas[row];
      rows->times[row] =
          delta == kNoDelta ? StoredRows::kNoTime : static_cast<int64_t>(from + delta);
    }
  });
  return true;
}

// Most statistics are of type float32.
std::vector<float> Narrow(const std::vector<double> &numbers) {
  std::vector<float> narrow(numbers.size());
  bool are_same = true;
  for (size_t i = 0; i < numbers.size(); ++i) {
    narrow[i] = static_cast<float>(numbers[i]);
    const auto again = std::bit_cast<uint64_t>(static_cast<double>(narrow[i]));
    are_same = are_same & (again == std::bit_cast<uint64_t>(numbers[i]));
  }
  if (!are_same) narrow.clear();
  return narrow;
}

void PutNumbers(const StoredRows::Numbers &numbers, Writer *out) {
  const std::vector<float> narrow = Narrow(numbers.values);
  out->PutAll(narrow);
  if (narrow.empty()) out->PutAll(numbers.values);
  out->PutAll(numbers.known);
}

void GetNumbers(Reader *in, StoredRows::Numbers *numbers) {
  std::vector<float> narrow;
  in->GetAll(&narrow);
  numbers->values.assign(narrow.begin(), narrow.end());
  if (narrow.empty()) in->GetAll(&numbers->values);
  in->GetAll(&numbers->known);
}

// ---- what can be wrong -----------------------------------------------------------------------

template <class Number>
bool AllBelow(const std::vector<Number> &numbers, size_t limit) {
  return std::all_of(numbers.begin(), numbers.end(), [&](Number each) { return each < limit; });
}

bool AreNumbersGood(const StoredRows::Numbers &numbers, size_t rows) {
  const bool has_flags = !numbers.known.empty();
  if (numbers.values.empty()) return !has_flags;
  return numbers.values.size() == rows && (!has_flags || numbers.known.size() == rows) &&
         AllBelow(numbers.known, 2);
}

bool IsListGood(const StoredList &list, const StoredRows &rows) {
  const auto fits = [&list](const auto &column) {
    return column.empty() || column.size() == list.Rows();
  };
  const auto is_type = [](uint8_t type) {
    const auto dtype = static_cast<tensor::DType>(type);
    return dtype == tensor::DType::kInvalid || !tensor::DTypeName(dtype).empty();
  };
  return fits(list.dtypes) && fits(list.shape_of) && AllBelow(list.tensors, rows.names.size()) &&
         AllBelow(list.shape_of, rows.shapes.size()) &&
         std::all_of(list.dtypes.begin(), list.dtypes.end(), is_type);
}

bool GetLists(Reader *in, StoredRows *rows) {
  rows->lists.resize(in->GetCount(3 * sizeof(uint64_t)));
  for (StoredList &list : rows->lists) {
    in->GetAll(&list.tensors);
    in->GetAll(&list.dtypes);
    in->GetAll(&list.shape_of);
    if (!in->IsGood() || !IsListGood(list, *rows)) return false;
  }
  const bool have_lists =
      std::all_of(rows->steps.begin(), rows->steps.end(),
                  [rows](const StoredStep &step) { return step.list < rows->lists.size(); });
  return in->IsGood() && have_lists;
}

bool GetNames(Reader *in, StoredRows *rows) {
  rows->names.resize(in->GetCount(sizeof(uint64_t)));
  for (std::string &name : rows->names) {
    name = in->GetText();
    const bool is_good = in->IsGood() && name.size() <= StoredRows::kLongestName;
    if (!is_good || !IsUtf8(name)) return false;
  }
  rows->shapes.resize(in->GetCount(sizeof(uint64_t)));
  for (auto &shape : rows->shapes) {
    in->GetAll(&shape);
    const bool is_negative = std::any_of(shape.begin(), shape.end(), [](auto n) { return n < 0; });
    if (!in->IsGood() || is_negative || shape.size() > tensor::kMaxRank) return false;
  }
  return in->IsGood();
}

}  // namespace

size_t StoredRows::Rows() const {
  size_t count = 0;
  for (const StoredStep &step : steps) count += RowsOf(step);
  return count;
}

std::string EncodeRows(const StoredRows &rows, std::string_view key) {
  Writer out;
  out.Out().append(kMagic);
  out.Put(uint32_t{0});
  out.PutText(key);
  out.Put(static_cast<uint64_t>(rows.steps.size()));
  for (const StoredStep &step : rows.steps) PutStep(step, &out);
  out.Put(static_cast<uint64_t>(rows.names.size()));
  for (const std::string &name : rows.names) out.PutText(name);
  out.Put(static_cast<uint64_t>(rows.shapes.size()));
  for (const auto &shape : rows.shapes) out.PutAll(shape);
  out.Put(static_cast<uint64_t>(rows.lists.size()));
  for (const StoredList &list : rows.lists) {
    out.PutAll(list.tensors);
    out.PutAll(list.dtypes);
    out.PutAll(list.shape_of);
  }
  PutTimes(rows, &out);
  out.Put(static_cast<uint64_t>(rows.numbers.size()));
  for (const StoredRows::Numbers &each : rows.numbers) PutNumbers(each, &out);
  std::string bytes = std::move(out.Out());
  const uint32_t checksum = Crc32c(AsBytes(bytes).subspan(kChecksumEnd));
  std::memcpy(&bytes[kMagic.size()], &checksum, sizeof checksum);
  return bytes;
}

std::optional<StoredRows> DecodeRows(ByteSpan bytes, std::string_view key) {
  if (bytes.size() < kChecksumEnd || !AsText(bytes).starts_with(kMagic)) return {};
  uint32_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + kMagic.size(), sizeof checksum);
  if (checksum != Crc32c(bytes.subspan(kChecksumEnd))) return {};
  Reader in(bytes.subspan(kChecksumEnd));
  if (AsText(in.GetBytes()) != key) return {};
  StoredRows rows;
  rows.steps.resize(in.GetCount(2 * sizeof(uint64_t)));
  for (StoredStep &step : rows.steps) {
    if (!GetStep(&in, &step)) return {};
  }
  if (!GetNames(&in, &rows) || !GetLists(&in, &rows) || !GetTimes(&in, &rows)) return {};
  rows.numbers.resize(in.GetCount(2 * sizeof(uint64_t)));
  const size_t count = rows.Rows();
  for (StoredRows::Numbers &each : rows.numbers) {
    GetNumbers(&in, &each);
    if (!in.IsGood() || !AreNumbersGood(each, count)) return {};
  }
  if (!in.IsAtEnd()) return {};
  return rows;
}

}  // namespace smdebug::format
