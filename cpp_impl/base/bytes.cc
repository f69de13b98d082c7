#include "base/bytes.h"

#include <cstdlib>
#include <new>

namespace smdebug {

AlignedBuffer::AlignedBuffer(size_t size) : size_(size) {
  if (size == 0) return;
  const size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded < size) throw std::bad_alloc();
  data_.reset(static_cast<std::byte *>(std::aligned_alloc(kAlignment, rounded)));
  if (!data_) throw std::bad_alloc();
}

void AlignedBuffer::Free::operator()(std::byte *data) const { std::free(data); }

}  // namespace smdebug
