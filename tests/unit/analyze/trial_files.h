// The files of a trial as a job leaves them, for the tests of analyze/.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/strings.h"
#include "format/event_writer.h"
#include "format/index_json.h"
#include "format/paths.h"
#include "storage/memory_store.h"

namespace smdebug::analyze {

// One worker's files of one step.
class StepFiles {
 public:
  StepFiles(int64_t step, Mode mode, int64_t mode_step, std::string worker = "worker_0")
      : step_(step), worker_(std::move(worker)) {
    index_.mode = mode;
    index_.mode_step = mode_step;
  }
  // A job without modes.
  explicit StepFiles(int64_t step, std::string worker = "worker_0")
      : StepFiles(step, Mode::kGlobal, step, std::move(worker)) {}

  StepFiles &Add(std::string name, std::vector<float> numbers) {
    const std::vector<int64_t> shape = {static_cast<int64_t>(numbers.size())};
    return AddView(std::move(name), {numbers.data(), shape, {}, tensor::DType::kFloat32});
  }
  StepFiles &AddView(std::string name, const tensor::View &view) {
    format::EncodedEvent event;
    const Status encoded =
        format::EncodeTensorEvent(name, view, {step_, index_.mode, index_.mode_step, 1.5},
                                  format::Checksum::kConstant, &event);
    EXPECT_TRUE(encoded.IsOk()) << encoded.Message();
    std::string record = event.head;
    if (view.ByteCount() > 0) {
      record.append(static_cast<const char *>(view.data), view.ByteCount());
    }
    record += event.tail;
    index_.tensors.push_back(
        {std::move(name), events_.size(), record.size(), Crc32c(AsBytes(record))});
    events_ += record;
    return *this;
  }
  StepFiles &AddShape(std::string name, std::vector<int64_t> shape) {
    index_.shapes.push_back({name, name + "_original", std::move(shape)});
    return *this;
  }

  format::IndexFile &Index() { return index_; }
  std::string &Events() { return events_; }
  std::string EventName() const { return format::EventFileName(step_, worker_); }
  std::string IndexName() const { return format::IndexFileName(step_, worker_); }
  std::string IndexText() {
    if (index_.event_file_name.empty() && !index_.tensors.empty()) {
      index_.event_file_name = EventName();
    }
    return format::IndexToJson(index_);
  }

  void PutEvents(storage::MemoryStore &store) { store.Put(EventName(), events_); }
  void PutIndex(storage::MemoryStore &store) { store.Put(IndexName(), IndexText()); }
  void Put(storage::MemoryStore &store) {
    if (!events_.empty()) PutEvents(store);
    PutIndex(store);
  }

 private:
  int64_t step_;
  std::string worker_;
  format::IndexFile index_;
  std::string events_;
};

// A worker's collections file with collections "default" and "gradients".
inline void PutCollections(storage::MemoryStore &store, int num_workers = 1,
                           const std::string &worker = "worker_0") {
  store.Put(format::CollectionsFileName(worker),
            StrCat(R"({"collections": {"default": {"name": "default", "tensor_names": ["a"]}, )",
                   R"("gradients": {"name": "gradients", "include_regex": ["^gradient"]}}, )",
                   R"("_meta": {"num_workers": )", num_workers, "}}"));
}

inline void PutEndMarker(storage::MemoryStore &store, double at = 0) {
  store.Put(std::string(format::kEndMarker), "", at);
}

}  // namespace smdebug::analyze
