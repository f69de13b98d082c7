// Second tier: single files of a trial, for converters and checkers.
#ifndef SMDEBUG_CPP_SYS_FILES_HPP
#define SMDEBUG_CPP_SYS_FILES_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "smdebug/cpp/collection.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/value.hpp"
#include "smdebug/cpp/view.hpp"
#include "smdebug/sys/files.h"

namespace smdebug {

// The event file and index file of one step, being written.  One thread at a time.  Its
// destructor removes files that were not closed.
class StepFile {
 public:
  using Owner = detail::Handle<smd_step_file, smd_step_file_free>;

  // smd_step_file_open().
  StepFile(const CString &out_dir, int64_t step, const CString &worker)
      : handle_(detail::Make<Owner>(smd_step_file_open, out_dir.Get(), step, worker.Get())) {}
  // Takes ownership of `file`.
  explicit StepFile(smd_step_file *file) noexcept : handle_(file) {}

  // `mode_step` -1: the global step; `timestamp` 0: now.  smd_step_file_add_tensor().
  void AddTensor(const CString &tensor, const View &view, int64_t mode_step, Mode mode,
                 double timestamp = 0) {
    const smd_tensor_view c_view = view.ToC();
    detail::Check(smd_step_file_add_tensor(Get(), tensor.Get(), &c_view, mode_step,
                                           static_cast<smd_mode>(mode), timestamp));
  }

  // smd_step_file_add_shape().
  void AddShape(const CString &tensor, const Shape &shape, int64_t mode_step, Mode mode,
                const CString &original_name = nullptr) {
    detail::Check(smd_step_file_add_shape(Get(), tensor.Get(), shape.Data(), shape.Rank(),
                                          mode_step, static_cast<smd_mode>(mode),
                                          original_name.Get()));
  }

  // smd_step_file_path(), smd_step_file_close().
  std::string Path() const {
    const char *path = smd_step_file_path(Get());
    return path == nullptr ? "" : path;
  }
  void Close() { detail::Check(smd_step_file_close(Get())); }

  smd_step_file *Get() const noexcept { return handle_.get(); }

 private:
  Owner handle_;
};

// An event file, being read.  One thread at a time.
class EventFile {
 public:
  using Owner = detail::Handle<smd_event_file, smd_event_file_free>;

  // smd_event_file_open().
  explicit EventFile(const CString &path)
      : handle_(detail::Make<Owner>(smd_event_file_open, path.Get())) {}
  // Takes ownership of `file`.
  explicit EventFile(smd_event_file *file) noexcept : handle_(file) {}

  // Moves to the next tensor, which the other functions then describe; false at the end.
  // smd_event_file_next().
  bool Next() {
    int32_t found = 0;
    detail::Check(smd_event_file_next(Get(), &found));
    return found != 0;
  }

  // smd_event_file_tensor(), _step(), _mode(), _mode_step(), _timestamp().
  std::string Tensor() const {
    const char *name = smd_event_file_tensor(Get());
    return name == nullptr ? "" : name;
  }
  int64_t Step() const noexcept { return smd_event_file_step(Get()); }
  smdebug::Mode Mode() const noexcept {
    return static_cast<smdebug::Mode>(smd_event_file_mode(Get()));
  }
  int64_t ModeStep() const noexcept { return smd_event_file_mode_step(Get()); }
  double Timestamp() const noexcept { return smd_event_file_timestamp(Get()); }

  // smd_event_file_value().
  smdebug::Value Value() const {
    return detail::MakeObject<smdebug::Value>(smd_event_file_value, Get());
  }

  smd_event_file *Get() const noexcept { return handle_.get(); }

 private:
  Owner handle_;
};

// The JSON of a collections file.  smd_collections_to_json().
inline std::string CollectionsToJson(const std::vector<const Collection *> &collections,
                                     int32_t num_workers) {
  std::vector<const smd_collection *> handles;
  for (const Collection *collection : collections) {
    handles.push_back(collection == nullptr ? nullptr : collection->Get());
  }
  return detail::MakeString(smd_collections_to_json, handles.data(), handles.size(), num_workers);
}

}  // namespace smdebug

#endif  // SMDEBUG_CPP_SYS_FILES_HPP
