// Writes JSON on one line, with the spaces of Python's json.dumps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smdebug::cli {

// Non-finite numbers, which JSON cannot represent, become the texts "NaN", "Infinity" and
// "-Infinity".
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
  // Appends text that already is JSON.
  JsonWriter &Raw(std::string_view json);

  JsonWriter &Texts(const std::vector<std::string> &texts);
  JsonWriter &Wholes(const std::vector<int64_t> &numbers);

  // Returns the JSON and starts again.
  std::string Take();

 private:
  JsonWriter &Begin(char bracket);
  JsonWriter &End(char bracket);
  void Separate();

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace smdebug::cli
