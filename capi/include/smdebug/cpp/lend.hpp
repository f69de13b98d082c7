// Memory and texts that a hook borrows.
#ifndef SMDEBUG_CPP_LEND_HPP
#define SMDEBUG_CPP_LEND_HPP

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/cpp/error.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/view.hpp"

namespace smdebug::detail {

// A release function that only destroys the owner of the memory.
template <class Owner>
struct Keeper {
  Owner owner;
  void operator()() const noexcept {}
};

// Stores `release` for TakeBack(); calls it at once if memory runs out.
template <class Release>
void *Lend(Release release) {
  try {
    return new Release(std::move(release));
  } catch (...) {
    release();
    throw;
  }
}

// The library calls this when it no longer needs the memory.
template <class Release>
void TakeBack(void *lent) noexcept {
  const std::unique_ptr<Release> release(static_cast<Release *>(lent));
  try {
    (*release)();
  } catch (...) {
    // No caller can catch this: it may run on the library's own thread.
  }
}

// Throws unless a tensor of this shape has `count` elements.
inline void RequireCount(const Shape &shape, size_t count) {
  const int64_t *sizes = shape.Data();
  size_t left = count;
  bool is_empty = false;
  bool fits = shape.Rank() <= SMD_MAX_RANK;
  for (int32_t i = 0; fits && i < shape.Rank(); ++i) {
    if (sizes[i] == 0) is_empty = true;
    if (sizes[i] <= 0) continue;  // the library refuses those below 0
    const size_t size = static_cast<size_t>(sizes[i]);
    fits = left % size == 0;
    left /= size;
  }
  if (is_empty ? count == 0 : fits && left == 1) return;
  throw Error(SMD_INVALID_ARGUMENT, "the shape does not hold the " + std::to_string(count) +
                                        " elements given; make their numbers equal");
}

// The texts as the elements of a string tensor.
inline std::vector<const char *> ToPointers(const std::vector<std::string> &texts) {
  std::vector<const char *> pointers;
  pointers.reserve(texts.size());
  for (const std::string &text : texts) pointers.push_back(CString(text).Get());
  return pointers;
}

}  // namespace smdebug::detail

#endif  // SMDEBUG_CPP_LEND_HPP
