// Tensors to record, and what was recorded of them, for the tests of record/.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "format/event_reader.h"
#include "format/index_json.h"
#include "format/paths.h"
#include "storage/memory_store.h"
#include "tensor/view.h"

namespace smdebug::record {

// A tensor that lives as long as this.
class Floats {
 public:
  explicit Floats(std::vector<float> numbers)
      : numbers_(std::move(numbers)), shape_{static_cast<int64_t>(numbers_.size())} {}
  Floats(std::vector<int64_t> shape, std::vector<float> numbers)
      : numbers_(std::move(numbers)), shape_(std::move(shape)) {}
  // `count` numbers, each another one.
  static Floats Counting(size_t count) {
    std::vector<float> numbers(count);
    for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i);
    return Floats(std::move(numbers));
  }

  operator tensor::View() const {  // NOLINT(google-explicit-constructor)
    return {numbers_.data(), shape_, {}, tensor::DType::kFloat32};
  }
  const std::vector<float> &Numbers() const { return numbers_; }

 private:
  std::vector<float> numbers_;
  std::vector<int64_t> shape_;
};

inline std::vector<float> FloatsOf(ByteSpan bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

// One step as it was recorded; fails the test where files do not fit together.
struct RecordedStep {
  bool exists = false;
  format::IndexFile index;
  std::map<std::string, format::EventContext> contexts;
  std::map<std::string, std::vector<float>> floats;
  std::map<std::string, std::vector<std::string>> texts;
  std::vector<std::string> names;  // in the order of the file

  static RecordedStep Read(const storage::MemoryStore &store, int64_t step,
                           const std::string &worker = "worker_0") {
    const auto files = store.Files();
    RecordedStep recorded;
    const auto index = files.find(format::IndexFileName(step, worker));
    if (index == files.end()) return recorded;
    recorded.exists = true;
    auto parsed = format::IndexFromJson(index->second, index->first);
    EXPECT_TRUE(parsed.IsOk()) << parsed.GetStatus().Message();
    recorded.index = *std::move(parsed);
    for (const format::TensorLocation &location : recorded.index.tensors) {
      recorded.Add(files.at(recorded.index.event_file_name), location);
    }
    return recorded;
  }

 private:
  void Add(const std::string &events, const format::TensorLocation &location) {
    const std::string bytes = events.substr(location.start, location.length);
    const auto event = format::ParseRecord({AsBytes(bytes), {}, {}});
    ASSERT_TRUE(event.IsOk()) << location.name << ": " << event.GetStatus().Message();
    ASSERT_TRUE(event->has_value()) << location.name;
    const format::TensorEvent &tensor = **event;
    EXPECT_EQ(tensor.name, location.name);
    names.push_back(tensor.name);
    contexts[tensor.name] = tensor.context;
    if (tensor.dtype == tensor::DType::kFloat32) floats[tensor.name] = FloatsOf(tensor.content);
    texts[tensor.name] = tensor.strings;
  }
};

}  // namespace smdebug::record
