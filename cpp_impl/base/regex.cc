#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/strings.h"

namespace smdebug {
namespace {

constexpr size_t kMaxExpression = size_t{64} << 10;
constexpr uint32_t kMatchLimit = 2'000'000;
constexpr uint32_t kHeapLimitKiB = 32 << 10;

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }
bool IsOctal(char letter) { return letter >= '0' && letter <= '7'; }
bool IsLetter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}
bool IsHex(char letter) {
  return IsDigit(letter) || (letter >= 'a' && letter <= 'f') || (letter >= 'A' && letter <= 'F');
}

Status Wrong(std::string_view expression, size_t offset, std::string_view what) {
  return InvalidConfig(StrCat("regular expression '", Excerpt(expression), "': ", what,
                              " at offset ", offset))
      .With("expression", Excerpt(expression))
      .With("offset", std::to_string(offset));
}

// Translates a Python expression to PCRE2's syntax.  It parses only enough to recognise classes
// and comments; PCRE2 finds other errors.
class Translation {
 public:
  explicit Translation(std::string_view expression) : in_(expression) {}

  Status Run() {
    while (at_ < in_.size()) {
      SMD_RETURN_IF_ERROR(is_in_class_ ? PassInClass() : PassOutside());
    }
    return Status::Ok();
  }

  const std::string &Translated() const { return out_; }

  // Returns the offset in the Python expression for an offset in the translated one.
  size_t OffsetBefore(size_t translated) const {
    const auto after =
        std::upper_bound(origins_.begin(), origins_.end(), translated,
                         [](size_t wanted, const auto &origin) { return wanted < origin.first; });
    if (after == origins_.begin()) return std::min(translated, in_.size());
    const auto &[out_offset, in_offset] = *std::prev(after);
    return std::min(in_offset + (translated - out_offset), in_.size());
  }

 private:
  // Returns the letter `ahead` of the current one, or NUL beyond the end.
  char Peek(size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  Status Refuse(std::string_view what) const { return Wrong(in_, at_, what); }

  Status Copy(size_t count) {
    out_.append(in_.substr(at_, count));
    at_ = std::min(at_ + count, in_.size());
    return Status::Ok();
  }
  Status Replace(size_t count, std::string_view by) {
    out_.append(by);
    at_ += count;
    origins_.emplace_back(out_.size(), at_);
    return Status::Ok();
  }
  // Copies up to and including `last`, or to the end.
  Status CopyThrough(char last) {
    const size_t end = in_.find(last, at_);
    return Copy(end == std::string_view::npos ? in_.size() : end + 1 - at_);
  }

  Status PassInClass() {
    switch (Peek()) {
      case '\\': return PassEscape();
      case '[': return Replace(1, "\\[");  // PCRE2 would parse [:alpha:] in it
      case ']': is_in_class_ = false; return Copy(1);
      default: return Copy(1);
    }
  }

  Status PassOutside() {
    switch (Peek()) {
      case '\\': return PassEscape();
      case '[': return EnterClass();
      case '(': return PassParenthesis();
      case '{': return PassBrace();
      case '#': return is_verbose_ ? CopyThrough('\n') : Copy(1);
      default: return Copy(1);
    }
  }

  Status EnterClass() {
    is_in_class_ = true;
    const size_t opening = Peek(1) == '^' ? 2 : 1;
    const char first = Peek(opening);
    if (first == ']') return Copy(opening + 1);
    // PCRE2 would reject [:...:] as a misplaced name of a class.
    const bool is_special = first == ':' || first == '.' || first == '=';
    if (!is_special) return Copy(opening);
    return Replace(opening, StrCat(in_.substr(at_, opening), "\\"));
  }

  // {2}, {2,}, {2,3} and {,3} are repetitions; any other brace is a letter.
  Status PassBrace() {
    size_t length = 1;
    while (IsDigit(Peek(length))) ++length;
    const bool has_minimum = length > 1;
    bool has_comma = false;
    if (Peek(length) == ',') {
      has_comma = true;
      ++length;
      while (IsDigit(Peek(length))) ++length;
    }
    if (Peek(length) != '}' || !(has_minimum || has_comma)) return Replace(1, "\\{");
    return has_minimum ? Copy(length + 1) : Replace(1, "{0");
  }

  Status PassParenthesis() {
    if (Peek(1) == '*') return Refuse("nothing to repeat");
    if (Peek(1) != '?') return Copy(1);
    switch (Peek(2)) {
      case ':':
      case '=':
      case '!':
      case '>': return Copy(3);
      case '#': return CopyThrough(')');
      case '(': return PassCondition();
      case '<':
        if (Peek(3) == '=' || Peek(3) == '!') return Copy(4);
        break;
      case 'P':
        if (Peek(3) == '<' || Peek(3) == '=') return Copy(4);
        break;
      default:
        if (IsLetter(Peek(2)) || Peek(2) == '-') return PassFlags();
    }
    return Refuse(StrCat("unknown extension (", Excerpt(in_.substr(at_ + 1, 2))));
  }

  // (?(1)..) or (?(name)..): some bare names have a special meaning in PCRE2.
  Status PassCondition() {
    const size_t start = at_ + 3;
    const std::string_view name = in_.substr(start, in_.find(')', start) - start);
    const bool is_word = !name.empty() && std::all_of(name.begin(), name.end(), [](char letter) {
      return IsLetter(letter) || IsDigit(letter) || letter == '_';
    });
    if (!is_word) return Refuse("bad group name in a condition");
    if (IsDigit(name[0])) return Copy(3 + name.size());
    return Replace(3 + name.size(), StrCat("(?(<", name, ">"));
  }

  // (?i), only at the very start, or (?i:..); u is always on.
  Status PassFlags() {
    size_t length = 2;
    std::string kept;
    for (; IsLetter(Peek(length)) || Peek(length) == '-'; ++length) {
      const char flag = Peek(length);
      if (flag == 'a') return Refuse("the flag a (ASCII) is not supported");
      if (std::string_view("imsux-").find(flag) == std::string_view::npos) {
        return Refuse(StrCat("unknown flag ", flag));
      }
      if (flag == 'x') is_verbose_ = true;
      if (flag != 'u') kept.push_back(flag);
    }
    const char end = Peek(length);
    if (end == ':') return Replace(length + 1, StrCat("(?", kept, ":"));
    if (end != ')') return Refuse("missing -, : or ) in flags");
    if (at_ != flags_end_) return Refuse("global flags not at the start");
    flags_end_ = at_ + length + 1;
    return Replace(length + 1, kept.empty() ? "" : StrCat("(?", kept, ")"));
  }

  Status PassEscape() {
    const char letter = Peek(1);
    switch (letter) {
      case 'v': return Replace(2, "\\x0b");  // a class in PCRE2
      case 'x': return PassHex(2);
      case 'u': return PassHex(4);
      case 'U': return PassHex(8);
      case 'Z':
        if (!is_in_class_) return Replace(2, "\\z");
        break;
      case 'A':
      case 'B':
        if (!is_in_class_) return Copy(2);
        break;
      default:
        if (IsDigit(letter)) return PassNumber();
        if (!IsLetter(letter)) return Copy(2);
        if (std::string_view("abdDfnrsStwW").find(letter) != std::string_view::npos) {
          return Copy(2);
        }
    }
    return Refuse(StrCat("bad escape \\", letter));
  }

  Status PassHex(size_t digits) {
    for (size_t i = 0; i < digits; ++i) {
      if (!IsHex(Peek(2 + i))) {
        return Refuse(StrCat("incomplete escape \\", Peek(1)));
      }
    }
    return Replace(2 + digits, StrCat("\\x{", in_.substr(at_ + 2, digits), "}"));
  }

  // \0, \01 and \101 are characters, \1 and \12 groups; in a class all are characters.
  Status PassNumber() {
    const bool starts_octal = IsOctal(Peek(1));
    const bool has_three = starts_octal && IsOctal(Peek(2)) && IsOctal(Peek(3));
    if (Peek(1) == '0' || has_three || (is_in_class_ && starts_octal)) {
      size_t digits = 1;
      while (digits < 3 && IsOctal(Peek(1 + digits))) ++digits;
      if (digits == 3 && Peek(1) > '3') return Refuse("octal escape above \\377");
      return Replace(1 + digits, StrCat("\\o{", in_.substr(at_ + 1, digits), "}"));
    }
    if (is_in_class_) return Refuse(StrCat("bad escape \\", Peek(1)));
    const size_t digits = IsDigit(Peek(2)) ? 2 : 1;
    return Replace(1 + digits, StrCat("\\g{", in_.substr(at_ + 1, digits), "}"));
  }

  std::string_view in_;
  std::string out_;
  size_t at_ = 0;
  size_t flags_end_ = 0;
  bool is_in_class_ = false;
  bool is_verbose_ = false;
  std::vector<std::pair<size_t, size_t>> origins_;
};

std::string Pcre2Message(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char *>(text.data());
}

struct FreeContext {
  void operator()(pcre2_match_context *context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_compile_context *context) const { pcre2_compile_context_free(context); }
  void operator()(pcre2_match_data *data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_code *code) const { pcre2_code_free(code); }
};
template <class T>
using Owned = std::unique_ptr<T, FreeContext>;

template <class T>
Owned<T> Own(T *made) {
  if (made == nullptr) throw std::bad_alloc();
  return Owned<T>(made);
}

Owned<pcre2_match_context> Limit(uint32_t steps) {
  auto context = Own(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), steps);
  pcre2_set_heap_limit(context.get(), kHeapLimitKiB);
  return context;
}

}  // namespace

struct Regex::Program {
  Owned<pcre2_code> code;
  // Only read while matching, so threads may share them.
  Owned<pcre2_match_context> few_steps;
  Owned<pcre2_match_context> most_steps;
};

Result<Regex> Regex::Compile(std::string_view expression) {
  if (expression.size() > kMaxExpression) {
    return InvalidConfig(StrCat("regular expression '", Excerpt(expression), "' has ",
                                expression.size(), " bytes; at most ", kMaxExpression,
                                " are allowed"));
  }
  if (!IsUtf8(expression)) {
    return InvalidConfig(
        StrCat("regular expression '", Excerpt(expression), "' is not valid UTF-8"));
  }
  Translation translation(expression);
  SMD_RETURN_IF_ERROR(translation.Run());
  const std::string &translated = translation.Translated();
  const auto syntax = Own(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(syntax.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  Owned<pcre2_code> code(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_ALT_CIRCUMFLEX, &error,
                    &offset, syntax.get()));
  if (!code && error == PCRE2_ERROR_HEAP_FAILED) throw std::bad_alloc();
  if (!code) return Wrong(expression, translation.OffsetBefore(offset), Pcre2Message(error));
  // Without executable memory, the interpreter does the same more slowly.
  (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return Regex(std::string(expression),
               std::make_shared<const Program>(
                   Program{std::move(code), Limit(RegexBudget::kFreeSteps), Limit(kMatchLimit)}));
}

Status Regex::TooLong(std::string_view text) const {
  return InvalidConfig(StrCat("regular expression '", Excerpt(expression_), "' takes too long on '",
                              Excerpt(text), "'; write it without nested repetitions"))
      .With("expression", Excerpt(expression_));
}

Result<std::optional<bool>> Regex::SearchWithin(uint32_t limit, std::string_view text) const {
  const auto found = Own(pcre2_match_data_create(1, nullptr));
  Owned<pcre2_match_context> made;
  if (limit != RegexBudget::kFreeSteps && limit != kMatchLimit) made = Limit(limit);
  pcre2_match_context *const context = made                   ? made.get()
                                       : limit == kMatchLimit ? program_->most_steps.get()
                                                              : program_->few_steps.get();
  const auto search = [&](uint32_t options) {
    return pcre2_match(program_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                       0, options, found.get(), context);
  };
  int outcome = search(0);
  // JIT-compiled code has a small stack; that of the interpreter is bounded by the heap limit.
  if (outcome == PCRE2_ERROR_JIT_STACKLIMIT) outcome = search(PCRE2_NO_JIT);
  if (outcome >= 0) return std::optional(true);
  switch (outcome) {
    case PCRE2_ERROR_NOMATCH: return std::optional(false);
    case PCRE2_ERROR_NOMEMORY: throw std::bad_alloc();
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT: return std::optional<bool>();
    case PCRE2_ERROR_HEAPLIMIT: return TooLong(text);
    default:
      return Status(Code::kInternal, StrCat("regular expression '", Excerpt(expression_),
                                            "': ", Pcre2Message(outcome)));
  }
}

Result<bool> Regex::IsFoundIn(std::string_view text) const {
  SMD_ASSIGN_OR_RETURN(const std::optional<bool> found, SearchWithin(kMatchLimit, text));
  if (!found) return TooLong(text);
  return *found;
}

Result<bool> RegexBudget::IsFoundIn(const Regex &regex, std::string_view text) {
  SMD_ASSIGN_OR_RETURN(const std::optional<bool> found, regex.SearchWithin(kFreeSteps, text));
  if (found) return *found;
  const MutexLock lock(mutex_);
  return SearchOnBudget(regex, text);
}

// The library does not report the number of steps of a search, so the limit grows from try to try.
Result<bool> RegexBudget::SearchOnBudget(const Regex &regex, std::string_view text) {
  Outcomes &outcomes = known_[regex.Expression()];
  if (const auto known = outcomes.find(text); known != outcomes.end()) return known->second;
  constexpr uint32_t kGrowth = 4;
  uint32_t limit = kFreeSteps;
  while (limit < kMatchLimit) {
    limit = std::min(limit * kGrowth, kMatchLimit);
    if (left_ < limit) {
      left_ = 0;
      return InvalidConfig(
                 StrCat("regular expressions: their searches take too long together, the last one "
                        "that of '",
                        Excerpt(regex.Expression()), "' in '", Excerpt(text),
                        "'; write them without nested repetitions"))
          .With("expression", Excerpt(regex.Expression()));
    }
    left_ -= limit;
    SMD_ASSIGN_OR_RETURN(const std::optional<bool> found, regex.SearchWithin(limit, text));
    if (!found) continue;
    outcomes.emplace(text, *found);
    return *found;
  }
  return regex.TooLong(text);
}

}  // namespace smdebug
