// JSON on one line, spaced as Python's json.dumps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smdebug::cli {

// Numbers that JSON does not know are the texts "NaN", "Infinity" and "-Infinity".
class JsonWriter {
 public:
  JsonWriter &BeginObject() { return Begin('{'); }
  JsonWriter &EndObject() { return End('}'); }
  JsonWriter &BeginArray() { return Begin('['); }
  JsonWriter &EndArray() { return End(']'); }
  JsonWriter &Key(std::string_view name);

  JsonWriter &Text(std::string_view text);
  JsonWriter &Whole(int64_t number) { return Raw(std::to_string(number)); }
  JsonWriter &Number(double number);
  JsonWriter &Bool(bool is_true) { return Raw(is_true ? "true" : "false"); }
  JsonWriter &Null() { return Raw("null"); }
  // What is JSON already.
  JsonWriter &Raw(std::string_view json);

  JsonWriter &Texts(const std::vector<std::string> &texts);
  JsonWriter &Wholes(const std::vector<int64_t> &numbers);

  // What was written, and begins anew.
  std::string Take();

 private:
  JsonWriter &Begin(char bracket);
  JsonWriter &End(char bracket);
  void Separate();

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace smdebug::cli
