#include "net/http_date.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>

namespace smdebug::net::http_date_test {
namespace {

constexpr double kMay24 = 1369353600;  // 2013-05-24, midnight

TEST(HttpDate, ParsesThreeForms) {
  EXPECT_EQ(ParseHttpDate("Fri, 24 May 2013 00:00:00 GMT"), kMay24);
  EXPECT_EQ(ParseHttpDate("Friday, 24-May-13 00:00:00 GMT"), kMay24);
  EXPECT_EQ(ParseHttpDate("Fri May 24 00:00:00 2013"), kMay24);
  EXPECT_EQ(ParseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777.0);
  EXPECT_EQ(ParseHttpDate("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777.0);
  EXPECT_EQ(ParseHttpDate("Sun Nov  6 08:49:37 1994"), 784111777.0);
  EXPECT_EQ(ParseHttpDate(" Thu, 29 Feb 2024 23:59:59 GMT\r\n"), 1709251199.0);
}

TEST(HttpDate, RefusesOthers) {
  for (const char *text :
       {"", "now", "Fri, 24 May 2013", "Fri, 24 May 2013 00:00:00", "Fri, 24 May 2013 00:00:00 CET",
        "Fri, 24 May 2013 00:00:00 GMT x", "Fri, 4 May 2013 00:00:00 GMT",
        "Fri, 24 Mai 2013 00:00:00 GMT", "Fri, 32 May 2013 00:00:00 GMT",
        "Thu, 29 Feb 2023 00:00:00 GMT", "Fri, 24 May 2013 24:00:00 GMT",
        "Fri, 24 May 2013 00:60:00 GMT", "Fri, 24 May 2013 00:00:61 GMT",
        "Fri, 24 May 2013 -1:00:00 GMT", "24 May 2013 00:00:00 GMT", "2013-05-24T00:00:00Z"}) {
    EXPECT_EQ(ParseHttpDate(text), std::nullopt) << text;
  }
}

TEST(IsoDate, WithAndWithoutAFraction) {
  EXPECT_EQ(ParseIsoDate("2013-05-24T00:00:00Z"), kMay24);
  EXPECT_EQ(ParseIsoDate("2013-05-24T00:00:00.000Z"), kMay24);
  EXPECT_EQ(ParseIsoDate("2013-05-24T00:00:01.5Z"), kMay24 + 1.5);
  EXPECT_NEAR(*ParseIsoDate("2013-05-24T00:00:00.123456789123456789123Z"), kMay24 + 0.123456789,
              1e-6);
  EXPECT_EQ(ParseIsoDate("20130524T000000Z"), kMay24);
  EXPECT_EQ(ParseIsoDate("1969-12-31T23:59:59Z"), -1.0);
  EXPECT_EQ(ParseIsoDate("9999-12-31T23:59:59Z"), 253402300799.0);
}

TEST(IsoDate, WithAnOffsetFromUtc) {
  EXPECT_EQ(ParseIsoDate("2013-05-24T00:00:00+00:00"), kMay24);
  EXPECT_EQ(ParseIsoDate("2013-05-24T02:30:00+02:30"), kMay24);
  EXPECT_EQ(ParseIsoDate("2013-05-23T19:00:00.25-05:00"), kMay24 + 0.25);
}

TEST(IsoDate, RefusesOthers) {
  for (const char *text :
       {"", "2013-05-24", "2013-05-24T00:00:00", "2013-05-24 00:00:00Z", "2013-5-24T00:00:00Z",
        "2013-05-24T00:00:00.Z", "2013-05-24T00:00:00,5Z", "2013-13-24T00:00:00Z",
        "2013-00-24T00:00:00Z", "2013-05-00T00:00:00Z", "2013-02-29T00:00:00Z",
        "2013-05-24T25:00:00Z", "2013-05-24T00:00:00Zx", "2013-05-24T00:00:00+0000",
        "2013-05-24T00:00:00+24:00", "20130524T000000", "20130524T0000Z", "+013-05-24T00:00:00Z"}) {
    EXPECT_EQ(ParseIsoDate(text), std::nullopt) << text;
  }
}

TEST(HttpDate, FormatsForSignatures) {
  EXPECT_EQ(FormatBasicDate(kMay24), "20130524T000000Z");
  EXPECT_EQ(FormatBasicDate(kMay24 - 0.001), "20130523T235959Z");
  EXPECT_EQ(FormatBasicDate(1709251199.999), "20240229T235959Z");
  EXPECT_EQ(FormatBasicDate(0), "19700101T000000Z");
  EXPECT_EQ(FormatDay(kMay24), "20130524");
}

TEST(HttpDate, FormatsAnyNumber) {
  EXPECT_EQ(FormatBasicDate(1e300), "99991231T235959Z");
  EXPECT_EQ(FormatBasicDate(-1e300), "00000101T000000Z");
  EXPECT_EQ(FormatBasicDate(std::numeric_limits<double>::infinity()), "99991231T235959Z");
  EXPECT_EQ(FormatBasicDate(std::nan("")), "19700101T000000Z");
}

TEST(HttpDate, EveryDayRoundTrips) {
  for (double day = 0; day < 60 * 366; ++day) {
    const double moment = day * 86400 + 12345;
    ASSERT_EQ(ParseIsoDate(FormatBasicDate(moment)), moment);
  }
}

TEST(HttpDate, IgnoresTheTimeZone) {
  setenv("TZ", "Asia/Kolkata", 1);
  tzset();
  EXPECT_EQ(FormatBasicDate(kMay24), "20130524T000000Z");
  EXPECT_EQ(ParseHttpDate("Fri, 24 May 2013 00:00:00 GMT"), kMay24);
  unsetenv("TZ");
  tzset();
}

}  // namespace
}  // namespace smdebug::net::http_date_test
