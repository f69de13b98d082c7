#include "config/settings_reader.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/strings.h"

namespace smdebug::config {
namespace {

std::string ShortNumber(double number) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.end(), number).ptr};
}

}  // namespace

SettingsReader::SettingsReader(const JsonValue &object, Problems *problems, std::string prefix,
                               KeyCase key_case)
    : object_(object), problems_(problems), prefix_(std::move(prefix)), key_case_(key_case) {
  if (const Status status = CheckIsObject(object_); !status.IsOk()) Ignore(status.Message());
}

void SettingsReader::Note(std::string what, std::string outcome) {
  if (IsFull()) return;
  problems_->push_back({prefix_ + std::move(what), std::move(outcome)});
  if (IsFull()) problems_->push_back({"too many problems", "some later settings are ignored too"});
}

void SettingsReader::Ignore(std::string what) { Note(std::move(what), "it is ignored"); }

bool SettingsReader::IsSameKey(std::string_view a, std::string_view b) const {
  return key_case_ == KeyCase::kExact ? a == b : ToLower(a) == ToLower(b);
}

std::optional<JsonValue> SettingsReader::Given(std::string_view key) const {
  if (key_case_ == KeyCase::kExact) return FindGiven(object_, key);
  std::optional<JsonValue> found;
  for (const auto &[name, value] : object_.Members()) {
    if (IsSameKey(name, key)) found = value;
  }
  if (found && found->IsNull()) return {};
  return found;
}

void SettingsReader::CheckKeys(const std::vector<std::string> &known) {
  for (const auto &[key, value] : object_.Members()) {
    if (IsFull()) return;
    const auto is_same = [&, &key = key](const std::string &each) { return IsSameKey(key, each); };
    if (std::any_of(known.begin(), known.end(), is_same)) continue;
    Ignore(StrCat(object_.Place(), " has the unknown key '", Excerpt(key), "'",
                  DidYouMean(key, {known.begin(), known.end()})));
  }
}

template <class T>
std::optional<T> SettingsReader::Taken(Result<T> value) {
  if (value.IsOk()) return *std::move(value);
  Ignore(value.GetStatus().Message());
  return {};
}

std::optional<JsonValue> SettingsReader::Single(std::string_view key) {
  std::optional<JsonValue> given = Given(key);
  if (!given || !given->IsArray()) return given;
  const std::vector<JsonValue> items = given->Items();
  if (items.size() != 1) return given;
  Note(StrCat(given->Place(), " is a list"), "its one value is read");
  return items.front();
}

std::optional<bool> SettingsReader::Switch(std::string_view key) {
  const std::optional<JsonValue> given = Single(key);
  if (!given) return {};
  if (given->IsNumber()) {
    const Result<int64_t> number = given->Int();
    if (number.IsOk() && (*number == 0 || *number == 1)) {
      Note(StrCat(given->Place(), ": expected true or false, found ", *number),
           StrCat("it is read as ", *number == 1 ? "true" : "false"));
      return *number == 1;
    }
  }
  return Taken(config::Switch(*given));
}

std::optional<int64_t> SettingsReader::Number(std::string_view key, int64_t least) {
  const std::optional<JsonValue> given = Single(key);
  if (!given) return {};
  const std::optional<int64_t> number = Taken(WholeNumber(*given));
  if (!number || *number >= least) return number;
  Ignore(StrCat(given->Place(), " is ", *number, "; it must be ", least, " or more"));
  return {};
}

std::optional<double> SettingsReader::Real(std::string_view key, double least) {
  const std::optional<JsonValue> given = Single(key);
  if (!given) return {};
  const std::optional<double> number = Taken(config::Number(*given));
  if (!number || *number >= least) return number;
  Ignore(StrCat(given->Place(), " is ", ShortNumber(*number), "; it must be ", ShortNumber(least),
                " or more"));
  return {};
}

std::optional<std::string> SettingsReader::Text(std::string_view key) {
  const std::optional<JsonValue> given = Single(key);
  if (!given) return {};
  if (const Result<double> number = given->Number(); number.IsOk()) {
    Ignore(StrCat(given->Place(), ": expected text, found a number: ", ShortNumber(*number)));
    return {};
  }
  return Taken(given->Text());
}

std::vector<std::string> SettingsReader::Texts(std::string_view key) {
  const std::optional<JsonValue> given = Given(key);
  if (!given) return {};
  if (!given->IsArray()) return SplitList(Taken(given->Text()).value_or(""));
  std::vector<std::string> texts;
  for (const JsonValue &item : given->Items()) {
    if (IsFull()) break;
    if (std::optional<std::string> text = Taken(item.Text())) texts.push_back(*std::move(text));
  }
  return texts;
}

std::optional<std::vector<int64_t>> SettingsReader::Numbers(std::string_view key) {
  const std::optional<JsonValue> given = Given(key);
  if (!given) return {};
  std::vector<int64_t> numbers;
  if (given->IsArray()) {
    for (const JsonValue &item : given->Items()) {
      if (IsFull()) break;
      if (const auto number = Taken(WholeNumber(item))) numbers.push_back(*number);
    }
  } else if (given->IsNumber()) {
    const auto number = Taken(given->Int());
    if (!number) return {};
    numbers.push_back(*number);
  } else {
    const auto text = Taken(given->Text());
    if (!text) return {};
    for (const std::string &part : SplitList(*text)) {
      if (IsFull()) break;
      const std::optional<int64_t> number = ParseInt(part);
      if (number) {
        numbers.push_back(*number);
      } else {
        Ignore(StrCat(given->Place(), ": '", Excerpt(part),
                      "' is not a whole number; use a list such as 1,2,3"));
      }
    }
  }
  std::erase_if(numbers, [&](int64_t number) {
    if (number < 0 && !IsFull())
      Ignore(StrCat(given->Place(), " contains ", number, "; steps begin at 0"));
    return number < 0;
  });
  return numbers;
}

std::optional<JsonValue> SettingsReader::Object(std::string_view key) {
  const std::optional<JsonValue> given = Single(key);
  if (!given || given->IsObject()) return given;
  Ignore(CheckIsObject(*given).Message());
  return {};
}

std::vector<JsonValue> SettingsReader::Items(std::string_view key) {
  const std::optional<JsonValue> given = Given(key);
  if (!given || given->IsArray()) return given ? given->Items() : std::vector<JsonValue>();
  Ignore(StrCat(given->Place(), ": expected a list, found ", given->Kind()));
  return {};
}

}  // namespace smdebug::config
