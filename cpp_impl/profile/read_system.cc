#include "profile/read_system.h"

#include "base/strings.h"

namespace smdebug::profile {
namespace {

enum Key : unsigned { kType = 1, kDimension = 2, kValue = 4, kNode = 8, kTime = 16 };
constexpr unsigned kNeeded = kType | kDimension | kValue | kNode | kTime;

bool ReadName(JsonCursor *cursor, SystemEvent *out) {
  out->has_name = cursor->Peek() == '"';
  if (out->has_name) return cursor->Text(&out->name);
  std::string_view skipped;
  return cursor->Value(&skipped);
}

// Reads a metric whose members are in the order in which this library and the original write them.
bool ReadUsual(JsonCursor *cursor, SystemEvent *out) {
  out->has_name = true;
  return cursor->Take('{') && cursor->Key(R"("Type")") && cursor->Text(&out->type) &&
         cursor->Take(',') && cursor->Key(R"("Name")") && cursor->Text(&out->name) &&
         cursor->Take(',') && cursor->Key(R"("Dimension")") && cursor->Text(&out->dimension) &&
         cursor->Take(',') && cursor->Key(R"("Value")") && cursor->Number(&out->value) &&
         cursor->Take(',') && cursor->Key(R"("NodeId")") && cursor->Text(&out->node) &&
         cursor->Take(',') && cursor->Key(R"("Timestamp")") && cursor->Number(&out->time) &&
         cursor->Take('}');
}

// Reads a metric whose members are in any order, among others.
bool ReadAny(JsonCursor *cursor, SystemEvent *out) {
  unsigned found = 0;
  out->has_name = false;
  const bool is_object = cursor->Object([&](std::string_view key) {
    const auto note = [&found](Key read) {
      found |= read;
      return true;
    };
    if (key == "Type") return cursor->Text(&out->type) && note(kType);
    if (key == "Name") return ReadName(cursor, out);
    if (key == "Dimension") return cursor->Text(&out->dimension) && note(kDimension);
    if (key == "Value") return cursor->Number(&out->value) && note(kValue);
    if (key == "NodeId") return cursor->Text(&out->node) && note(kNode);
    if (key == "Timestamp") return cursor->Number(&out->time) && note(kTime);
    std::string_view skipped;
    return cursor->Value(&skipped);
  });
  return is_object && found == kNeeded;
}

}  // namespace

void Damage::Note(size_t at, std::string_view problem) {
  if (count++ != 0) return;
  line = at;
  what = problem;
}

Status Damage::Describe(std::string_view file) const {
  return CorruptData(file, StrCat("line ", line, " ", what));
}

bool ParseSystemLine(std::string_view line, SystemEvent *out) {
  JsonCursor cursor(line);
  if (!ReadUsual(&cursor, out)) {
    cursor = JsonCursor(line);
    if (!ReadAny(&cursor, out)) return false;
  }
  cursor.SkipSpace();
  return cursor.Offset() == line.size();
}

Result<bool> SystemFileReader::Next(SystemEvent *out) {
  while (true) {
    SMD_ASSIGN_OR_RETURN(const auto line, NextLine());
    if (!line) return false;
    ++line_;
    if (ParseSystemLine(*line, out)) return true;
    if (Trim(*line).empty() || is_torn_) continue;
    damage_.Note(line_, "is not a metric");
  }
}

Result<std::optional<std::string_view>> SystemFileReader::NextLine() {
  while (true) {
    const std::string_view held = text_.Held();
    const size_t end = held.find('\n');
    if (end != std::string_view::npos) {
      text_.Use(end + 1);
      return std::optional(held.substr(0, end));
    }
    SMD_ASSIGN_OR_RETURN(const bool has_more, text_.More());
    if (has_more) continue;
    if (text_.Held().empty()) return std::optional<std::string_view>();
    const std::string_view last = text_.Held();
    text_.Use(last.size());
    is_torn_ = true;
    return std::optional(last);
  }
}

}  // namespace smdebug::profile
