// The first half of the scenario: recording.
#pragma once

#include <cjson/cJSON.h>

#include <smdebug.hpp>
#include <string>

smdebug::Mode ModeNamed(const std::string &name);

// Records the trial into `out_dir`.
void Record(const cJSON *scenario, const std::string &out_dir);
