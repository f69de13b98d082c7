// Numbers and texts as the page's data holds them: as few characters as the eye can use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json_writer.h"

namespace smdebug::cli::report {

// Four digits; what is not finite is a text, what is not there is null.
using MaybeNumber = std::optional<double>;
void AddNumber(const MaybeNumber &number, JsonWriter *json);
void AddNumbers(const std::vector<MaybeNumber> &numbers, JsonWriter *json);
void AddWholes(const std::vector<int64_t> &numbers, JsonWriter *json);
void AddCounts(const std::vector<size_t> &numbers, JsonWriter *json);

// A text that may be long, or hold anything.
std::string Brief(std::string_view text);
void AddTexts(const std::vector<std::string> &texts, JsonWriter *json);

}  // namespace smdebug::cli::report
