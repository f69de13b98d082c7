#include "analyze/event_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "analyze/trial_files.h"

namespace smdebug::analyze::event_files_test {
namespace {

using storage::MemoryStore;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> FloatsOf(const tensor::Value &value) {
  std::vector<float> numbers(value.size / sizeof(float));
  if (!numbers.empty()) std::memcpy(numbers.data(), value.data.get(), value.size);
  return numbers;
}

std::vector<float> Counting(size_t count) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i);
  return numbers;
}

class EventFilesTest : public testing::Test {
 protected:
  // The place of the tensor at `i` of those files, which are put into the store.
  RecordPlace PlaceOf(StepFiles &step, size_t i = 0) {
    step.Put(*store_);
    const format::TensorLocation &location = step.Index().tensors[i];
    return {step.EventName(), location.start, location.length, location.crc32c};
  }
  ReadTensor Read(const RecordPlace &place) {
    auto read = files_.Read(place);
    EXPECT_TRUE(read.IsOk()) << read.GetStatus().Message();
    return *std::move(read);
  }
  Status Error(const RecordPlace &place) { return files_.Read(place).GetStatus(); }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  EventFiles files_{store_};
};

TEST_F(EventFilesTest, ReadsATensorAndWhatIsSaidOfIt) {
  StepFiles step(12, Mode::kEval, 3);
  step.Add("first", {1}).Add("second", {2, 3});
  const ReadTensor read = Read(PlaceOf(step, 1));
  EXPECT_EQ(read.name, "second");
  EXPECT_EQ(read.context.step, 12);
  EXPECT_EQ(read.context.mode, Mode::kEval);
  EXPECT_EQ(read.context.mode_step, 3);
  EXPECT_EQ(read.context.wall_time, 1.5);
  EXPECT_EQ(read.value.dtype, tensor::DType::kFloat32);
  EXPECT_THAT(read.value.shape, ElementsAre(2));
  EXPECT_THAT(FloatsOf(read.value), ElementsAre(2, 3));
}

// Small records are read at once, of large ones the payload goes where it stays.
TEST_F(EventFilesTest, TensorsOfEverySizeReadTheSame) {
  for (const size_t count : {0U, 1U, 1000U, 4000U, 4050U, 4070U, 4096U, 5000U, 100'000U}) {
    StepFiles step(static_cast<int64_t>(count));
    step.Add("x", Counting(count)).Add("after", {7});
    const ReadTensor read = Read(PlaceOf(step, 0));
    EXPECT_EQ(FloatsOf(read.value), Counting(count)) << count;
    EXPECT_THAT(FloatsOf(Read(PlaceOf(step, 1)).value), ElementsAre(7)) << count;
  }
}

TEST_F(EventFilesTest, ValuesAreAligned) {
  for (const size_t count : {3U, 5000U, 100'000U}) {
    StepFiles step(static_cast<int64_t>(count));
    step.Add("x", Counting(count));
    const ReadTensor read = Read(PlaceOf(step));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(read.value.data.get()) % 64, 0U) << count;
  }
}

TEST_F(EventFilesTest, ValuesOutliveTheFiles) {
  StepFiles step(0);
  step.Add("x", Counting(10'000));
  tensor::Value value;
  {
    EventFiles files(store_);
    auto read = files.Read(PlaceOf(step));
    ASSERT_TRUE(read.IsOk());
    value = std::move(read->value);
  }
  EXPECT_EQ(FloatsOf(value), Counting(10'000));
}

TEST_F(EventFilesTest, TextIsReadWhateverItsSize) {
  const std::string large(50'000, 'x');
  const std::vector<const char *> texts = {"a", large.c_str(), ""};
  const std::vector<int64_t> shape = {3};
  StepFiles step(0);
  step.AddView("text", {texts.data(), shape, {}, tensor::DType::kString});
  const ReadTensor read = Read(PlaceOf(step));
  ASSERT_NE(read.value.strings, nullptr);
  EXPECT_THAT(*read.value.strings, ElementsAre("a", large, ""));
  EXPECT_THAT(read.value.shape, ElementsAre(3));
}

TEST_F(EventFilesTest, ALongNameIsNoReasonToFail) {
  const std::string name(20'000, 'n');
  StepFiles step(0);
  step.Add(name, Counting(10'000));
  const ReadTensor read = Read(PlaceOf(step));
  EXPECT_EQ(read.name, name);
  EXPECT_EQ(FloatsOf(read.value), Counting(10'000));
}

// ---- files that do not hold what they should ---------------------------------------------

TEST_F(EventFilesTest, AMissingFileIsNotFound) {
  EXPECT_EQ(Error({"events/none", 0, 100, {}}).GetCode(), Code::kNotFound);
}

TEST_F(EventFilesTest, AFlippedBitIsAnErrorNeverAWrongValue) {
  for (const size_t count : {size_t{10}, size_t{10'000}}) {
    StepFiles step(static_cast<int64_t>(count));
    step.Add("x", Counting(count));
    step.Events()[step.Events().size() - 100] ^= 0x10;
    const Status status = Error(PlaceOf(step));
    EXPECT_EQ(status.GetCode(), Code::kCorruptData);
    EXPECT_THAT(status.Message(), HasSubstr("checksum"));
    EXPECT_THAT(status.Message(), HasSubstr("memory/" + step.EventName() + ": record at 0"));
    EXPECT_EQ(*status.Detail("path"), "memory/" + step.EventName());
  }
}

TEST_F(EventFilesTest, WithoutAChecksumTheFrameIsChecked) {
  StepFiles step(0);
  step.Add("x", {1});
  step.Events()[3] ^= 1;
  RecordPlace place = PlaceOf(step);
  place.crc32c.reset();
  EXPECT_EQ(Error(place).GetCode(), Code::kCorruptData);
}

TEST_F(EventFilesTest, ACutFileIsCorrupt) {
  for (const size_t count : {size_t{10}, size_t{10'000}}) {
    StepFiles step(static_cast<int64_t>(count));
    step.Add("x", Counting(count));
    step.Events().resize(step.Events().size() / 2);
    const Status status = Error(PlaceOf(step));
    EXPECT_EQ(status.GetCode(), Code::kCorruptData);
    EXPECT_THAT(status.Message(), HasSubstr("beyond the file's end"));
  }
}

TEST_F(EventFilesTest, PlacesThatCannotBeAreCorrupt) {
  StepFiles step(0);
  step.Add("x", {1});
  const RecordPlace place = PlaceOf(step);
  const auto at = [&](uint64_t start, uint64_t length) {
    return Error({place.file, start, length, {}}).GetCode();
  };
  EXPECT_EQ(at(0, 0), Code::kCorruptData);
  EXPECT_EQ(at(0, 15), Code::kCorruptData);
  EXPECT_EQ(at(0, place.length + 1), Code::kCorruptData);
  EXPECT_EQ(at(1, place.length - 1), Code::kCorruptData);
  EXPECT_EQ(at(UINT64_MAX, 2), Code::kCorruptData);
  EXPECT_EQ(at(1, UINT64_MAX), Code::kCorruptData);
}

TEST_F(EventFilesTest, AFailureToReadIsNoFaultOfTheFile) {
  StepFiles step(0);
  step.Add("x", {1});
  const RecordPlace place = PlaceOf(step);
  store_->SetFault([](MemoryStore::Call call, const std::string &) {
    return call == MemoryStore::Call::kRead ? Status(Code::kIo, "as told") : Status::Ok();
  });
  EXPECT_EQ(Error(place).GetCode(), Code::kIo);
  store_->SetFault({});
  EXPECT_THAT(FloatsOf(Read(place).value), ElementsAre(1));
}

TEST_F(EventFilesTest, FilesStayOpenAndAreNotTooMany) {
  int opened = 0;
  store_->SetFault([&](MemoryStore::Call call, const std::string &) {
    if (call == MemoryStore::Call::kOpen) ++opened;
    return Status::Ok();
  });
  std::vector<RecordPlace> places;
  for (int64_t i = 0; i < 65; ++i) {
    StepFiles step(i);
    step.Add("x", {1});
    places.push_back(PlaceOf(step));
    places.back().crc32c.reset();  // without it, no file is kept in memory
  }
  Read(places[0]);
  Read(places[0]);
  EXPECT_EQ(opened, 1);
  for (const RecordPlace &place : places) Read(place);
  EXPECT_EQ(opened, 65);
  Read(places[64]);
  EXPECT_EQ(opened, 65);
  Read(places[0]);
  EXPECT_EQ(opened, 66) << "the one used longest ago was closed";
}

TEST_F(EventFilesTest, SmallFilesThatAreReadOftenAreKept) {
  int reads = 0;
  store_->SetFault([&](MemoryStore::Call call, const std::string &) {
    if (call == MemoryStore::Call::kRead) ++reads;
    return Status::Ok();
  });
  StepFiles step(0);
  for (int i = 0; i < 20; ++i) step.Add(StrCat("x", i), {static_cast<float>(i)});
  RecordPlace place;
  for (size_t i = 0; i < 20; ++i) {
    place = PlaceOf(step, i);
    EXPECT_THAT(FloatsOf(Read(place).value), ElementsAre(static_cast<float>(i)));
  }
  EXPECT_LT(reads, 5);
  // The checksum is not that of what is kept: the file itself is read.
  place.crc32c = *place.crc32c + 1;
  EXPECT_EQ(Error(place).GetCode(), Code::kCorruptData);
  place.crc32c.reset();
  reads = 0;
  EXPECT_THAT(FloatsOf(Read(place).value), ElementsAre(19));
  EXPECT_EQ(reads, 1);
}

}  // namespace
}  // namespace smdebug::analyze::event_files_test
