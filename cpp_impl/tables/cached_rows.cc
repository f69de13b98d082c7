#include "tables/cached_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/crc32c.h"
#include "base/step.h"
#include "base/strings.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace smdebug::tables {
namespace {

// The last character is the version of the layout.
constexpr std::string_view kMagic = "SMDROWS1";
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

void PutStep(const CachedStep &step, Writer *out) {
  out->Put(step.step);
  out->Put(step.mode_step);
  out->Put(static_cast<int32_t>(step.mode));
  out->Put(step.rows);
  out->PutText(step.name);
  out->PutText(step.version);
}

bool GetStep(Reader *in, CachedStep *step) {
  step->step = in->Get<int64_t>();
  step->mode_step = in->Get<int64_t>();
  const auto mode = ModeFromNumber(in->Get<int32_t>());
  step->rows = in->Get<uint32_t>();
  step->name = in->GetText();
  step->version = in->GetText();
  if (mode) step->mode = *mode;
  return in->IsGood() && mode && step->step >= 0 && step->step <= kMaxStep;
}

template <class Number>
bool AllBelow(const std::vector<Number> &numbers, size_t limit) {
  return std::all_of(numbers.begin(), numbers.end(), [&](Number each) { return each < limit; });
}

bool AreNumbersGood(const CachedRows::Numbers &numbers, size_t rows) {
  const bool has_flags = !numbers.known.empty();
  if (numbers.values.empty()) return !has_flags;
  return numbers.values.size() == rows && (!has_flags || numbers.known.size() == rows) &&
         AllBelow(numbers.known, 2);
}

bool AreGood(const CachedRows &rows) {
  const size_t count = rows.Rows();
  const auto fits = [count](const auto &column) {
    return column.empty() || column.size() == count;
  };
  uint64_t of_steps = 0;
  for (const CachedStep &step : rows.steps) of_steps += step.rows;
  if (of_steps != count || !fits(rows.dtypes) || !fits(rows.shape_of) || !fits(rows.times)) {
    return false;
  }
  const auto is_type = [](uint8_t type) {
    const auto dtype = static_cast<tensor::DType>(type);
    return dtype == tensor::DType::kInvalid || !tensor::DTypeName(dtype).empty();
  };
  return AllBelow(rows.tensors, rows.names.size()) && AllBelow(rows.shape_of, rows.shapes.size()) &&
         std::all_of(rows.dtypes.begin(), rows.dtypes.end(), is_type) &&
         std::all_of(rows.numbers.begin(), rows.numbers.end(),
                     [count](const auto &each) { return AreNumbersGood(each, count); });
}

bool GetNames(Reader *in, CachedRows *rows) {
  rows->names.resize(in->GetCount(sizeof(uint64_t)));
  for (std::string &name : rows->names) {
    name = in->GetText();
    const bool is_good = in->IsGood() && name.size() <= CachedRows::kLongestName;
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

std::string EncodeRows(const CachedRows &rows, std::string_view key) {
  Writer out;
  out.Out().append(kMagic);
  out.Put(uint32_t{0});
  out.PutText(key);
  out.Put(static_cast<uint64_t>(rows.steps.size()));
  for (const CachedStep &step : rows.steps) PutStep(step, &out);
  out.Put(static_cast<uint64_t>(rows.names.size()));
  for (const std::string &name : rows.names) out.PutText(name);
  out.Put(static_cast<uint64_t>(rows.shapes.size()));
  for (const auto &shape : rows.shapes) out.PutAll(shape);
  out.PutAll(rows.tensors);
  out.PutAll(rows.dtypes);
  out.PutAll(rows.shape_of);
  out.PutAll(rows.times);
  out.Put(static_cast<uint64_t>(rows.numbers.size()));
  for (const CachedRows::Numbers &each : rows.numbers) {
    out.PutAll(each.values);
    out.PutAll(each.known);
  }
  std::string bytes = std::move(out.Out());
  const uint32_t checksum = Crc32c(AsBytes(bytes).subspan(kChecksumEnd));
  std::memcpy(&bytes[kMagic.size()], &checksum, sizeof checksum);
  return bytes;
}

std::optional<CachedRows> DecodeRows(ByteSpan bytes, std::string_view key) {
  if (bytes.size() < kChecksumEnd || !AsText(bytes).starts_with(kMagic)) return {};
  uint32_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + kMagic.size(), sizeof checksum);
  if (checksum != Crc32c(bytes.subspan(kChecksumEnd))) return {};
  Reader in(bytes.subspan(kChecksumEnd));
  if (AsText(in.GetBytes()) != key) return {};
  CachedRows rows;
  rows.steps.resize(in.GetCount(2 * sizeof(uint64_t)));
  for (CachedStep &step : rows.steps) {
    if (!GetStep(&in, &step)) return {};
  }
  if (!GetNames(&in, &rows)) return {};
  in.GetAll(&rows.tensors);
  in.GetAll(&rows.dtypes);
  in.GetAll(&rows.shape_of);
  in.GetAll(&rows.times);
  rows.numbers.resize(in.GetCount(2 * sizeof(uint64_t)));
  for (CachedRows::Numbers &each : rows.numbers) {
    in.GetAll(&each.values);
    in.GetAll(&each.known);
  }
  if (!in.IsAtEnd() || !AreGood(rows)) return {};
  return rows;
}

}  // namespace smdebug::tables
