// Writes numbers and texts for the page's data, with only the digits that a reader can see.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json_writer.h"

namespace smdebug::cli::report {

// Written with four digits; a non-finite number becomes a text, a missing number null.
using MaybeNumber = std::optional<double>;
void AddNumber(const MaybeNumber &number, JsonWriter *json);
void AddNumbers(const std::vector<MaybeNumber> &numbers, JsonWriter *json);
void AddWholes(const std::vector<int64_t> &numbers, JsonWriter *json);
void AddCounts(const std::vector<size_t> &numbers, JsonWriter *json);

// Shortens a text that may be long or contain anything.
std::string Brief(std::string_view text);
void AddTexts(const std::vector<std::string> &texts, JsonWriter *json);

}  // namespace smdebug::cli::report
