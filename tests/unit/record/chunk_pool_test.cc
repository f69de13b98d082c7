#include "record/chunk_pool.h"

#include <gtest/gtest.h>

namespace smdebug::record::chunk_pool_test {
namespace {

TEST(ChunkPool, GivesAwayWhatCameBack) {
  ChunkPool pool;
  auto first = pool.Take();
  EXPECT_EQ(first->Size(), ChunkPool::kChunkSize);
  const auto second = pool.Take();
  EXPECT_NE(first->Data(), second->Data());
  const std::byte *data = first->Data();
  first.reset();
  EXPECT_EQ(pool.Take()->Data(), data);
}

TEST(ChunkPool, ChunksMayOutliveIt) {
  std::shared_ptr<AlignedBuffer> chunk;
  {
    ChunkPool pool;
    chunk = pool.Take();
  }
  chunk->Data()[0] = std::byte{1};
}

}  // namespace
}  // namespace smdebug::record::chunk_pool_test
