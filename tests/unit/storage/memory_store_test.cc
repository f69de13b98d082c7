#include "storage/memory_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug::storage::memory_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The store of the other tests keeps the promises of storage/store.h as well.
TEST(MemoryStore, AFileIsThereOnceCommitted) {
  MemoryStore store;
  auto file = store.Create("a/b");
  ASSERT_TRUE(file.IsOk());
  EXPECT_FALSE(*store.Exists("a/b"));
  ASSERT_TRUE((*file)->Commit(false).IsOk());
  EXPECT_TRUE(*store.Exists("a/b"));
}

TEST(MemoryStore, ListsOneFolderAndFollowsTwoLevels) {
  MemoryStore store;
  store.Put("index/0/a", "");
  store.Put("index/1/b", "");
  store.Put("other", "");
  EXPECT_THAT(*store.List("index/0"), ElementsAre("index/0/a"));
  EXPECT_THAT(*store.List("nothing"), IsEmpty());
  EXPECT_THAT(*store.Follow("index")->Next(), ElementsAre("index/0/a", "index/1/b"));
}

TEST(MemoryStore, FailsAsItIsTold) {
  MemoryStore store;
  store.Put("file", "text");
  store.SetFault([](MemoryStore::Call call, const std::string &) {
    return call == MemoryStore::Call::kRead ? Status(Code::kIo, "as told") : Status::Ok();
  });
  EXPECT_EQ(store.ReadText("file").GetStatus().GetCode(), Code::kIo);
  store.SetFault({});
  EXPECT_EQ(*store.ReadText("file"), "text");
}

TEST(MemoryStore, AClaimIsHeldByOne) {
  MemoryStore store;
  auto first = store.Acquire("claim");
  EXPECT_NE(*first, nullptr);
  EXPECT_EQ(*store.Acquire("claim"), nullptr);
  first->reset();
  EXPECT_NE(*store.Acquire("claim"), nullptr);
}

}  // namespace
}  // namespace smdebug::storage::memory_store_test
