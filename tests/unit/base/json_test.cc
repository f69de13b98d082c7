#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace smdebug::json_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

JsonDocument Parsed(std::string_view text) {
  Result<JsonDocument> document = JsonDocument::Parse(text);
  EXPECT_TRUE(document.IsOk()) << document.GetStatus().Message();
  return *std::move(document);
}

Status ParseStatus(std::string_view text) { return JsonDocument::Parse(text).GetStatus(); }

std::string Repeated(std::string_view piece, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += piece;
  return out;
}

template <class T>
std::string MessageOf(const Result<T> &result) {
  EXPECT_EQ(result.GetStatus().GetCode(), Code::kInvalidConfig);
  return result.GetStatus().Message();
}

TEST(JsonValue, ReportsItsKind) {
  const JsonDocument document = Parsed(R"([null, {}, [], "a", 1, true, false])");
  std::vector<std::string> kinds;
  for (const JsonValue &item : document.Root().Items()) kinds.emplace_back(item.Kind());
  EXPECT_THAT(kinds,
              ElementsAre("null", "an object", "a list", "text", "a number", "true", "false"));
}

TEST(JsonValue, FindsMembersInOrder) {
  const JsonDocument document = Parsed(R"({"b": 1, "a": 2})");
  const auto members = document.Root().Members();
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].first, "b");
  EXPECT_EQ(members[1].first, "a");
  EXPECT_EQ(*document.Root().Find("a")->Int(), 2);
  EXPECT_FALSE(document.Root().Find("c").has_value());
  EXPECT_FALSE(document.Root().Find("A").has_value());
}

TEST(JsonValue, TheLastValueOfARepeatedKeyCounts) {
  const JsonDocument document = Parsed(R"({"a": 1, "b": 2, "a": 3})");
  EXPECT_EQ(*document.Root().Find("a")->Int(), 3);
  const auto members = document.Root().Members();
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].first, "a");
  EXPECT_EQ(*members[0].second.Int(), 3);
}

TEST(JsonValue, OtherThanObjectsAndListsHaveNoParts) {
  const JsonDocument document = Parsed(R"(["a", {"b": 1}])");
  EXPECT_FALSE(document.Root().Find("a").has_value());
  EXPECT_TRUE(document.Root().Members().empty());
  EXPECT_TRUE(document.Root().Items()[1].Items().empty());
}

TEST(JsonValue, MessagesContainThePlace) {
  const JsonDocument document = Parsed(R"({"a": {"b": [0, {"c": 5}]}})");
  const JsonValue inner = *document.Root().Find("a")->Find("b")->Items()[1].Find("c");
  EXPECT_EQ(inner.Place(), "a.b[1].c");
  EXPECT_EQ(MessageOf(inner.Text()), "a.b[1].c: expected text, found a number");
  EXPECT_EQ(MessageOf(inner.Bool()), "a.b[1].c: expected true or false, found a number");
  EXPECT_EQ(MessageOf(document.Root().Int()),
            "the document: expected a whole number, found an object");
}

TEST(JsonValue, PlacesOfHostileKeysStayShortAndPrintable) {
  const JsonDocument document = Parsed("{\"" + std::string(100'000, 'k') + "\\n\": [1]}");
  const std::string message = MessageOf(document.Root().Members()[0].second.Items()[0].Text());
  EXPECT_LT(message.size(), 200U);
}

TEST(JsonValue, TextMayContainEscapes) {
  const JsonDocument document = Parsed(R"(["\u00e9\ud83d\ude00\n\/", "é"])");
  EXPECT_EQ(*document.Root().Items()[0].Text(), "é😀\n/");
  EXPECT_EQ(*document.Root().Items()[1].Text(), "é");
}

TEST(JsonValue, IntsAreExact) {
  const JsonDocument document =
      Parsed("[0, -1, 3000000000, 9007199254740991, -9007199254740991, 1e3, 2.0]");
  std::vector<int64_t> numbers;
  for (const JsonValue &item : document.Root().Items()) numbers.push_back(*item.Int());
  EXPECT_THAT(numbers, ElementsAre(0, -1, 3'000'000'000, 9'007'199'254'740'991,
                                   -9'007'199'254'740'991, 1000, 2));
}

TEST(JsonValue, IntsAreNeverRounded) {
  const JsonDocument document =
      Parsed("[1.5, 9007199254740993, 9007199254740992, 1e30, -1e30, 1e999, \"1\", true]");
  for (const JsonValue &item : document.Root().Items()) {
    EXPECT_EQ(item.Int().GetStatus().GetCode(), Code::kInvalidConfig) << item.Place();
  }
  const auto items = document.Root().Items();
  EXPECT_EQ(MessageOf(items[0].Int()), "[0]: expected a whole number, found a fraction");
  EXPECT_EQ(MessageOf(items[1].Int()), "[1]: the number is too large");
}

TEST(JsonValue, NumbersAreFinite) {
  const JsonDocument document = Parsed("[-2.5e-3, 1e30, 1e999]");
  const auto items = document.Root().Items();
  EXPECT_EQ(*items[0].Number(), -0.0025);
  EXPECT_EQ(*items[1].Number(), 1e30);
  EXPECT_EQ(MessageOf(items[2].Number()), "[2]: the number is too large");
}

TEST(JsonDocument, AnyValueIsADocument) {
  EXPECT_TRUE(Parsed("null").Root().IsNull());
  EXPECT_TRUE(Parsed(" \r\n\t\"a\" \n").Root().IsText());
  EXPECT_TRUE(Parsed("\xEF\xBB\xBF[]").Root().IsArray()) << "a byte order mark is skipped";
}

TEST(JsonDocument, ErrorsHaveAPosition) {
  const Status status = ParseStatus("{\"a\": 1,\n \"b\": }");
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig);
  EXPECT_THAT(status.Message(), HasSubstr("not valid JSON at line 2, column 7 (offset 15)"));
  ASSERT_NE(status.Detail("offset"), nullptr);
  EXPECT_EQ(*status.Detail("offset"), "15");
}

TEST(JsonDocument, RefusesOtherThanJson) {
  for (const std::string_view text :
       {"",        " ",         "{",           "[",       "[1",    "[1,", "[1,]",
        "{\"a\"}", "{\"a\":}",  "{\"a\":1,}",  "{a:1}",   "{1:2}", "\"",  "\"a",
        "\"\\",    "\"\\u12\"", "\"\\ud800\"", "\"\\q\"", "'a'",   "nul", "tru",
        "NaN",     "Infinity",  "-",           "+1",      "--1",   "1 2", "[] []",
        "{}x",     "]",         "}",           "[}",      ",",     "//",  "[1]//x"}) {
    EXPECT_EQ(ParseStatus(text).GetCode(), Code::kInvalidConfig) << text;
  }
}

TEST(JsonDocument, NulAndControlCharactersAreRefused) {
  using std::string_literals::operator""s;
  EXPECT_THAT(ParseStatus("[\"a\0b\"]"s).Message(), HasSubstr("offset 3"));
  EXPECT_THAT(ParseStatus("[1]\0"s).Message(), HasSubstr("offset 3"));
  EXPECT_THAT(ParseStatus("[\"a\\u0000b\"]").Message(), HasSubstr("a NUL in a text"));
  EXPECT_THAT(ParseStatus("[\"a\nb\"]").Message(), HasSubstr("a control character in a text"));
  EXPECT_TRUE(ParseStatus("[\"\\\\u0000\"]").IsOk()) << "an escaped backslash, then u0000";
}

TEST(JsonDocument, BytesThatAreNotUtf8AreRefused) {
  EXPECT_THAT(ParseStatus("[\"a\xff\"]").Message(), HasSubstr("offset 3"));
  EXPECT_THAT(ParseStatus("[\"\xc3\"]").Message(), HasSubstr("a byte that is not UTF-8"));
  EXPECT_FALSE(ParseStatus("\"\xed\xa0\x80\"").IsOk()) << "a surrogate";
  EXPECT_FALSE(ParseStatus("\"\xc0\xaf\"").IsOk()) << "an overlong slash";
}

TEST(JsonDocument, NestingIsLimited) {
  EXPECT_TRUE(ParseStatus(Repeated("[", 64) + Repeated("]", 64)).IsOk());
  EXPECT_THAT(ParseStatus(Repeated("[", 65) + Repeated("]", 65)).Message(),
              HasSubstr("more than 64 levels"));
  EXPECT_FALSE(ParseStatus(Repeated("{\"a\":", 100'000)).IsOk());
  EXPECT_TRUE(ParseStatus("[\"" + Repeated("[", 1000) + "\"]").IsOk()) << "brackets in a text";
  EXPECT_TRUE(ParseStatus("[" + Repeated("[],", 1000) + "[]]").IsOk()) << "adjacent";
}

TEST(JsonDocument, TheNumberOfValuesIsLimited) {
  EXPECT_THAT(ParseStatus("[" + std::string(size_t{9} << 20, ',')).Message(),
              HasSubstr("more than 8388608 values"));
}

TEST(Excerpt, KeepsShortText) {
  EXPECT_EQ(Excerpt("gradient/é"), "gradient/é");
  EXPECT_EQ(Excerpt(std::string(100, 'a')), std::string(100, 'a'));
}

TEST(Excerpt, CutsBetweenCharacters) {
  EXPECT_EQ(Excerpt(std::string(101, 'a')), std::string(100, 'a') + "...");
  EXPECT_EQ(Excerpt(std::string(99, 'a') + "é"), std::string(99, 'a') + "...");
}

TEST(Excerpt, ReplacesUnprintableCharacters) { EXPECT_EQ(Excerpt("a\nb\x7f\xff"), "a?b??"); }

std::string Quoted(std::string_view text) {
  JsonWriter json;
  json.Text(text);
  return json.Take();
}

// The expected texts are those of Python's json.dumps.
TEST(JsonWriter, SeparatesAsPythonDoes) {
  JsonWriter json;
  json.BeginObject();
  json.Key("list");
  json.BeginArray();
  json.Int(1);
  json.Text("a");
  json.BeginArray();
  json.EndArray();
  json.EndArray();
  json.Key("object");
  json.BeginObject();
  json.EndObject();
  json.Key("yes");
  json.Bool(true);
  json.Key("no");
  json.Bool(false);
  json.Key("none");
  json.Null();
  json.EndObject();
  EXPECT_EQ(json.Written(),
            R"({"list": [1, "a", []], "object": {}, "yes": true, "no": false, "none": null})");
}

TEST(JsonWriter, WritesWholeNumbersOfAnySize) {
  JsonWriter json;
  json.BeginArray();
  json.Int(std::numeric_limits<int64_t>::min());
  json.Int(std::numeric_limits<int64_t>::max());
  json.EndArray();
  EXPECT_EQ(json.Take(), "[-9223372036854775808, 9223372036854775807]");
}

TEST(JsonWriter, EscapesAsPythonDoes) {
  EXPECT_EQ(Quoted("a/b \"c\" \\"), R"("a/b \"c\" \\")");
  EXPECT_EQ(Quoted("\n\r\t\f\b"), R"("\n\r\t\f\b")");
  EXPECT_EQ(Quoted("\x01\x1f\x7f~"), R"("\u0001\u001f\u007f~")");
  EXPECT_EQ(Quoted(std::string_view("\0", 1)), R"("\u0000")");
  EXPECT_EQ(Quoted("é€"), R"("\u00e9\u20ac")");
  EXPECT_EQ(Quoted("😀"), R"("\ud83d\ude00")");
}

TEST(JsonWriter, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(Quoted("a\xff"
                   "b"),
            R"("a\ufffdb")");
  EXPECT_EQ(Quoted("\xe2\x82"), R"("\ufffd\ufffd")");
}

TEST(JsonWriter, OutputRoundTrips) {
  const std::string text = "a\"\\/\b\f\n\r\t\x01\x7f é 😀";
  EXPECT_EQ(*Parsed(Quoted(text)).Root().Text(), text);
}

}  // namespace
}  // namespace smdebug::json_test
