// Findings as JSON: one object each, with the same fields in every command.
#pragma once

#include "json_writer.h"
#include "smdebug.hpp"

namespace smdebug::cli {

void ToJson(const Finding &finding, JsonWriter *json);

}  // namespace smdebug::cli
