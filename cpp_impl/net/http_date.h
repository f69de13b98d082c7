// Dates of HTTP, S3 and signatures, whatever the locale and the time zone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smdebug::net {

// Seconds since 1970, of a Date header in any of its three forms
// ("Fri, 24 May 2013 00:00:00 GMT", "Friday, 24-May-13 00:00:00 GMT",
// "Fri May 24 00:00:00 2013"), or nothing.
std::optional<double> ParseHttpDate(std::string_view text);

// Likewise of "2013-05-24T00:00:00Z", as S3 and the givers of credentials write it, with
// or without a fraction of any length, or with "+01:00" for the "Z"; or of
// "20130524T000000Z".
std::optional<double> ParseIsoDate(std::string_view text);

// "20130524T000000Z": the second that the moment lies in, of the years 0 to 9999; what
// lies outside is moved to the nearest end.
std::string FormatBasicDate(double seconds);

// "20130524".
std::string FormatDay(double seconds);

}  // namespace smdebug::net
