// The cache of rows: what its files hold, what damages them, and what scans make of it.
#include "tables/row_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/crc32c.h"
#include "storage/temporary_folder.h"
#include "tables/runs.h"

namespace smdebug::tables::row_cache_test {
namespace {

namespace fs = std::filesystem;
using format::DecodeRows;
using format::EncodeRows;
using format::StoredRows;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

StoredRows SomeRows() {
  StoredRows rows;
  rows.steps = {{5, 2, Mode::kEval, 0, "index/000000000/5_w.json", "v1"},
                {6, 3, Mode::kTrain, 1, "index/000000000/6_w.json", "v2"}};
  rows.names = {"loss", "naïve"};
  rows.shapes = {{}, {2, 3}, {}};
  rows.lists = {{{0, 1}, {2, 0}, {1, 0}}, {{0}, {2}, {2}}};
  rows.times = {7, StoredRows::kNoTime, 9};
  rows.numbers = {{{1, 2, 3}, {}}, {}, {{4, 5, 6}, {1, 0, 1}}};
  return rows;
}

TEST(StoredRows, AreReadAsTheyWereWritten) {
  const StoredRows rows = SomeRows();
  const std::string bytes = EncodeRows(rows, "key");
  const auto read = DecodeRows(AsBytes(bytes), "key");
  ASSERT_TRUE(read);
  EXPECT_EQ(EncodeRows(*read, "key"), bytes);
  EXPECT_EQ(read->steps[0].mode, Mode::kEval);
  EXPECT_EQ(read->names, rows.names);
  EXPECT_EQ(read->numbers, rows.numbers);
  EXPECT_FALSE(DecodeRows(AsBytes(bytes), "another key"));
}

TEST(StoredRows, DamageIsNoticed) {
  const std::string bytes = EncodeRows(SomeRows(), "key");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeRows(AsBytes(bytes).first(size), "key")) << size;
  }
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(DecodeRows(AsBytes(damaged), "key")) << bit;
  }
}

// Whoever can write such a file can make its checksum right.
TEST(StoredRows, HostileContentIsRefused) {
  using Change = void (*)(StoredRows &);
  for (const Change change : std::initializer_list<Change>{
           [](StoredRows &rows) { rows.lists[0].tensors[1] = 2; },
           [](StoredRows &rows) { rows.lists[0].shape_of[0] = 3; },
           [](StoredRows &rows) { rows.lists[1].shape_of.assign(2, 0); },
           [](StoredRows &rows) { rows.lists[0].dtypes[0] = 200; },
           [](StoredRows &rows) { rows.steps[0].list = 1; },
           [](StoredRows &rows) { rows.steps[0].step = -1; },
           [](StoredRows &rows) { rows.steps[0].mode = static_cast<Mode>(9); },
           [](StoredRows &rows) { rows.names[0] = "\xFF"; },
           [](StoredRows &rows) { rows.names[0].assign(StoredRows::kLongestName + 1, 'x'); },
           [](StoredRows &rows) { rows.shapes[1][0] = -2; },
           [](StoredRows &rows) { rows.shapes[1].assign(33, 1); },
           [](StoredRows &rows) { rows.numbers[0].values.pop_back(); },
           [](StoredRows &rows) { rows.numbers[2].known[0] = 2; },
           [](StoredRows &rows) { rows.numbers[2].known.pop_back(); },
           [](StoredRows &rows) {
             rows.numbers[1].known = {1, 1, 1};
           }}) {
    StoredRows rows = SomeRows();
    change(rows);
    EXPECT_FALSE(DecodeRows(AsBytes(EncodeRows(rows, "key")), "key"));
  }
}

// Changes a number that stands behind `before`, and makes the checksum right.
std::string Patched(std::string bytes, std::string_view before, uint32_t number) {
  const size_t place = bytes.find(before) + before.size();
  std::memcpy(&bytes[place], &number, sizeof number);
  const uint32_t checksum = Crc32c(AsBytes(bytes).subspan(12));
  std::memcpy(&bytes[8], &checksum, sizeof checksum);
  return bytes;
}

TEST(StoredRows, HostilePositionsAreRefused) {
  const std::string bytes = EncodeRows(SomeRows(), "key");
  // The second step: its number among those of its mode, and its mode.
  const std::string step("\3\0\0\0\0\0\0\0\1\0\0\0", 12);
  EXPECT_TRUE(DecodeRows(AsBytes(Patched(bytes, step, 1)), "key"));
  for (const uint32_t list : {0U, 2U, 0xFFFFFFFFU}) {
    EXPECT_FALSE(DecodeRows(AsBytes(Patched(bytes, step, list)), "key")) << list;
  }
}

TEST(StoredRows, AnyNumberIsKeptAsItIs) {
  const double huge = std::numeric_limits<double>::max();
  const std::vector<std::vector<double>> columns = {
      {0.5, -0.0, INFINITY}, {0.1, 1, 2}, {huge, -huge, 1}, {NAN, -NAN, 5e-324}, {1e-40, 0, 1}};
  const int64_t day = int64_t{86400} * 1'000'000;
  for (const std::vector<int64_t> &times :
       std::vector<std::vector<int64_t>>{{day, day + 1, 5},
                                         {day, 0, 5},
                                         {0, day, 5},
                                         {StoredRows::kNoTime, 7, StoredRows::kNoTime},
                                         {INT64_MAX, INT64_MIN + 1, -1},
                                         {0, (int64_t{1} << 32) - 2, 0},
                                         {0, (int64_t{1} << 32) - 1, 0}}) {
    StoredRows rows = SomeRows();
    rows.times = times;
    rows.numbers.clear();
    for (const auto &column : columns) rows.numbers.push_back({column, {}});
    const auto read = DecodeRows(AsBytes(EncodeRows(rows, "key")), "key");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->times, times);
    ASSERT_EQ(read->numbers.size(), columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      EXPECT_EQ(std::memcmp(read->numbers[i].values.data(), columns[i].data(), 24), 0) << i;
    }
  }
}

TEST(StoredRows, StepsShareWhatTheyHaveInCommon) {
  StoredRows rows = SomeRows();
  const size_t before = EncodeRows(rows, "key").size();
  rows.steps.push_back(rows.steps[0]);
  rows.times = {7, 8, 9, 10, 11};
  rows.numbers = {};
  const std::string bytes = EncodeRows(rows, "key");
  EXPECT_LT(bytes.size(), before);
  const auto read = DecodeRows(AsBytes(bytes), "key");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->Rows(), 5U);
  EXPECT_EQ(read->times, rows.times);
}

class RowCacheTest : public testing::Test {
 protected:
  RowCacheTest() { setenv("XDG_CACHE_HOME", folder_.Path().c_str(), 1); }
  ~RowCacheTest() override {
    unsetenv("XDG_CACHE_HOME");
    unsetenv("SMDEBUG_ROW_CACHE_MB");
  }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    const std::string folder = folder_.Path("libsmdebug/rows");
    if (!fs::exists(folder)) return files;
    for (const auto &each : fs::directory_iterator(folder)) files.push_back(each.path());
    return files;
  }

  storage::TemporaryFolder folder_;
};

TEST_F(RowCacheTest, FilesAreTheUsersOwn) {
  const auto cache = *RowCache::FromEnvironment();
  EXPECT_FALSE(cache->Load("key"));
  cache->Save("key", SomeRows());
  EXPECT_TRUE(cache->Load("key"));
  EXPECT_FALSE(cache->Load("other"));
  ASSERT_THAT(Files(), SizeIs(1));
  struct stat facts {};
  ASSERT_EQ(stat(Files()[0].c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
  // Another file in its place is not read.
  const fs::path elsewhere = folder_.Path("elsewhere");
  fs::rename(Files()[0], elsewhere);
  fs::create_symlink(elsewhere, folder_.Path("libsmdebug/rows/x.rows"));
  fs::rename(folder_.Path("libsmdebug/rows/x.rows"), folder_.Path("libsmdebug/rows/") + "x");
  EXPECT_FALSE(cache->Load("key"));
}

TEST_F(RowCacheTest, TheOldestGoWhenTheLimitIsReached) {
  StoredRows rows = SomeRows();
  rows.numbers[0].values.assign(3, 1);
  const uint64_t size = EncodeRows(rows, "key 00").size();
  const auto in_rows = [&](const char *key) {
    RowCache cache(folder_.Path("libsmdebug/rows"), 8 * size);
    cache.Save(key, rows);
  };
  const auto now = fs::file_time_type::clock::now();
  for (int i = 10; i < 18; ++i) {
    const std::vector<fs::path> before = Files();
    in_rows(("key " + std::to_string(i)).c_str());
    for (const fs::path &file : Files()) {
      if (std::find(before.begin(), before.end(), file) != before.end()) continue;
      fs::last_write_time(file, now - std::chrono::hours(100 - i));
    }
  }
  EXPECT_THAT(Files(), SizeIs(8));
  in_rows("key 18");
  EXPECT_THAT(Files(), SizeIs(6));
  const RowCache cache(folder_.Path("libsmdebug/rows"), 8 * size);
  EXPECT_FALSE(cache.Load("key 10"));
  EXPECT_TRUE(cache.Load("key 18"));
}

TEST_F(RowCacheTest, CanBeTurnedOff) {
  setenv("SMDEBUG_ROW_CACHE_MB", "0", 1);
  EXPECT_EQ(*RowCache::FromEnvironment(), nullptr);
  setenv("SMDEBUG_ROW_CACHE_MB", "much", 1);
  EXPECT_EQ(RowCache::FromEnvironment().GetStatus().GetCode(), Code::kInvalidConfig);
}

TEST_F(RowCacheTest, AFolderThatCannotBeWrittenCostsTimeOnly) {
  RowCache cache("/dev/null/nowhere", 1 << 20);
  cache.Save("key", SomeRows());
  EXPECT_FALSE(cache.Load("key"));
}

// Scans with and without the cache.
class CachedScanTest : public RowCacheTest {
 protected:
  CachedScanTest() {
    runs_.PutTrial("a", 5);
    runs_.PutTrial("a", 5, "worker_1");
    runs_.PutTrial("b", 3, "worker_0", 998);
    Age();
  }

  // Lets all files be old.
  void Age() const {
    const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
    for (const auto &file : fs::recursive_directory_iterator(runs_.Path())) {
      if (file.is_regular_file()) fs::last_write_time(file, old);
    }
  }
  std::vector<std::string> Scan(std::vector<std::string> options, Table table = Table::kTensors) {
    options.insert(options.end(), {"damage", "fail"});
    return Rows::Of(table, runs_.Path(), options);
  }
  std::vector<std::string> Fresh(std::vector<std::string> options, Table table = Table::kTensors) {
    options.insert(options.end(), {"cache", "false"});
    return Scan(options, table);
  }

  Runs runs_;
};

TEST_F(CachedScanTest, RowsAreThoseOfTheFiles) {
  for (const Table table : {Table::kTensors, Table::kScalars}) {
    const std::string name = table == Table::kTensors ? "tensor" : "name";
    for (const std::vector<std::string> &columns :
         {std::vector<std::string>{},
          {"column", name, "column", "step"},
          {"column", "time", "column", name, "column", "trial"}}) {
      const auto fresh = Fresh(columns, table);
      EXPECT_THAT(fresh, Not(IsEmpty()));
      EXPECT_EQ(Scan(columns, table), fresh);
      EXPECT_THAT(Files(), Not(IsEmpty()));
      EXPECT_EQ(Scan(columns, table), fresh);
      for (const std::vector<std::string> &condition : {std::vector<std::string>{"tensor", "loss"},
                                                        {"regex", "^g"},
                                                        {"mode", "EVAL"},
                                                        {"mode", "TRAIN", "worker", "worker_1"},
                                                        {"first", "2", "end", "999"},
                                                        {"collection", "gradients"},
                                                        {"batch_rows", "1"}}) {
        std::vector<std::string> options = columns;
        options.insert(options.end(), condition.begin(), condition.end());
        EXPECT_EQ(Scan(options, table), Fresh(options, table)) << condition[0];
      }
    }
  }
}

TEST_F(CachedScanTest, StatisticsAreKept) {
  const std::vector<std::string> columns = {"column", "mean",  "column", "max",
                                            "column", "dtype", "column", "shape"};
  const auto fresh = Fresh(columns);
  EXPECT_EQ(Scan(columns), fresh);
  fs::remove_all(runs_.Path() + "/a/events");
  EXPECT_EQ(Scan(columns), fresh);
}

TEST_F(CachedScanTest, ElementsAreNotKept) {
  Scan({"column", "value"});
  Scan({"column", "mean", "compute", "true"});
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(CachedScanTest, AnIndexFileThatChangesIsReadAgain) {
  const auto before = Scan({}, Table::kScalars);
  runs_.PutTrial("a", 1);
  EXPECT_EQ(Scan({}, Table::kScalars), Fresh({}, Table::kScalars));
  runs_.PutTrial("a", 7);
  EXPECT_EQ(Scan({}, Table::kScalars), Fresh({}, Table::kScalars));
  EXPECT_EQ(Scan({}, Table::kScalars).size(), before.size() + 2);
}

TEST_F(CachedScanTest, StepsThatAreNewAreNotKept) {
  runs_.PutTrial("a", 5);
  runs_.PutTrial("a", 5, "worker_1");
  runs_.PutTrial("b", 3, "worker_0", 998);
  Scan({});
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(CachedScanTest, APartOfAUnitIsNotKept) {
  Scan({"tensor", "loss"});
  Scan({"mode", "TRAIN"});
  Scan({"first", "1", "end", "4"});
  EXPECT_THAT(Files(), IsEmpty());
  // But what one worker recorded is.
  Scan({"worker", "worker_1"});
  EXPECT_THAT(Files(), SizeIs(1));
}

TEST_F(CachedScanTest, DamageIsNotKept) {
  const std::string events = "a/events/000000000002/000000000002_worker_0.tfevents";
  std::string text = runs_.Folder().Read(events);
  runs_.Folder().Write(events, text.substr(0, text.size() / 2));
  Age();
  const auto some = Rows::Of(Table::kScalars, runs_.Path() + "/a", {"worker", "worker_0"});
  EXPECT_THAT(some, SizeIs(4));
  EXPECT_THAT(Files(), IsEmpty());
  runs_.Folder().Write(events, text);
  EXPECT_THAT(Rows::Of(Table::kScalars, runs_.Path() + "/a", {"worker", "worker_0"}), SizeIs(5));
}

TEST_F(CachedScanTest, DamagedCacheFilesAreIgnored) {
  const auto fresh = Fresh({});
  Scan({});
  for (const fs::path &file : Files()) std::ofstream(file, std::ios::app) << "x";
  EXPECT_EQ(Scan({}), fresh);
  for (const fs::path &file : Files()) fs::resize_file(file, 20);
  EXPECT_EQ(Scan({}), fresh);
}

}  // namespace
}  // namespace smdebug::tables::row_cache_test
