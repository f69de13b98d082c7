// Shared by the other headers: owners of handles, and conversions of texts and lists.
#ifndef SMDEBUG_CPP_HANDLE_HPP
#define SMDEBUG_CPP_HANDLE_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/cpp/error.hpp"
#include "smdebug/types.h"

namespace smdebug {

// A text argument of one call.  NULL means "not given".
class CString {
 public:
  CString(const char *text) noexcept : text_(text) {}
  CString(std::nullptr_t) noexcept : text_(nullptr) {}
  // Borrows `text`, which must outlive the call.
  CString(const std::string &text) : text_(text.c_str()) { RefuseNul(text); }
  // Copies, since a view need not end with a NUL.
  CString(std::string_view text) : copy_(text), is_copy_(true) { RefuseNul(copy_); }

  const char *Get() const noexcept { return is_copy_ ? copy_.c_str() : text_; }

 private:
  static void RefuseNul(std::string_view text) {
    if (text.find('\0') == std::string_view::npos) return;
    throw Error(SMD_INVALID_ARGUMENT, "the text \"" + std::string(text.substr(0, text.find('\0'))) +
                                          "...\" holds a NUL; give one without");
  }

  const char *text_ = nullptr;
  std::string copy_;
  bool is_copy_ = false;
};

// Waits without a limit.
constexpr std::chrono::milliseconds kWithoutEnd{-1};

namespace detail {

// For the C interface, where a negative time waits without a limit.
inline int32_t ToMilliseconds(std::chrono::milliseconds time) noexcept {
  constexpr std::chrono::milliseconds::rep longest = std::numeric_limits<int32_t>::max();
  return time.count() < 0 ? -1 : static_cast<int32_t>(std::min(time.count(), longest));
}

template <auto function>
struct Free {
  template <class T>
  void operator()(T *handle) const noexcept {
    function(handle);
  }
};

// Owns a handle of the C interface.
template <class T, auto function>
using Handle = std::unique_ptr<T, Free<function>>;

using Text = Handle<smd_text, smd_text_free>;
using Strings = Handle<smd_strings, smd_strings_free>;
using Integers = Handle<smd_integers, smd_integers_free>;

// Calls `function` with `arguments` and a slot for its output, and owns the handle in it.
template <class Owner, class Function, class... Arguments>
Owner Make(Function function, Arguments... arguments) {
  typename Owner::pointer handle = nullptr;
  smd_error *error = function(arguments..., &handle);
  Owner owner(handle);
  Check(error);
  return owner;
}

// The same for an object of class T.
template <class T, class Function, class... Arguments>
T MakeObject(Function function, Arguments... arguments) {
  return T(Make<typename T::Owner>(function, arguments...).release());
}

inline std::string ToString(const Text &text) {
  return std::string(smd_text_data(text.get()), smd_text_size(text.get()));
}

inline std::vector<std::string> ToVector(const Strings &list) {
  std::vector<std::string> texts;
  const size_t count = smd_strings_count(list.get());
  texts.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    texts.emplace_back(smd_strings_get(list.get(), i), smd_strings_size(list.get(), i));
  }
  return texts;
}

inline std::vector<int64_t> ToVector(const Integers &list) {
  const int64_t *data = smd_integers_data(list.get());
  return std::vector<int64_t>(data, data + smd_integers_count(list.get()));
}

inline Strings ToStrings(const std::vector<std::string> &texts) {
  Strings list = Make<Strings>(smd_strings_new);
  for (const std::string &text : texts) Check(smd_strings_add(list.get(), CString(text).Get()));
  return list;
}

// Calls `function` as Make() does and converts its output.
template <class Function, class... Arguments>
std::string MakeString(Function function, Arguments... arguments) {
  return ToString(Make<Text>(function, arguments...));
}

template <class Owner, class Function, class... Arguments>
auto MakeVector(Function function, Arguments... arguments) {
  return ToVector(Make<Owner>(function, arguments...));
}

}  // namespace detail
}  // namespace smdebug

#endif  // SMDEBUG_CPP_HANDLE_HPP
