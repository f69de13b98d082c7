// Reads files of system metrics: a JSON object for each line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/json_cursor.h"
#include "profile/read_text.h"

namespace smdebug::profile {

// What a file contained that could not be read.
struct Damage {
  size_t count = 0;
  // Of the first.
  size_t line = 0;
  std::string what;

  void Note(size_t at, std::string_view problem);
  // Returns "FILE: line 7 is not a metric".
  Status Describe(std::string_view file) const;
};

// Texts live until the next event is read.
struct SystemEvent {
  JsonText type;
  JsonText name;  // empty if `has_name` is false
  JsonText dimension;
  JsonText node;
  bool has_name = false;
  double value = 0;
  double time = 0;  // seconds since 1970
};

// Returns false if the line is not a JSON object with the keys of a metric.
bool ParseSystemLine(std::string_view line, SystemEvent *out);

// For one thread at a time.
class SystemFileReader {
 public:
  explicit SystemFileReader(TextPieces text) : text_(std::move(text)) {}

  // Reads the next event.  Returns false at the end.  Skips empty lines, and a last line without
  // its end, which a writer may be writing; notes other lines as damage.  Fails as the file does.
  Result<bool> Next(SystemEvent *out);
  const Damage &Damages() const { return damage_; }

 private:
  Result<std::optional<std::string_view>> NextLine();

  TextPieces text_;
  Damage damage_;
  size_t line_ = 0;
  bool is_torn_ = false;
};

}  // namespace smdebug::profile
