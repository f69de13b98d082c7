// Records for the tests of format/.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"
#include "format/event_reader.h"
#include "format/event_writer.h"
#include "format/tfrecord.h"
#include "tensor/view.h"

namespace smdebug::format::testing {

inline std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// A payload with a right frame around it.
inline std::string Framed(std::string_view payload) {
  std::string record(AsText(RecordHeader(payload.size())));
  record.append(payload);
  record.append(AsText(RecordFooter(kConstantFooter)));
  return record;
}

inline std::string PayloadOf(std::string_view record) {
  return std::string(
      record.substr(kRecordHeaderSize, record.size() - kRecordHeaderSize - kRecordFooterSize));
}

inline Result<std::optional<TensorEvent>> ParseWhole(std::string_view record) {
  return ParseRecord({AsBytes(record), {}, {}});
}

// Protobuf's wire form, by hand.
inline std::string Varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
  return bytes;
}
inline std::string Number(uint32_t field, uint64_t number) {
  return Varint(field << 3) + Varint(number);
}
inline std::string Bytes(uint32_t field, std::string_view bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}

// A framed event with a tensor named "x"; `fields` is the tensor message.
inline std::string TensorRecord(std::string_view fields) {
  return Framed(Bytes(5, Bytes(1, Bytes(1, "x") + Bytes(8, fields))));
}
inline std::string Shape(const std::vector<uint64_t> &sizes) {
  std::string dims;
  for (const uint64_t size : sizes) dims += Bytes(2, size == 0 ? "" : Number(1, size));
  return Bytes(2, dims);
}

// A tensor that lives as long as this.
class OwnedView {
 public:
  OwnedView(tensor::DType dtype, std::vector<int64_t> shape, std::string data,
            std::vector<std::string> strings = {})
      : shape_(std::move(shape)), data_(std::move(data)), strings_(std::move(strings)) {
    for (const std::string &text : strings_) pointers_.push_back(text.c_str());
    view_.dtype = dtype;
    view_.shape = shape_;
    view_.data = dtype == tensor::DType::kString ? static_cast<const void *>(pointers_.data())
                                                 : static_cast<const void *>(data_.data());
  }
  OwnedView(const OwnedView &) = delete;
  OwnedView &operator=(const OwnedView &) = delete;

  const tensor::View &View() const { return view_; }
  const std::string &Data() const { return data_; }

 private:
  std::vector<int64_t> shape_;
  std::string data_;
  std::vector<std::string> strings_;
  std::vector<const char *> pointers_;
  tensor::View view_;
};

}  // namespace smdebug::format::testing
