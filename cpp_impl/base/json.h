// JSON documents: the only place that knows cJSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

struct cJSON;

namespace smdebug {

// `text` as a message can carry it: at most 100 bytes of it, cut between characters;
// "?" stands for control characters and for bytes that are not UTF-8.
std::string Excerpt(std::string_view text);

// A value inside a JsonDocument, which must outlive it.  The getters fail with
// INVALID_CONFIG and a message that names the place ("CollectionName: expected
// text, found a number"), unless there is nothing to find fault with.
class JsonValue {
 public:
  bool IsNull() const;
  bool IsObject() const;
  bool IsArray() const;
  bool IsText() const;
  bool IsNumber() const;
  bool IsBool() const;
  // "an object", "text", ...
  const char *Kind() const;
  // Where the value is: the keys that lead to it, as "a.b[3]"; for the outermost value
  // "the document".  Searches the whole document: for messages only.
  std::string Place() const;

  // The value of `key` in an object, or nothing.  Of a key given twice, the last value.
  std::optional<JsonValue> Find(std::string_view key) const;
  // All keys and values of an object, in order and each key once, with the last value
  // it is given; empty for anything else.
  std::vector<std::pair<std::string, JsonValue>> Members() const;
  // All values of an array, in order; empty for anything else.
  std::vector<JsonValue> Items() const;

  Result<std::string> Text() const;
  // A whole number below 2^53 and above -2^53, beyond which a double would round it.
  Result<int64_t> Int() const;
  // A finite number.
  Result<double> Number() const;
  Result<bool> Bool() const;

 private:
  friend class JsonDocument;
  JsonValue(const cJSON *node, const cJSON *root) : node_(node), root_(root) {}
  Status WrongKind(const char *wanted) const;
  Status Wrong(std::string_view what) const;

  const cJSON *node_;
  const cJSON *root_;
};

// A parsed document: one value and nothing behind it, in UTF-8, without NUL in texts.
// At most 64 levels, 256 MiB and 8 million values, since a file may be hostile.
class JsonDocument {
 public:
  // Fails with INVALID_CONFIG; the message and the detail "offset" say where.
  static Result<JsonDocument> Parse(std::string_view text);

  JsonValue Root() const { return {root_.get(), root_.get()}; }

 private:
  struct Delete {
    void operator()(cJSON *node) const;
  };
  explicit JsonDocument(cJSON *root) : root_(root) {}

  std::unique_ptr<cJSON, Delete> root_;
};

// Writes JSON as Python's json.dumps does: ", " and ": " between, other than ASCII
// escaped, in the order of the calls.  A byte that is not UTF-8 becomes \ufffd.
class JsonWriter {
 public:
  void BeginObject();
  void EndObject();
  void BeginArray();
  void EndArray();
  void Key(std::string_view key);
  void Text(std::string_view text);
  void Int(int64_t number);
  void Bool(bool value);
  void Null();

  const std::string &Written() const { return out_; }
  std::string Take() { return std::move(out_); }

 private:
  void Separate();
  void AppendQuoted(std::string_view text);

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace smdebug
