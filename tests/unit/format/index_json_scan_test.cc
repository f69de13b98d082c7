// The short way to read an index against the long one.
#include "format/index_json_scan.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "base/strings.h"

namespace smdebug::format::index_json_scan_test {
namespace {

// What both ways make of a text, in one form.
std::string Described(const IndexFile &index) { return IndexToJson(index); }

SavedNumber Float(double number, int64_t time) {
  return {number, tensor::DType::kFloat32, 1, time};
}

IndexFile WithoutNumbers(IndexFile index) {
  for (TensorLocation &tensor : index.tensors) tensor.number.reset();
  return index;
}

std::vector<std::optional<SavedNumber>> NumbersOf(const IndexFile &index) {
  std::vector<std::optional<SavedNumber>> numbers;
  for (const TensorLocation &tensor : index.tensors) numbers.push_back(tensor.number);
  return numbers;
}

// The long way, which knows no numbers: a blank in front is nothing to JSON, and too much for the
// short way.
std::string LongWay(const std::string &text) {
  const auto index = IndexFromJson(" " + text, "path");
  return index.IsOk() ? Described(*index) : "refused: " + index.GetStatus().Message();
}

std::optional<SavedNumber> AnyNumber(std::mt19937_64 &random) {
  constexpr std::array kDTypes = {tensor::DType::kFloat32, tensor::DType::kFloat64,
                                  tensor::DType::kBFloat16, tensor::DType::kBool};
  const auto number = std::bit_cast<double>(random() >> random() % 64);
  if (std::isnan(number)) return {};  // it would have to equal itself
  return SavedNumber{number, kDTypes[random() % kDTypes.size()], static_cast<uint8_t>(random() % 3),
                     1 + static_cast<int64_t>(random() >> random() % 61 >> 3)};
}

std::string WrittenIndex(std::mt19937_64 &random) {
  const auto below = [&](uint64_t limit) { return random() % limit; };
  IndexFile index;
  index.mode = kModes[below(4)];
  index.mode_step = static_cast<int64_t>(random() >> below(64) >> 1);
  index.event_file_name = "events/000000000010/000000000010_worker_0.tfevents";
  for (uint64_t i = below(4); i > 0; --i) {
    TensorLocation &tensor = index.tensors.emplace_back();
    tensor.name.assign(1 + below(20), 'n');
    tensor.start = random() >> below(64) >> 2;
    tensor.length = random() >> below(64) >> 2;
    if (below(2) == 0) tensor.crc32c = static_cast<uint32_t>(random());
    if (below(2) == 0) tensor.number = AnyNumber(random);
  }
  for (uint64_t i = below(3); i > 0; --i) {
    SavedShape &shape = index.shapes.emplace_back();
    shape.name = "w";
    shape.shape.assign(below(4), static_cast<int64_t>(below(1000)));
  }
  return IndexToJson(index);
}

TEST(IndexJsonScanTest, WhatIsWrittenGoesTheShortWay) {
  std::mt19937_64 random(3);
  IndexFile index;  // what it held before makes no difference
  for (int round = 0; round < 2000; ++round) {
    const std::string text = WrittenIndex(random);
    ASSERT_TRUE(ScanIndex(text, &index)) << text;
    EXPECT_EQ(Described(index), text);
    EXPECT_EQ(LongWay(text), Described(WithoutNumbers(index)));
  }
}

TEST(IndexJsonScanTest, BothWaysAgreeOnDamagedTexts) {
  std::mt19937_64 random(4);
  const std::string letters = "\"\\{}[]:, 0123456789-+.eEnulltraifs_/x\n\xC3\xA9";
  size_t scanned = 0;
  IndexFile index;
  for (int round = 0; round < 50000; ++round) {
    std::string text = WrittenIndex(random);
    const size_t at = random() % text.size();
    switch (random() % 3) {
      case 0: text[at] = letters[random() % letters.size()]; break;
      case 1: text.insert(at, 1, letters[random() % letters.size()]); break;
      default: text.erase(at, 1 + random() % 3); break;
    }
    if (!ScanIndex(text, &index)) continue;
    ++scanned;
    ASSERT_EQ(Described(WithoutNumbers(index)), LongWay(text)) << text;
  }
  EXPECT_GT(scanned, 1000U);
}

// A text with these entries, and the right checksum.
std::string Signed(const std::string &meta, const std::string &entries) {
  const std::string before =
      StrCat(R"({"meta": {"mode": "TRAIN", "mode_step": 1, )", R"("event_file_name": "e/f")", meta,
             R"(}, "tensor_payload": [)", entries, R"(], "shape_payload": [])");
  return StrCat(before, R"(, "crc32c": )", Crc32c(AsBytes(before)), "}");
}

IndexFile Read(const std::string &text) {
  const auto index = IndexFromJson(text, "path");
  EXPECT_TRUE(index.IsOk()) << index.GetStatus().Message() << "\n" << text;
  return index.IsOk() ? *index : IndexFile();
}

TEST(IndexJsonScanTest, NumbersAreWrittenExactly) {
  using Limits = std::numeric_limits<double>;
  IndexFile index;
  index.event_file_name = "e/f";
  for (const double number :
       {0.0, -0.0, 0.1, -1.0 / 3, static_cast<double>(0.1F), 1e22, 5e-324, Limits::max(),
        Limits::lowest(), Limits::min(), Limits::infinity(), -Limits::infinity()}) {
    index.tensors.push_back({"x", 0, 1, 7, {}, Float(number, 1'700'000'000'000'000)});
  }
  index.tensors.push_back({"y", 0, 1, 7});
  index.tensors.back().number = {3.5, tensor::DType::kInt16, 0, 1'700'000'000'000'001};
  const IndexFile read = Read(IndexToJson(index));
  EXPECT_EQ(NumbersOf(read), NumbersOf(index));
  EXPECT_TRUE(std::signbit(read.tensors[1].number->number));
  index.tensors.resize(1);
  index.tensors[0].number->number = Limits::quiet_NaN();
  EXPECT_TRUE(std::isnan(Read(IndexToJson(index)).tensors[0].number->number));
  // Python reads it, too.
  EXPECT_NE(IndexToJson(index).find(R"("float32": "nan", "us": 0)"), std::string::npos);
}

TEST(IndexJsonScanTest, ADamagedTextHasNoNumbers) {
  std::mt19937_64 random(5);
  IndexFile index;
  index.event_file_name = "events/000000000010/000000000010_worker_0.tfevents";
  index.tensors = {{"loss", 0, 150, 7, {}, Float(0.25, 1'700'000'000'000'000)},
                   {"w", 150, 88, 8},
                   {"l2", 238, 150, 9, {}, Float(-12.5, 1'700'000'000'000'200)}};
  const std::string text = IndexToJson(index);
  size_t read = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const auto parsed = IndexFromJson(damaged, "path");
      if (!parsed.IsOk()) continue;
      ++read;
      for (const auto &number : NumbersOf(*parsed)) ASSERT_FALSE(number) << damaged;
    }
  }
  EXPECT_GT(read, 100U);
}

TEST(IndexJsonScanTest, OddNumbersAreNotKnown) {
  const std::string meta = R"(, "time_us": 5)";
  const std::string entry = R"({"tensorname": "x", "start_idx": 0, "length": 9)";
  const auto number_in = [&](const std::string &rest, const std::string &more_meta) {
    return Read(Signed(more_meta, StrCat(entry, rest, "}"))).tensors.at(0).number;
  };
  EXPECT_EQ(number_in(R"(, "float32": 1.5, "us": 2)", meta), Float(1.5, 7));
  EXPECT_EQ(number_in(R"(, "bool": 1, "rank": 32, "us": 0)", meta),
            (SavedNumber{1, tensor::DType::kBool, 32, 5}));
  for (const char *odd :
       {R"(, "float32": 1.5)", R"(, "us": 2, "float32": 1.5)", R"(, "float32": "1.5", "us": 2)",
        R"(, "float32": "", "us": 2)", R"(, "float32": null, "us": 2)",
        R"(, "float32": 1.5, "us": -2)", R"(, "float32": 1.5, "us": 9223372036854775807)",
        R"(, "float32": 1.5, "rank": 33, "us": 2)", R"(, "float32": 1.5, "rank": 256, "us": 2)",
        R"(, "complex64": 1.5, "us": 2)", R"(, "string": 1.5, "us": 2)",
        R"(, "number": 1.5, "us": 2)", R"(, "": 1.5, "us": 2)"}) {
    EXPECT_FALSE(number_in(odd, meta)) << odd;
  }
  EXPECT_FALSE(number_in(R"(, "float32": 1.5, "us": 2)", ""));
  EXPECT_FALSE(number_in(R"(, "float32": 1.5, "us": 2)", R"(, "time_us": 9223372036854775807)"));
  // These are no JSON.
  for (const char *odd : {"nan", "inf", "1e999", "+1", ""}) {
    const std::string text = StrCat(entry, R"(, "float32": )", odd, R"(, "us": 2})");
    EXPECT_FALSE(IndexFromJson(Signed(meta, text), "path").IsOk()) << odd;
  }
}

TEST(IndexJsonScanTest, NamesOfTheLongWayAreNotTakenForPlainOnes) {
  const std::string entry = R"("start_idx": 0, "length": 9})";
  IndexFile spare = Read(Signed("", R"({"tensorname": "a\"b", )" + entry));
  ASSERT_EQ(spare.tensors.at(0).name, "a\"b");
  EXPECT_FALSE(ScanIndex(Signed("", R"({"tensorname": "a"b", )" + entry), &spare));
}

TEST(IndexJsonScanTest, WhatIsRefusedOrEscapedGoesTheLongWay) {
  const std::string start = R"({"meta": {"mode": "EVAL", "mode_step": 7, "event_file_name": )";
  const std::string end = R"(, "shape_payload": []})";
  const std::string good = start + R"("e"}, "tensor_payload": [{"tensorname": "x", )";
  IndexFile index;
  EXPECT_TRUE(ScanIndex(good + R"("start_idx": 1, "length": 2}])" + end, &index));
  IndexFile deep;
  deep.shapes.push_back({"w", "w", std::vector<int64_t>(33, 1)});
  EXPECT_FALSE(ScanIndex(IndexToJson(deep), &index));
  deep.shapes[0].shape.resize(32);
  EXPECT_TRUE(ScanIndex(IndexToJson(deep), &index));
  for (const std::string &text :
       {start + R"("../e"}, "tensor_payload": [])" + end,
        start + R"(""}, "tensor_payload": [])" + end,
        start + R"("e\u00e9"}, "tensor_payload": [])" + end,
        start + "\"\xC3\xA9\"}, \"tensor_payload\": []" + end,
        good + R"("start_idx": 01, "length": 2}])" + end,
        good + R"("start_idx": -1, "length": 2}])" + end,
        good + R"("start_idx": 1.0, "length": 2}])" + end,
        good + R"("start_idx": 9223372036854775807, "length": 1}])" + end,
        good + R"("start_idx": 18446744073709551615, "length": 0}])" + end,
        good + R"("start_idx": 1, "length": 2, "crc32c": 4294967296}])" + end,
        good + R"("start_idx": 1, "length": 2}, ])" + end,
        good + R"("start_idx": 1, "length": 2}])" + end + " "}) {
    EXPECT_FALSE(ScanIndex(text, &index)) << text;
  }
}

}  // namespace
}  // namespace smdebug::format::index_json_scan_test
