// Reads and writes JSON.  Only json.cc uses cJSON.
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

// Returns `text` in a form for messages: at most 100 bytes, cut between characters, with "?"
// for control characters and for bytes that are not UTF-8.
std::string Excerpt(std::string_view text);

// A value inside a JsonDocument, which must outlive it.  If a value has the wrong kind, getters
// fail with INVALID_CONFIG; the message contains the place ("CollectionName: expected text,
// found a number").
class JsonValue {
 public:
  bool IsNull() const;
  bool IsObject() const;
  bool IsArray() const;
  bool IsText() const;
  bool IsNumber() const;
  bool IsBool() const;
  // Returns "an object", "text", ...
  const char *Kind() const;
  // Returns the path to the value, such as "a.b[3]", or "the document" for the outermost value.
  // Searches the whole document, so it is for messages only.
  std::string Place() const;

  // Returns the value of `key` in an object, or nothing.  If the key is repeated, returns the
  // last value.
  std::optional<JsonValue> Find(std::string_view key) const;
  // Returns all keys and values of an object, in order.  A repeated key appears once, with its
  // last value.  Returns nothing for other kinds.
  std::vector<std::pair<std::string, JsonValue>> Members() const;
  // Returns all values of an array, in order.  Returns nothing for other kinds.
  std::vector<JsonValue> Items() const;

  Result<std::string> Text() const;
  // Returns a whole number between -2^53 and 2^53, exclusive; a double would round others.
  Result<int64_t> Int() const;
  // Returns a finite number.
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

// A parsed document: one value and nothing after it, in UTF-8, without NUL in texts.  Since a
// file may be hostile, the limits are 64 levels, 256 MiB and 8 million values.
class JsonDocument {
 public:
  // Fails with INVALID_CONFIG; the message and the detail "offset" contain the position.
  static Result<JsonDocument> Parse(std::string_view text);

  JsonValue Root() const { return {root_.get(), root_.get()}; }

 private:
  struct Delete {
    void operator()(cJSON *node) const;
  };
  explicit JsonDocument(cJSON *root) : root_(root) {}

  std::unique_ptr<cJSON, Delete> root_;
};

// Writes JSON as Python's json.dumps does: with ", " and ": " as separators, with characters
// beyond ASCII escaped, and in the order of the calls.  A byte that is not UTF-8 becomes
// \ufffd.
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
