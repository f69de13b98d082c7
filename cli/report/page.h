// The files in charts/ and page/, which the build embeds in the program.
#pragma once

#include <string_view>

namespace smdebug::cli::report {

// The charts: functions that draw data, without data of their own.  charts/elements.js says how to
// use them.
extern const std::string_view kChartStyle;
extern const std::string_view kChartScript;

// The page of a report.
extern const std::string_view kPage;    // page.html, with {{name}} for each text to insert
extern const std::string_view kStyle;   // after kChartStyle, whose colours it uses
extern const std::string_view kScript;  // after kChartScript, in the order of their dependencies

}  // namespace smdebug::cli::report
