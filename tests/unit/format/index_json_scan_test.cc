// The short way to read an index against the long one.
#include "format/index_json_scan.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace smdebug::format::index_json_scan_test {
namespace {

// What both ways make of a text, in one form.
std::string Described(const IndexFile &index) { return IndexToJson(index); }

// The long way: a blank in front is nothing to JSON, and too much for the short way.
std::string LongWay(const std::string &text) {
  const auto index = IndexFromJson(" " + text, "path");
  return index.IsOk() ? Described(*index) : "refused: " + index.GetStatus().Message();
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
    EXPECT_EQ(LongWay(text), text);
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
    ASSERT_EQ(Described(index), LongWay(text)) << text;
  }
  EXPECT_GT(scanned, 1000U);
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
