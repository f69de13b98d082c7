#include "base/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace smdebug::bytes_test {
namespace {

TEST(AlignedBufferTest, IsAlignedAtAnySize) {
  for (const size_t size : {size_t{1}, size_t{63}, size_t{64}, size_t{100'000}, size_t{4} << 20,
                            (size_t{4} << 20) + 1, (size_t{9} << 20) - 1}) {
    AlignedBuffer buffer(size);
    ASSERT_EQ(buffer.Size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.Data()) % AlignedBuffer::kAlignment, 0U);
    std::memset(buffer.Data(), 0x5A, size);
    EXPECT_EQ(buffer.Span().back(), std::byte{0x5A});
  }
}

TEST(AlignedBufferTest, EmptyHasNoMemory) { EXPECT_EQ(AlignedBuffer(0).Data(), nullptr); }

TEST(AlignedBufferTest, MovesItsMemory) {
  AlignedBuffer buffer(100);
  const std::byte *data = buffer.Data();
  const AlignedBuffer moved = std::move(buffer);
  EXPECT_EQ(moved.Data(), data);
}

TEST(AlignedBufferTest, RefusesMoreMemoryThanExists) {
  EXPECT_THROW(AlignedBuffer{std::numeric_limits<size_t>::max()}, std::bad_alloc);
}

}  // namespace
}  // namespace smdebug::bytes_test
