#include "base/bytes.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace smdebug {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// Smaller buffers mostly reuse memory that is already mapped.
constexpr size_t kHugeFrom = 2 * kHugePage;

}  // namespace

AlignedBuffer::AlignedBuffer(size_t size) : size_(size) {
  if (size == 0) return;
  const bool is_huge = size >= kHugeFrom;
  const size_t alignment = is_huge ? kHugePage : kAlignment;
  void *data = nullptr;
  if (size > PTRDIFF_MAX || posix_memalign(&data, alignment, size) != 0) throw std::bad_alloc();
  data_.reset(static_cast<std::byte *>(data));
  // Faulting in pages one by one costs more than filling them.  The rest at the end stays in
  // small pages, so that no more memory is used than requested.
  if (is_huge) madvise(data, size / kHugePage * kHugePage, MADV_HUGEPAGE);
}

void AlignedBuffer::Free::operator()(std::byte *data) const { std::free(data); }

}  // namespace smdebug
