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
  // Where the value is: the keys that lead to it, joined by dots.
  const std::string &Place() const { return place_; }

  // The value of `key` in an object, or nothing.
  std::optional<JsonValue> Find(std::string_view key) const;
  // All keys and values of an object, in order; empty for anything else.
  std::vector<std::pair<std::string, JsonValue>> Members() const;
  // All values of an array, in order; empty for anything else.
  std::vector<JsonValue> Items() const;

  Result<std::string> Text() const;
  // A whole number that a double holds exactly (up to 2^53), never rounded.
  Result<int64_t> Int() const;
  Result<double> Number() const;
  Result<bool> Bool() const;

 private:
  friend class JsonDocument;
  JsonValue(const cJSON *node, std::string place) : node_(node), place_(std::move(place)) {}
  Status WrongKind(const char *wanted) const;

  const cJSON *node_;
  std::string place_;
};

// A parsed document.  Nesting is limited to 64 levels and size to 256 MiB.
class JsonDocument {
 public:
  // Fails with INVALID_CONFIG and the offset of the first fault.
  static Result<JsonDocument> Parse(std::string_view text);

  JsonValue Root() const { return {root_.get(), ""}; }

 private:
  struct Delete {
    void operator()(cJSON *node) const;
  };
  explicit JsonDocument(cJSON *root) : root_(root) {}

  std::unique_ptr<cJSON, Delete> root_;
};

// Writes JSON as Python's json.dumps does: ", " and ": " between, other than ASCII
// escaped, in the order of the calls.
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
