#include "base/bytes.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace smdebug {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// Smaller memory is mostly taken again while it is warm.
constexpr size_t kHugeFrom = 2 * kHugePage;

size_t RoundUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

}  // namespace

AlignedBuffer::AlignedBuffer(size_t size) : size_(size) {
  if (size == 0) return;
  const bool is_huge = size >= kHugeFrom;
  const size_t alignment = is_huge ? kHugePage : kAlignment;
  const size_t rounded = RoundUp(size, kAlignment);
  if (rounded < size) throw std::bad_alloc();
  data_.reset(static_cast<std::byte *>(std::aligned_alloc(alignment, rounded)));
  if (!data_) throw std::bad_alloc();
  // Being given fresh memory page by page costs more than filling it.  What is left at the end
  // stays in small pages, so that no more is taken than is asked for.
  if (is_huge) madvise(data_.get(), rounded / kHugePage * kHugePage, MADV_HUGEPAGE);
}

void AlignedBuffer::Free::operator()(std::byte *data) const { std::free(data); }

}  // namespace smdebug
