#include "serve/scan_rows.h"

#include <string_view>

#include "smdebug.hpp"
#include "smdebug/scan.h"

namespace smdebug::cli::serve {
namespace {

using ScanHandle = smdebug::detail::Handle<smd_scan, smd_scan_free>;

constexpr double kMicroseconds = 1e6;

ScanHandle MakeScan(const char *table, const std::string &path, const Settings &settings,
                    const std::vector<const char *> &columns) {
  auto scan = detail::Make<ScanHandle>(smd_scan_new, table);
  detail::Check(smd_scan_add(scan.get(), "path", path.c_str()));
  for (const char *column : columns) detail::Check(smd_scan_add(scan.get(), "column", column));
  for (const auto &[name, value] : settings) {
    if (name.starts_with("s3_"))
      detail::Check(smd_scan_add(scan.get(), name.c_str(), value.c_str()));
  }
  const smd_log_fn ignore = [](void *, smd_log_level, const char *) {};
  detail::Check(smd_scan_set_log(scan.get(), SMD_LOG_OFF, ignore, nullptr, nullptr));
  return scan;
}

// A batch of rows.
class Rows {
 public:
  explicit Rows(const ArrowArray &array) : array_(array) {}

  size_t Count() const { return static_cast<size_t>(array_.length); }
  std::string_view Text(size_t column, size_t row) const {
    if (IsNull(column, row)) return "";
    const auto *const offsets = static_cast<const int32_t *>(At(column).buffers[1]);
    const auto *const data = static_cast<const char *>(At(column).buffers[2]);
    return {data + offsets[row], static_cast<size_t>(offsets[row + 1] - offsets[row])};
  }
  int64_t Whole(size_t column, size_t row, int64_t otherwise) const {
    if (IsNull(column, row)) return otherwise;
    return static_cast<const int64_t *>(At(column).buffers[1])[row];
  }

 private:
  const ArrowArray &At(size_t column) const { return *array_.children[column]; }
  bool IsNull(size_t column, size_t row) const {
    const auto *const bits = static_cast<const uint8_t *>(At(column).buffers[0]);
    return bits != nullptr && (bits[row / 8] >> (row % 8) & 1) == 0;
  }

  const ArrowArray &array_;
};

// Owns a stream, and calls `take` for each batch.
class Stream {
 public:
  explicit Stream(const smd_scan *scan) { detail::Check(smd_scan_open(scan, &stream_)); }
  ~Stream() { stream_.release(&stream_); }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  template <class Take>
  void ForEach(const Take &take) {
    while (true) {
      ArrowArray array{};
      if (stream_.get_next(&stream_, &array) != 0) {
        const char *const why = stream_.get_last_error(&stream_);
        throw Error(SMD_IO, why == nullptr ? "the runs cannot be read" : why);
      }
      if (array.release == nullptr) return;
      const struct Owner {
        ArrowArray *array;
        ~Owner() { array->release(array); }
      } owner{&array};
      take(Rows(array));
    }
  }

 private:
  ArrowArrayStream stream_{};
};

}  // namespace

std::vector<ListedRun> ListRuns(const std::string &path, const Settings &settings) {
  const ScanHandle scan = MakeScan("trials", path, settings,
                                   {"trial", "path", "state", "steps", "last_step", "workers",
                                    "first_time", "last_time", "problem"});
  std::vector<ListedRun> runs;
  try {
    Stream(scan.get()).ForEach([&](const Rows &rows) {
      for (size_t i = 0; i < rows.Count(); ++i) {
        runs.push_back({std::string(rows.Text(0, i)), std::string(rows.Text(1, i)),
                        std::string(rows.Text(2, i)), rows.Whole(3, i, 0), rows.Whole(4, i, -1),
                        rows.Whole(5, i, 0), rows.Whole(6, i, 0), rows.Whole(7, i, 0),
                        std::string(rows.Text(8, i))});
      }
    });
  } catch (const Error &error) {
    if (error.Code() != SMD_NOT_FOUND) throw;
  }
  return runs;
}

StepTimes ReadTimes(const std::string &path, const std::string &tensor, int64_t first,
                    const Settings &settings) {
  const ScanHandle scan = MakeScan("scalars", path, settings, {"step", "time"});
  detail::Check(smd_scan_add(scan.get(), "tensor", tensor.c_str()));
  detail::Check(smd_scan_add(scan.get(), "first", std::to_string(first).c_str()));
  StepTimes times;
  Stream(scan.get()).ForEach([&](const Rows &rows) {
    for (size_t i = 0; i < rows.Count(); ++i) {
      const int64_t time = rows.Whole(1, i, 0);
      if (time > 0) times[rows.Whole(0, i, 0)] = static_cast<double>(time) / kMicroseconds;
    }
  });
  return times;
}

}  // namespace smdebug::cli::serve
