#include "record/step_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "base/crc32c.h"
#include "storage/memory_store.h"

namespace smdebug::record::step_file_test {
namespace {

using storage::MemoryStore;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::UnorderedElementsAre;

constexpr const char *kEvents = "events/000000000012/000000000012_worker_0.tfevents";
constexpr const char *kIndex = "index/000000000/000000000012_worker_0.json";

class StepFileTest : public testing::Test {
 protected:
  static Status Append(StepFile &file, std::string_view bytes) {
    const std::array pieces = {Piece{nullptr, AsBytes(bytes)}};
    return file.Append(pieces);
  }
  format::IndexFile Index() const {
    const auto index = format::IndexFromJson(store_->Files().at(kIndex), kIndex);
    EXPECT_TRUE(index.IsOk()) << index.GetStatus().Message();
    return *index;
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  StepFile file_{store_, 12, "worker_0"};
};

TEST_F(StepFileTest, EventsGetTheirNameBeforeTheIndex) {
  file_.Announce({"a", 3});
  ASSERT_TRUE(Append(file_, "abc").IsOk());
  std::vector<std::string> committed;
  store_->SetFault([&](MemoryStore::Call call, const std::string &name) {
    if (call == MemoryStore::Call::kCommit) committed.push_back(name);
    return Status::Ok();
  });
  ASSERT_TRUE(file_.Commit(Mode::kTrain, 4, false).IsOk());
  EXPECT_THAT(committed, ElementsAre(kEvents, kIndex));
  EXPECT_EQ(store_->Files().at(kEvents), "abc");
  EXPECT_EQ(Index().event_file_name, kEvents);
  EXPECT_EQ(Index().mode, Mode::kTrain);
  EXPECT_EQ(Index().mode_step, 4);
}

template <class Element>
std::optional<format::SavedNumber> Number(tensor::DType dtype, Element element,
                                          double wall_time = 1.5) {
  return NumberOf({&element, {}, {}, dtype}, wall_time);
}

TEST(NumberOfTest, IsKnownOfOneRealElement) {
  using tensor::DType;
  const auto is = [](double number, DType dtype) {
    return format::SavedNumber{number, dtype, 0, 1'500'000};
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Number(DType::kFloat32, 0.1F), is(0.1F, DType::kFloat32));
  EXPECT_EQ(Number(DType::kFloat64, -0.1), is(-0.1, DType::kFloat64));
  EXPECT_EQ(Number(DType::kInt64, int64_t{-5}), is(-5, DType::kInt64));
  EXPECT_EQ(Number(DType::kBool, true), is(1, DType::kBool));
  EXPECT_EQ(Number(DType::kFloat16, uint16_t{0x3C00}), is(1, DType::kFloat16));
  EXPECT_EQ(Number(DType::kFloat32, kInfinity), is(kInfinity, DType::kFloat32));
  EXPECT_TRUE(std::isnan(Number(DType::kFloat64, std::nan(""))->number));
  EXPECT_FALSE(Number(DType::kComplex64, std::array{1.0F, 0.0F}));
  EXPECT_FALSE(Number(DType::kFloat32, 0.1F, 0)) << "no time";
  EXPECT_FALSE(Number(DType::kFloat32, 0.1F, -1));
  EXPECT_FALSE(Number(DType::kFloat32, 0.1F, 1e300));
  EXPECT_FALSE(Number(DType::kFloat32, 0.1F, std::nan("")));
  const std::array two = {1.0F, 2.0F};
  for (const int64_t size : {0, 1, 2}) {
    const std::array<int64_t, 2> shape = {1, size};
    const auto number = NumberOf({two.data(), shape, {}, DType::kFloat32}, 1.5);
    EXPECT_EQ(number.has_value(), size == 1);
    EXPECT_EQ(number.value_or(is(0, DType::kFloat32)).rank, size == 1 ? 2 : 0);
  }
}

TEST_F(StepFileTest, TheIndexHasTheNumbersThatAreKnown) {
  const format::SavedNumber quarter{0.25, tensor::DType::kFloat64, 0, 8};
  file_.Announce({"a", 1, {}, quarter});
  file_.Announce({"b", 1});
  ASSERT_TRUE(Append(file_, "ab").IsOk());
  ASSERT_TRUE(file_.Commit(Mode::kGlobal, 12, false).IsOk());
  const format::IndexFile index = Index();
  EXPECT_EQ(index.tensors.at(0).number, quarter);
  EXPECT_FALSE(index.tensors.at(1).number);
}

TEST_F(StepFileTest, TheIndexSaysWhereEachRecordIsAndItsChecksum) {
  file_.Announce({"a", 4});
  file_.Announce({"b", 5});
  // Pieces need not end where records do.
  ASSERT_TRUE(Append(file_, "aa").IsOk());
  ASSERT_TRUE(Append(file_, "aabb").IsOk());
  ASSERT_TRUE(Append(file_, "").IsOk());
  file_.Announce({"c", 1});
  ASSERT_TRUE(Append(file_, "bbbc").IsOk());
  ASSERT_TRUE(file_.Commit(Mode::kGlobal, 12, false).IsOk());
  const format::IndexFile index = Index();
  ASSERT_EQ(index.tensors.size(), 3U);
  EXPECT_EQ(index.tensors[0].start, 0U);
  EXPECT_EQ(index.tensors[1].start, 4U);
  EXPECT_EQ(index.tensors[2].start, 9U);
  EXPECT_EQ(index.tensors[1].length, 5U);
  EXPECT_EQ(index.tensors[0].crc32c, Crc32c(AsBytes("aaaa")));
  EXPECT_EQ(index.tensors[1].crc32c, Crc32c(AsBytes("bbbbb")));
  EXPECT_EQ(index.tensors[2].crc32c, Crc32c(AsBytes("c")));
  EXPECT_EQ(file_.TensorCount(), 3U);
  EXPECT_EQ(file_.BytesWritten(), 10U);
}

TEST_F(StepFileTest, AChecksumIsOfAllPartsOfALargeRecord) {
  std::string large(1'000'000, 'x');
  large[700'000] = 'y';
  file_.Announce({"small", 1});
  file_.Announce({"large", large.size()});
  ASSERT_TRUE(Append(file_, "s" + large).IsOk());
  ASSERT_TRUE(file_.Commit(Mode::kGlobal, 12, false).IsOk());
  EXPECT_EQ(Index().tensors[1].crc32c, Crc32c(AsBytes(large)));
  EXPECT_EQ(store_->Files().at(kEvents), "s" + large);
}

TEST_F(StepFileTest, ChecksumsOfPiecesMayBeKnown) {
  const std::array<std::string, 4> texts = {"aa", "aabb", "", "bbb"};
  std::vector<Piece> pieces;
  std::vector<uint32_t> checksums;
  for (const std::string &text : texts) {
    pieces.push_back({nullptr, AsBytes(text)});
    checksums.push_back(Crc32c(AsBytes(text)));
  }
  file_.Announce({"a", 4});
  file_.Announce({"b", 5});
  ASSERT_TRUE(file_.Append(pieces, checksums).IsOk());
  ASSERT_TRUE(file_.Commit(Mode::kGlobal, 12, false).IsOk());
  EXPECT_EQ(Index().tensors[0].crc32c, Crc32c(AsBytes("aaaa")));
  EXPECT_EQ(Index().tensors[1].crc32c, Crc32c(AsBytes("bbbbb")));
  EXPECT_EQ(store_->Files().at(kEvents), "aaaabbbbb");
}

TEST_F(StepFileTest, TheEventFileIsMadeWithTheFirstBytes) {
  bool is_made = false;
  store_->SetFault([&](MemoryStore::Call call, const std::string &) {
    is_made = is_made || call == MemoryStore::Call::kCreate;
    return Status::Ok();
  });
  file_.AddShape({"w", "w", {2, 3}});
  file_.Announce({"a", 1});
  EXPECT_FALSE(is_made);
  ASSERT_TRUE(Append(file_, "a").IsOk());
  EXPECT_TRUE(is_made);
}

TEST_F(StepFileTest, AStepOfShapesHasAnIndexAndNoEvents) {
  EXPECT_TRUE(file_.IsEmpty());
  file_.AddShape({"w", "original", {2, 3}});
  EXPECT_FALSE(file_.IsEmpty());
  ASSERT_TRUE(file_.Commit(Mode::kEval, 1, false).IsOk());
  EXPECT_THAT(store_->Files(), UnorderedElementsAre(Key(kIndex)));
  EXPECT_EQ(Index().event_file_name, "");
  ASSERT_EQ(Index().shapes.size(), 1U);
  EXPECT_EQ(Index().shapes[0].original_name, "original");
  EXPECT_THAT(Index().shapes[0].shape, ElementsAre(2, 3));
}

TEST_F(StepFileTest, WithoutCommitNothingIsLeft) {
  {
    StepFile file(store_, 1, "worker_0");
    file.Announce({"a", 1});
    ASSERT_TRUE(Append(file, "a").IsOk());
  }
  EXPECT_THAT(store_->Files(), IsEmpty());
}

TEST_F(StepFileTest, NoIndexWithoutItsEvents) {
  file_.Announce({"a", 1});
  ASSERT_TRUE(Append(file_, "a").IsOk());
  store_->SetFault([](MemoryStore::Call call, const std::string &name) {
    const bool fails = call == MemoryStore::Call::kCommit && name == kEvents;
    return fails ? Status(Code::kNoSpace, "full") : Status::Ok();
  });
  EXPECT_EQ(file_.Commit(Mode::kGlobal, 12, false).GetCode(), Code::kNoSpace);
  EXPECT_THAT(store_->Files(), IsEmpty());
}

TEST_F(StepFileTest, AStepOfAnEarlierRunIsWholeUntilItIsReplaced) {
  constexpr const char *kAgain = "events/000000000012/again/000000000012_worker_0.tfevents";
  for (const auto &[bytes, events] :
       {std::pair("first", kEvents), {"second", kAgain}, {"third", kEvents}}) {
    StepFile file(store_, 12, "worker_0", true);
    file.Announce({"a", std::string_view(bytes).size()});
    const auto before = store_->Files();
    ASSERT_TRUE(Append(file, bytes).IsOk());
    ASSERT_TRUE(file.CommitEvents(false).IsOk());
    if (before.count(kIndex) > 0) {
      EXPECT_NE(Index().event_file_name, events);
      EXPECT_EQ(store_->Files().at(Index().event_file_name), before.at(Index().event_file_name));
    }
    ASSERT_TRUE(file.Commit(Mode::kTrain, 4, false).IsOk());
    EXPECT_EQ(Index().event_file_name, events);
    EXPECT_EQ(store_->Files().at(events), bytes);
  }
}

TEST_F(StepFileTest, AnIndexThatCannotBeReadIsReplaced) {
  store_->Put(kIndex, "{");
  StepFile file(store_, 12, "worker_0", true);
  file.Announce({"a", 3});
  ASSERT_TRUE(Append(file, "abc").IsOk());
  ASSERT_TRUE(file.Commit(Mode::kTrain, 4, false).IsOk());
  EXPECT_EQ(Index().event_file_name, kEvents);
}

}  // namespace
}  // namespace smdebug::record::step_file_test
