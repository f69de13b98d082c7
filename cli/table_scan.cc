#include "table_scan.h"

#include "output.h"
#include "smdebug.hpp"
#include "text.h"

namespace smdebug::cli {
namespace {

using ScanHandle = detail::Handle<smd_scan, smd_scan_free>;

// Holds one of Arrow's structures, and releases it.
template <class T>
class Held {
 public:
  Held() = default;
  Held(const Held &) = delete;
  Held &operator=(const Held &) = delete;
  ~Held() {
    if (held_.release != nullptr) held_.release(&held_);
  }
  T *Get() { return &held_; }

 private:
  T held_{};
};

void Warn(void * /*user_data*/, smd_log_level /*level*/, const char *line) {
  Complain("warning: " + Printable(line));
}
void Ignore(void * /*user_data*/, smd_log_level /*level*/, const char * /*line*/) {}

ScanHandle MakeScan(const TableScan &wanted) {
  auto scan = detail::Make<ScanHandle>(smd_scan_new, wanted.table);
  const auto add = [&](const char *option, const char *value) {
    detail::Check(smd_scan_add(scan.get(), option, value));
  };
  detail::Check(smd_scan_set_log(scan.get(), wanted.complains ? SMD_LOG_WARNING : SMD_LOG_OFF,
                                 wanted.complains ? Warn : Ignore, nullptr, nullptr));
  add("path", wanted.path.c_str());
  for (const char *column : wanted.columns) add("column", column);
  for (const auto &[option, value] : wanted.conditions) add(option.c_str(), value.c_str());
  for (const auto &[option, value] : wanted.settings) {
    if (option.starts_with("s3_")) add(option.c_str(), value.c_str());
  }
  return scan;
}

bool IsNull(const ArrowArray &column, size_t place) {
  const auto *const valid = static_cast<const uint8_t *>(column.buffers[0]);
  return valid != nullptr && (valid[place / 8] >> (place % 8) & 1) == 0;
}

size_t PlaceOf(const ArrowArray &column, size_t row) {
  return row + static_cast<size_t>(column.offset);
}

}  // namespace

std::string_view ScannedRows::Text(size_t column, size_t row) const {
  const ArrowArray &of = *batch_.children[column];
  const size_t place = PlaceOf(of, row);
  if (IsNull(of, place)) return "";
  const auto *const ends = static_cast<const int32_t *>(of.buffers[1]);
  const auto *const texts = static_cast<const char *>(of.buffers[2]);
  return {texts + ends[place], static_cast<size_t>(ends[place + 1] - ends[place])};
}

std::optional<int64_t> ScannedRows::Whole(size_t column, size_t row) const {
  const ArrowArray &of = *batch_.children[column];
  const size_t place = PlaceOf(of, row);
  if (IsNull(of, place)) return std::nullopt;
  return static_cast<const int64_t *>(of.buffers[1])[place];
}

void ReadTable(const TableScan &scan, const std::function<void(const ScannedRows &)> &take) {
  const ScanHandle handle = MakeScan(scan);
  Held<ArrowArrayStream> stream;
  detail::Check(smd_scan_open(handle.get(), stream.Get()));
  while (true) {
    Held<ArrowArray> batch;
    if (stream.Get()->get_next(stream.Get(), batch.Get()) != 0) {
      const char *const why = stream.Get()->get_last_error(stream.Get());
      throw Error(SMD_IO, why == nullptr ? "the trials cannot be read" : why);
    }
    if (batch.Get()->release == nullptr) return;
    take(ScannedRows(*batch.Get()));
  }
}

}  // namespace smdebug::cli
