#include "storage/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/memory_store.h"

namespace smdebug::storage::store_test {
namespace {

using testing::HasSubstr;

Status OpenError(std::string_view path) { return OpenStore(path).GetStatus(); }

TEST(OpenStore, TakesAFolderThatNeedNotExist) {
  const auto store = OpenStore("  /no/such/folder ");
  ASSERT_TRUE(store.IsOk());
  EXPECT_EQ((*store)->Location(), "/no/such/folder") << "blanks around it are dropped";
}

TEST(OpenStore, RefusesWhatIsNoPath) {
  EXPECT_EQ(OpenError("").GetCode(), Code::kInvalidArgument);
  EXPECT_EQ(OpenError("  ").GetCode(), Code::kInvalidArgument);
  EXPECT_EQ(OpenError(std::string_view("a\0b", 3)).GetCode(), Code::kInvalidArgument);
}

TEST(OpenStore, SaysWhichKindsOfPathItDoesNotKnow) {
  EXPECT_EQ(OpenError("s3://Not_A_Bucket/prefix").GetCode(), Code::kInvalidArgument);
  EXPECT_THAT(OpenError("s3:/bucket/x").Message(), HasSubstr("s3://bucket/prefix"));
  EXPECT_EQ(OpenError("ftp://host/x").GetCode(), Code::kUnsupported);
  EXPECT_THAT(OpenError("ftp://host/x").Message(), HasSubstr("'ftp://'"));
}

TEST(Store, ReadsAndWritesSmallFilesAsTexts) {
  MemoryStore store;
  ASSERT_TRUE(store.WriteText("file", "text", false).IsOk());
  EXPECT_EQ(*store.ReadText("file"), "text");
  EXPECT_EQ(store.ReadText("other").GetStatus().GetCode(), Code::kNotFound);
  ASSERT_TRUE(store.WriteText("empty", "", false).IsOk());
  EXPECT_EQ(*store.ReadText("empty"), "");
}

TEST(Store, RefusesATextLargerThanItMayBe) {
  MemoryStore store;
  store.Put("file", "12345");
  EXPECT_TRUE(store.ReadText("file", 5).IsOk());
  const Status status = store.ReadText("file", 4).GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kUnsupported);
  EXPECT_THAT(status.Message(), HasSubstr("file: 5 bytes"));
}

}  // namespace
}  // namespace smdebug::storage::store_test
