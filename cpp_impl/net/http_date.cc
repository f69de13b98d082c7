#include "net/http_date.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/strings.h"

namespace smdebug::net {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr int64_t kSecondsInDay = 86400;
constexpr size_t kMaxFraction = 18;
// The first second of the year 0 and the last second of the year 9999.
constexpr double kFirstSecond = -62167219200.0;
constexpr double kLastSecond = 253402300799.0;

struct Moment {
  int64_t year = 0;
  int64_t month = 0;
  int64_t day = 0;
  int64_t hour = 0;
  int64_t minute = 0;
  int64_t second = 0;
};

// Consumes pieces from the start of a text until one does not match.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  Scanner &Skip(std::string_view text) {
    if (rest_.starts_with(text)) {
      rest_.remove_prefix(text.size());
    } else {
      is_good_ = false;
    }
    return *this;
  }

  // Skips the name of a day; it is not checked against the date.
  Scanner &Word() {
    const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_letter);
    const auto length = static_cast<size_t>(end - rest_.begin());
    is_good_ = is_good_ && length >= 3;
    rest_.remove_prefix(length);
    return *this;
  }

  Scanner &Digits(size_t width, int64_t &number) {
    const std::string_view digits = rest_.substr(0, width);
    const bool are_digits =
        digits.size() == width &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return IsDigit(c); });
    is_good_ = is_good_ && are_digits;
    if (!is_good_) return *this;
    number = ParseInt(digits).value_or(0);
    rest_.remove_prefix(width);
    return *this;
  }

  // Reads a day of two characters, the first of which may be blank.
  Scanner &PaddedDay(int64_t &number) {
    return rest_.starts_with(' ') ? Skip(" ").Digits(1, number) : Digits(2, number);
  }

  Scanner &Month(int64_t &number) {
    const auto *found = std::find(kMonths.begin(), kMonths.end(), rest_.substr(0, 3));
    is_good_ = is_good_ && found != kMonths.end();
    if (!is_good_) return *this;
    number = found - kMonths.begin() + 1;
    rest_.remove_prefix(3);
    return *this;
  }

  Scanner &Time(Moment &moment) {
    return Digits(2, moment.hour)
        .Skip(":")
        .Digits(2, moment.minute)
        .Skip(":")
        .Digits(2, moment.second);
  }

  // ".25" or nothing; further digits are beyond what a double holds.
  Scanner &Fraction(double &fraction) {
    if (!rest_.starts_with('.')) return *this;
    rest_.remove_prefix(1);
    double place = 0.1;
    size_t count = 0;
    for (; count < rest_.size() && IsDigit(rest_[count]); ++count) {
      if (count >= kMaxFraction) continue;
      fraction += place * (rest_[count] - '0');
      place /= 10;
    }
    is_good_ = is_good_ && count != 0;
    rest_.remove_prefix(count);
    return *this;
  }

  // Reads "Z", or the offset of the local time from UTC.
  Scanner &Zone(int64_t &difference) {
    if (!rest_.starts_with('+') && !rest_.starts_with('-')) return Skip("Z");
    const int64_t sign = rest_.front() == '+' ? 1 : -1;
    rest_.remove_prefix(1);
    int64_t hours = 0;
    int64_t minutes = 0;
    Digits(2, hours).Skip(":").Digits(2, minutes);
    is_good_ = is_good_ && hours < 24 && minutes < 60;
    difference = sign * (hours * 3600 + minutes * 60);
    return *this;
  }

  bool IsDone() const { return is_good_ && rest_.empty(); }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  std::string_view rest_;
  bool is_good_ = true;
};

std::optional<double> Seconds(const Moment &moment) {
  using std::chrono::day;
  using std::chrono::month;
  using std::chrono::year;
  const std::chrono::year_month_day date(year(static_cast<int>(moment.year)),
                                         month(static_cast<unsigned>(moment.month)),
                                         day(static_cast<unsigned>(moment.day)));
  // The 61st second is a leap second.
  if (!date.ok() || moment.hour > 23 || moment.minute > 59 || moment.second > 60) {
    return std::nullopt;
  }
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days * kSecondsInDay + moment.hour * 3600 + moment.minute * 60 +
                             moment.second);
}

// No server writes years with two digits any more, so 70 to 99 can mean 1970 to 1999.
int64_t FullYear(int64_t two_digits) { return two_digits + (two_digits < 70 ? 2000 : 1900); }

bool ScanBasic(std::string_view text, Moment &moment) {
  return Scanner(text)
      .Digits(4, moment.year)
      .Digits(2, moment.month)
      .Digits(2, moment.day)
      .Skip("T")
      .Digits(2, moment.hour)
      .Digits(2, moment.minute)
      .Digits(2, moment.second)
      .Skip("Z")
      .IsDone();
}

bool ScanFixed(std::string_view text, Moment &moment) {
  return Scanner(text)
      .Word()
      .Skip(", ")
      .Digits(2, moment.day)
      .Skip(" ")
      .Month(moment.month)
      .Skip(" ")
      .Digits(4, moment.year)
      .Skip(" ")
      .Time(moment)
      .Skip(" GMT")
      .IsDone();
}

bool ScanRfc850(std::string_view text, Moment &moment) {
  const bool fits = Scanner(text)
                        .Word()
                        .Skip(", ")
                        .Digits(2, moment.day)
                        .Skip("-")
                        .Month(moment.month)
                        .Skip("-")
                        .Digits(2, moment.year)
                        .Skip(" ")
                        .Time(moment)
                        .Skip(" GMT")
                        .IsDone();
  if (fits) moment.year = FullYear(moment.year);
  return fits;
}

bool ScanAsctime(std::string_view text, Moment &moment) {
  return Scanner(text)
      .Word()
      .Skip(" ")
      .Month(moment.month)
      .Skip(" ")
      .PaddedDay(moment.day)
      .Skip(" ")
      .Time(moment)
      .Skip(" ")
      .Digits(4, moment.year)
      .IsDone();
}

}  // namespace

std::optional<double> ParseHttpDate(std::string_view text) {
  text = Trim(text);
  Moment moment;
  if (ScanFixed(text, moment) || ScanRfc850(text, moment) || ScanAsctime(text, moment)) {
    return Seconds(moment);
  }
  return std::nullopt;
}

std::optional<double> ParseIsoDate(std::string_view text) {
  text = Trim(text);
  Moment moment;
  double fraction = 0;
  int64_t difference = 0;
  const bool is_extended = Scanner(text)
                               .Digits(4, moment.year)
                               .Skip("-")
                               .Digits(2, moment.month)
                               .Skip("-")
                               .Digits(2, moment.day)
                               .Skip("T")
                               .Time(moment)
                               .Fraction(fraction)
                               .Zone(difference)
                               .IsDone();
  if (!is_extended && !ScanBasic(text, moment)) return std::nullopt;
  const std::optional<double> whole = Seconds(moment);
  if (!whole || !is_extended) return whole;
  return *whole - static_cast<double>(difference) + fraction;
}

std::string FormatDay(double seconds) { return FormatBasicDate(seconds).substr(0, 8); }

std::string FormatBasicDate(double seconds) {
  const double within = std::isnan(seconds) ? 0 : std::clamp(seconds, kFirstSecond, kLastSecond);
  const std::chrono::sys_seconds moment{
      std::chrono::seconds(static_cast<int64_t>(std::floor(within)))};
  const auto days = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss time(moment - days);
  return StrCat(ZeroPadded(static_cast<int>(date.year()), 4),
                ZeroPadded(static_cast<unsigned>(date.month()), 2),
                ZeroPadded(static_cast<unsigned>(date.day()), 2), "T",
                ZeroPadded(time.hours().count(), 2), ZeroPadded(time.minutes().count(), 2),
                ZeroPadded(time.seconds().count(), 2), "Z");
}

std::string FormatIsoDate(double seconds) {
  const std::string basic = FormatBasicDate(seconds);
  const std::string_view all = basic;
  return StrCat(all.substr(0, 4), "-", all.substr(4, 2), "-", all.substr(6, 5), ":",
                all.substr(11, 2), ":", all.substr(13));
}

}  // namespace smdebug::net
