#include "format/index_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/step.h"
#include "base/strings.h"

namespace smdebug::format {

// For comparing lists of them.
static bool operator==(const TensorLocation &a, const TensorLocation &b) {
  return a.name == b.name && a.start == b.start && a.length == b.length && a.crc32c == b.crc32c;
}
static bool operator==(const SavedShape &a, const SavedShape &b) {
  return a.name == b.name && a.original_name == b.original_name && a.shape == b.shape;
}

}  // namespace smdebug::format

namespace smdebug::format::index_json_test {
namespace {

constexpr std::string_view kPath = "index/000000000/000000000010_worker_0.json";
constexpr std::string_view kEvents = "events/000000000010/000000000010_worker_0.tfevents";

IndexFile TwoTensors() {
  IndexFile index;
  index.event_file_name = kEvents;
  index.tensors = {{"foo_0", 0, 123, {}}, {"foo_1", 123, 118, {}}};
  return index;
}

void ExpectEqual(const IndexFile &a, const IndexFile &b) {
  EXPECT_EQ(a.mode, b.mode);
  EXPECT_EQ(a.mode_step, b.mode_step);
  EXPECT_EQ(a.event_file_name, b.event_file_name);
  EXPECT_TRUE(a.tensors == b.tensors);
  EXPECT_TRUE(a.shapes == b.shapes);
}

IndexFile Read(std::string_view text) {
  const auto index = IndexFromJson(text, kPath);
  EXPECT_TRUE(index.IsOk()) << index.GetStatus().Message() << "\n" << text;
  return index.IsOk() ? *index : IndexFile();
}

void ExpectRefused(std::string_view text, std::string_view reason) {
  const auto index = IndexFromJson(text, kPath);
  ASSERT_FALSE(index.IsOk()) << text;
  const Status status = index.GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kCorruptData);
  EXPECT_TRUE(status.Message().starts_with(kPath)) << status.Message();
  EXPECT_NE(status.Message().find(reason), std::string::npos) << status.Message() << "\n" << text;
  ASSERT_NE(status.Detail("path"), nullptr);
  EXPECT_EQ(*status.Detail("path"), kPath);
}

// A text with those sections; single quotes stand for double ones.
std::string Index(std::string_view meta, std::string_view tensors) {
  std::string text = StrCat("{'meta': ", meta, ", 'tensor_payload': ", tensors, "}");
  for (char &letter : text) {
    if (letter == '\'') letter = '"';
  }
  return text;
}
constexpr std::string_view kMeta = "{'mode': 'EVAL', 'mode_step': 7, 'event_file_name': 'e/f'}";
constexpr std::string_view kTensor = "[{'tensorname': 'x', 'start_idx': 1, 'length': 2}]";

TEST(IndexToJsonTest, TextIsThatOfTheOriginal) {
  EXPECT_EQ(IndexToJson(TwoTensors()),
            R"({"meta": {"mode": "GLOBAL", "mode_step": 0, "event_file_name": )"
            R"("events/000000000010/000000000010_worker_0.tfevents"}, "tensor_payload": )"
            R"([{"tensorname": "foo_0", "start_idx": 0, "length": 123}, )"
            R"({"tensorname": "foo_1", "start_idx": 123, "length": 118}], "shape_payload": []})");
}

TEST(IndexToJsonTest, ShapesAloneNameNoEventFile) {
  IndexFile index;
  index.mode = Mode::kTrain;
  index.mode_step = 12;
  index.shapes = {{"w", "w:0", {3, 4}}, {"s", "s", {}}};
  EXPECT_EQ(IndexToJson(index),
            R"({"meta": {"mode": "TRAIN", "mode_step": 12}, "tensor_payload": [], )"
            R"("shape_payload": [{"tensorname": "w", "originalname": "w:0", "shape": [3, 4]}, )"
            R"({"tensorname": "s", "originalname": "s", "shape": []}]})");
}

TEST(IndexToJsonTest, ChecksumsFollowWhereKnown) {
  IndexFile index = TwoTensors();
  index.tensors[1].crc32c = std::numeric_limits<uint32_t>::max();
  const std::string text = IndexToJson(index);
  EXPECT_NE(text.find(R"("length": 123})"), std::string::npos);
  EXPECT_NE(text.find(R"("length": 118, "crc32c": 4294967295})"), std::string::npos);
}

TEST(IndexToJsonTest, NamesAreEscapedAsPythonDoes) {
  IndexFile index = TwoTensors();
  index.tensors.resize(1);
  index.tensors[0].name =
      "a\"b\\c/\b\f\n\r\t\x01\x1F\x7F\xC3\xA9\xE2\x82\xAC\xE2\x80\xA8\xF0\x9F\x98\x80<>&'";
  const std::string text = IndexToJson(index);
  EXPECT_NE(
      text.find(R"("a\"b\\c/\b\f\n\r\t\u0001\u001f\u007f\u00e9\u20ac\u2028\ud83d\ude00<>&'")"),
      std::string::npos)
      << text;
  ExpectEqual(Read(text), index);
}

TEST(IndexFromJsonTest, IndexesGoThereAndBack) {
  IndexFile index = TwoTensors();
  ExpectEqual(Read(IndexToJson(index)), index);
  index.mode = Mode::kPredict;
  index.mode_step = kMaxStep;
  index.tensors.push_back({"large", uint64_t{1} << 40, uint64_t{1} << 31, 0});
  index.tensors.push_back({"\n", 0, 0, 0xFFFFFFFFU});
  index.tensors.push_back({"end", std::numeric_limits<int64_t>::max(), 0, {}});
  index.shapes.push_back({"w", "w:0", {0, 1, std::numeric_limits<int64_t>::max()}});
  index.shapes.push_back({"s", "", {}});
  index.shapes.push_back({"deep", "deep", std::vector<int64_t>(32, 1)});
  ExpectEqual(Read(IndexToJson(index)), index);
  index.tensors.clear();
  index.event_file_name.clear();
  ExpectEqual(Read(IndexToJson(index)), index);
}

TEST(IndexFromJsonTest, OrderSpacesAndUnknownKeysDoNotMatter) {
  const IndexFile index = Read(R"(
    {"new": [1.5e300, -2, {"meta": {}, "tensor_payload": [[[]]]}, null, true, "\u00e9"],
     "tensor_payload":[{"crc32c":5,"length":2,"extra":{"tensorname":"no"},"start_idx":1,
                        "tensorname":"x"}],
     "meta":{"other":[],"event_file_name":"e/f","mode_step":7,"mode":" EVAL "},
     "zz": "}"}  )");
  EXPECT_EQ(index.mode, Mode::kEval);
  EXPECT_EQ(index.mode_step, 7);
  EXPECT_EQ(index.event_file_name, "e/f");
  EXPECT_TRUE(index.tensors == (std::vector<TensorLocation>{{"x", 1, 2, 5}}));
}

TEST(IndexFromJsonTest, TheLastOfEqualKeysCounts) {
  const IndexFile index = Read(Index(
      "{'mode': 3, 'mode': 'EVAL', 'mode_step': 'x', 'mode_step': 7, 'event_file_name': 'e/f'}",
      "[{'tensorname': 'old', 'start_idx': 1, 'length': 2}], 'tensor_payload': "
      "[{'tensorname': [], 'start_idx': {}, 'tensorname': 'x', 'start_idx': 1, 'length': -1, "
      "'length': 2}]"));
  EXPECT_EQ(index.mode_step, 7);
  EXPECT_TRUE(index.tensors == (std::vector<TensorLocation>{{"x", 1, 2, {}}}));
  const IndexFile righted = Read(Index(
      "5, 'meta': {'mode': 'EVAL', 'mode_step': 7, 'event_file_name': 5, 'event_file_name': 'e/f'}",
      "null, 'tensor_payload': [{'tensorname': 'x', 'start_idx': 1, 'length': 2, 'crc32c': null, "
      "'crc32c': 5}], 'shape_payload': [{'tensorname': 'w', 'shape': [1], 'shape': [2], "
      "'originalname': 5, 'originalname': 'o'}]"));
  EXPECT_EQ(righted.event_file_name, "e/f");
  EXPECT_TRUE(righted.tensors == (std::vector<TensorLocation>{{"x", 1, 2, 5}}));
  EXPECT_TRUE(righted.shapes == (std::vector<SavedShape>{{"w", "o", {2}}}));
  EXPECT_EQ(Read(Index(StrCat(kMeta, ", 'meta': {'mode': 'EVAL', 'mode_step': 7}"), "[]"))
                .event_file_name,
            "");
  ExpectRefused(Index(kMeta, "[{'tensorname': 'x', 'start_idx': 1, 'length': 2, 'length': 1.5}]"),
                "no place");
  ExpectRefused(Index("{'mode': 'EVAL', 'mode_step': 7, 'mode': null}", "[]"), "mode");
  // A new section forgets what the one before it held.
  ExpectRefused(Index(StrCat(kMeta, ", 'meta': {'mode': 'EVAL'}"), "[]"), "mode step");
  ExpectRefused(Index(StrCat(kMeta, ", 'meta': 5"), "[]"), "meta");
}

TEST(IndexFromJsonTest, EmptyAndCutTextsAreRefused) {
  ExpectRefused("", "empty or cut index file");
  ExpectRefused("  \n", "empty or cut index file");
  IndexFile index = TwoTensors();
  index.shapes = {{"w", "w:0", {3, 4}}};
  index.tensors[1].crc32c = 17;
  const std::string text = IndexToJson(index);
  for (size_t size = 0; size < text.size(); ++size) {
    ExpectRefused(text.substr(0, size), "empty or cut index file");
  }
}

TEST(IndexFromJsonTest, OtherTextsAreRefused) {
  const std::string text = IndexToJson(TwoTensors());
  ExpectRefused("null", "no object");
  ExpectRefused("[]", "no object");
  ExpectRefused("5", "no object");
  ExpectRefused("\"text\"", "no object");
  ExpectRefused("{", "empty or cut");
  ExpectRefused("{'meta': 1}", "no JSON at byte 1");
  ExpectRefused(text + text, "no JSON at byte");
  ExpectRefused(text + "x", "no JSON at byte");
  ExpectRefused(text + std::string("\0", 1), "no JSON at byte");
  ExpectRefused(text + std::string("\0x", 2), "no JSON at byte");
  ExpectRefused(std::string("\0", 1) + text, "no JSON at byte");
  ExpectRefused("\xEF\xBB\xBF" + text, "no JSON at byte");
  ExpectRefused(Index(kMeta, "[{'tensorname': '\xFF', 'start_idx': 1, 'length': 2}]"), "not UTF-8");
  ExpectRefused(Index(kMeta, "[{'tensorname': '\\ud800', 'start_idx': 1, 'length': 2}]"),
                "no JSON");
  ExpectRefused(Index(kMeta, "[{'tensorname': '\n', 'start_idx': 1, 'length': 2}]"), "no JSON");
}

TEST(IndexFromJsonTest, MetaMustBeThereAndMakeSense) {
  ExpectRefused(R"({"tensor_payload": []})", "no meta section");
  ExpectRefused("{}", "no meta section");
  ExpectRefused(Index("{}", "[]"), "meta section of the index is empty");
  ExpectRefused(Index("[]", "[]"), "meta section");
  ExpectRefused(Index("null", "[]"), "meta section");
  ExpectRefused(Index("{'mode_step': 7}", "[]"), "no known mode");
  for (const std::string_view mode : {"'eval'", "'OTHER'", "''", "2", "null", "['EVAL']"}) {
    ExpectRefused(Index(StrCat("{'mode': ", mode, ", 'mode_step': 7}"), "[]"), "no known mode");
  }
  for (const std::string_view step :
       {"-1", "7.0", "7e0", "'7'", "null", "true", "[7]", "9223372036854775808", "1e400"}) {
    ExpectRefused(Index(StrCat("{'mode': 'EVAL', 'mode_step': ", step, "}"), "[]"), "");
  }
}

TEST(IndexFromJsonTest, PayloadMustBeThereAndALIst) {
  ExpectRefused(R"({"meta": {"mode": "EVAL", "mode_step": 7}})", "neither tensor_payload");
  for (const std::string_view list : {"{}", "null", "5", "'x'"}) {
    ExpectRefused(Index(kMeta, list), "no list");
    ExpectRefused(Index(kMeta, StrCat("[], 'shape_payload': ", list)), "no list");
  }
  for (const std::string_view entry : {"5", "null", "'x'", "[]", "true", "1.5"}) {
    ExpectRefused(Index(kMeta, StrCat("[", entry, "]")), "no object");
    ExpectRefused(Index(kMeta, StrCat("[], 'shape_payload': [", entry, "]")), "no object");
  }
  EXPECT_TRUE(Read(Index(kMeta, "[]")).tensors.empty());
  EXPECT_TRUE(Read(R"({"meta": {"mode": "EVAL", "mode_step": 7}, "shape_payload": []})")
                  .event_file_name.empty());
}

TEST(IndexFromJsonTest, TensorsMustHaveNamesAndPlaces) {
  ExpectRefused(Index(kMeta, "[{}]"), "no name");
  ExpectRefused(Index(kMeta, "[{'tensorname': '', 'start_idx': 1, 'length': 2}]"), "empty");
  ExpectRefused(Index(kMeta, "[{'tensorname': 'x\\u0000y', 'start_idx': 1, 'length': 2}]"), "NUL");
  for (const char *shape :
       {"'tensorname': '', 'originalname': 'x'", "'tensorname': 'x\\u0000', 'originalname': 'x'",
        "'tensorname': 'x', 'originalname': '\\u0000'"}) {
    ExpectRefused(Index(kMeta, StrCat("[], 'shape_payload': [{", shape, ", 'shape': []}]")), "NUL");
  }
  ExpectRefused(Index(kMeta, "[{'start_idx': 1, 'length': 2}]"), "no name");
  ExpectRefused(Index(kMeta, "[{'tensorname': 5, 'start_idx': 1, 'length': 2}]"), "no name");
  ExpectRefused(Index(kMeta, "[{'tensorname': 'x', 'length': 2}]"), "no place");
  ExpectRefused(Index(kMeta, "[{'tensorname': 'x', 'start_idx': 1}]"), "no place");
  const std::string_view complete = "[{'tensorname': 'x', 'start_idx': 1, 'length': 2}, ";
  ExpectRefused(Index(kMeta, StrCat(complete, "{'start_idx': 1, 'length': 2}]")), "no name");
  ExpectRefused(Index(kMeta, StrCat(complete, "{'tensorname': 'y', 'length': 2}]")), "no place");
  for (const std::string_view number :
       {"-1", "1.0", "1e3", "'1'", "null", "[1]", "{}", "9223372036854775808",
        "18446744073709551616", "-9223372036854775809", "1e400"}) {
    const std::string start =
        StrCat("[{'tensorname': 'x', 'start_idx': ", number, ", 'length': 2}]");
    const std::string length =
        StrCat("[{'tensorname': 'x', 'start_idx': 1, 'length': ", number, "}]");
    ExpectRefused(Index(kMeta, start), "");
    ExpectRefused(Index(kMeta, length), "");
  }
  ExpectRefused(
      Index(kMeta, "[{'tensorname': 'x', 'start_idx': 9223372036854775807, 'length': 1}]"),
      "beyond the end");
  for (const std::string_view crc : {"-1", "4294967296", "'1'", "null", "1.5"}) {
    ExpectRefused(Index(kMeta, StrCat("[{'tensorname': 'x', 'start_idx': 1, 'length': 2, "
                                      "'crc32c': ",
                                      crc, "}]")),
                  "no checksum");
  }
}

TEST(IndexFromJsonTest, ShapesMustHaveNamesAndSizes) {
  const auto with_shape = [](std::string_view entry) {
    return Index(kMeta, StrCat("[], 'shape_payload': [", entry, "]"));
  };
  const IndexFile index = Read(with_shape("{'shape': [3, 4], 'tensorname': 'w'}"));
  EXPECT_TRUE(index.shapes == (std::vector<SavedShape>{{"w", "w", {3, 4}}}));
  ExpectRefused(with_shape("{'shape': [3]}"), "no name");
  ExpectRefused(with_shape("{'tensorname': 'w'}"), "no sizes");
  ExpectRefused(with_shape("{'tensorname': 'w', 'shape': 5}"), "no sizes");
  ExpectRefused(with_shape("{'tensorname': 'w', 'shape': {}}"), "no sizes");
  ExpectRefused(with_shape("{'tensorname': 'w', 'originalname': 5, 'shape': []}"), "no text");
  for (const std::string_view size : {"-1", "1.5", "null", "'3'", "[3]", "{}", "1e3"}) {
    ExpectRefused(with_shape(StrCat("{'tensorname': 'w', 'shape': [", size, "]}")), "no size");
  }
  std::string many = "1";
  for (int i = 0; i < 32; ++i) many += ", 1";
  ExpectRefused(with_shape(StrCat("{'tensorname': 'w', 'shape': [", many, "]}")), "32 sizes");
}

TEST(IndexFromJsonTest, EventFilesMustBeInsideTheTrial) {
  for (const std::string_view name :
       {"../e", "/etc/passwd", "a/../../b", ".", "..", "a//b", "a/", "a\\u0000b"}) {
    for (const std::string_view tensors : {std::string_view("[]"), kTensor}) {
      const std::string meta =
          StrCat("{'mode': 'EVAL', 'mode_step': 7, 'event_file_name': '", name, "'}");
      ExpectRefused(Index(meta, tensors), "outside the trial");
    }
  }
  ExpectRefused(Index("{'mode': 'EVAL', 'mode_step': 7}", kTensor), "names no event file");
  ExpectRefused(Index("{'mode': 'EVAL', 'mode_step': 7, 'event_file_name': 5}", "[]"), "no text");
  // The original loads it; its values are not available.
  EXPECT_EQ(Read(Index("{'mode': 'EVAL', 'mode_step': 7, 'event_file_name': ''}", kTensor))
                .tensors.size(),
            1U);
}

TEST(IndexFromJsonTest, DeepNestingIsRefused) {
  const auto nested = [](size_t depth) {
    return Index(kMeta, StrCat("[], 'x': ", std::string(depth, '['), std::string(depth, ']')));
  };
  Read(nested(60));
  ExpectRefused(nested(1000), "nested too deeply");
  ExpectRefused(StrCat("{\"x\": ", std::string(5'000'000, '[')), "nested too deeply");
  std::string objects = "{\"x\":";
  for (int i = 0; i < 100'000; ++i) objects += "{\"x\":";
  ExpectRefused(objects, "nested too deeply");
}

TEST(IndexFromJson, PartsGoThereAndBack) {
  IndexFile index;
  index.event_file_name = "events/000000000000/000000000000_worker_0.tfevents";
  index.tensors.push_back({"w/part_0", 0, 10, 7, PartOf{"w", 0, {3, 2}}});
  index.tensors.push_back({"w/part_1", 10, 10, 8, PartOf{"w", 1, {3, 2}}});
  index.tensors.push_back({"b", 20, 10, 9});
  const std::string text = IndexToJson(index);
  EXPECT_NE(text.find(R"("crc32c": 8, "part_of": "w", "part": 1, "whole_shape": [3, 2]})"),
            std::string::npos)
      << text;
  const auto read = IndexFromJson(text, "index");
  ASSERT_TRUE(read.IsOk()) << read.GetStatus().Message();
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(read->tensors[i].part == index.tensors[i].part) << i;
  // The memory of a spare index keeps no part.
  index.tensors.erase(index.tensors.begin(), index.tensors.begin() + 2);
  const auto again = IndexFromJson(IndexToJson(index), "index", *read);
  ASSERT_TRUE(again.IsOk());
  EXPECT_FALSE(again->tensors[0].part);
}

TEST(IndexFromJson, RefusesPartsThatDoNotFit) {
  const auto fault = [](std::string_view entries) {
    const std::string text =
        R"({"meta": {"mode": "GLOBAL", "mode_step": 0, "event_file_name": "events/0/0_a.tfevents"}, )"
        R"("tensor_payload": [)" +
        std::string(entries) + "]}";
    const auto read = IndexFromJson(text, "index");
    return read.IsOk() ? "" : read.GetStatus().Message();
  };
  const std::string first =
      R"({"tensorname": "w/part_0", "start_idx": 0, "length": 9, "part_of": "w", "part": 0, "whole_shape": [4]})";
  const auto next = [](int start, int number, const char *shape) {
    return R"(, {"tensorname": "x", "start_idx": )" + std::to_string(start) +
           R"(, "length": 9, "part_of": "w", "part": )" + std::to_string(number) +
           R"(, "whole_shape": )" + shape + "}";
  };
  EXPECT_EQ(fault(first + next(9, 1, "[4]")), "");
  for (const std::string &wrong : {next(9, 2, "[4]"), next(8, 1, "[4]"), next(9, 1, "[5]")}) {
    EXPECT_NE(fault(first + wrong).find("out of order"), std::string::npos) << wrong;
  }
  EXPECT_NE(fault(next(9, 1, "[4]").substr(2)).find("out of order"), std::string::npos);
  for (const char *wrong :
       {R"("part_of": "w", "part": 0)", R"("part_of": "w", "whole_shape": [1])",
        R"("part": 0, "whole_shape": [1])", R"("part_of": 1, "part": 0, "whole_shape": [1])",
        R"("part_of": "w", "part": -1, "whole_shape": [1])"}) {
    EXPECT_NE(
        fault(R"({"tensorname": "x", "start_idx": 0, "length": 9, )" + std::string(wrong) + "}")
            .find("lacks its tensor"),
        std::string::npos)
        << wrong;
  }
}

}  // namespace
}  // namespace smdebug::format::index_json_test
