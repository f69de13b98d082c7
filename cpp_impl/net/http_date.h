// Dates of HTTP, S3 and signatures, independent of the locale and the time zone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smdebug::net {

// Returns the seconds since 1970 of a Date header in any of its three forms
// ("Fri, 24 May 2013 00:00:00 GMT", "Friday, 24-May-13 00:00:00 GMT",
// "Fri May 24 00:00:00 2013"), or nothing.
std::optional<double> ParseHttpDate(std::string_view text);

// Returns the seconds since 1970 of "2013-05-24T00:00:00Z", as S3 and credentials servers
// write it, or nothing.  Also accepts a fraction of any length, "+01:00" instead of "Z", and
// "20130524T000000Z".
std::optional<double> ParseIsoDate(std::string_view text);

// Returns "20130524T000000Z", rounded down to a second.  Times outside the years 0 to 9999
// are clamped to that range.
std::string FormatBasicDate(double seconds);

// Returns "2013-05-24T00:00:00Z", rounded and clamped in the same way.
std::string FormatIsoDate(double seconds);

// Returns "20130524".
std::string FormatDay(double seconds);

}  // namespace smdebug::net
