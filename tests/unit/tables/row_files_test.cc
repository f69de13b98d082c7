// Row files: what a hook writes, what scans make of it, and what they do not believe.
#include "tables/row_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "record/hook.h"
#include "storage/temporary_folder.h"
#include "tables/row_file_writer.h"
#include "tables/runs.h"

namespace smdebug::tables::row_files_test {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

template <class T>
tensor::View Of(tensor::DType dtype, const std::vector<T> &elements,
                const std::vector<int64_t> &shape) {
  return {elements.data(), shape, {}, dtype};
}

// Records trials into a folder, and scans them.
class RowFilesTest : public testing::Test {
 protected:
  RowFilesTest() { setenv("XDG_CACHE_HOME", cache_.Path().c_str(), 1); }
  ~RowFilesTest() override { unsetenv("XDG_CACHE_HOME"); }

  record::HookOptions Options(const std::string &trial = "run") const {
    record::HookOptions options;
    options.out_dir = folder_.Path(trial);
    options.saves_all = true;
    options.save_config.SetAll({.interval = 1, .end = {}, .steps = {}});
    options.make_listener = [](record::HookOptions::Put put) {
      return std::make_shared<RowFileWriter>(std::move(put));
    };
    return options;
  }

  // Records steps of `save(hook, step)`.
  template <class SaveStep>
  static void Record(record::HookOptions options, int steps, SaveStep save) {
    const auto hook = *record::Hook::Open(std::move(options));
    for (int step = 0; step < steps; ++step) {
      ASSERT_TRUE(hook->BeginStep().IsOk());
      save(*hook, step);
      ASSERT_TRUE(hook->EndStep().IsOk());
    }
    ASSERT_TRUE(hook->Close().IsOk());
  }
  static void SaveLoss(record::Hook &hook, int step) {
    const std::vector<float> loss = {static_cast<float>(step) / 4};
    ASSERT_TRUE(hook.Save("loss", Of(tensor::DType::kFloat32, loss, {1})).IsOk());
  }

  std::vector<fs::path> FilesIn(const std::string &folder) const {
    std::vector<fs::path> files;
    if (!fs::exists(folder_.Path(folder))) return files;
    for (const auto &each : fs::recursive_directory_iterator(folder_.Path(folder))) {
      if (each.is_regular_file()) files.push_back(each.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  std::string IndexOf(int step) const {
    return folder_.Path("run/" + format::IndexFileName(step, "worker_0"));
  }
  std::vector<std::string> Scan(std::vector<std::string> options = {},
                                Table table = Table::kTensors) const {
    options.insert(options.end(), {"damage", "fail"});
    return Rows::Of(table, folder_.Path(), options);
  }
  std::vector<std::string> Fresh(std::vector<std::string> options = {},
                                 Table table = Table::kTensors) const {
    options.insert(options.end(), {"cache", "false"});
    return Scan(std::move(options), table);
  }
  // Returns how many steps a scan finds if no index file can be parsed any more.
  size_t StepsInRowFiles() const {
    const fs::path kept = folder_.Path() + "-kept";
    fs::copy(folder_.Path(), kept, fs::copy_options::recursive);
    for (const fs::path &file : FilesIn("run/index")) {
      const auto size = fs::file_size(file);
      const auto time = fs::last_write_time(file);
      std::ofstream(file) << std::string(size, ' ');
      fs::last_write_time(file, time);
    }
    const size_t rows = Rows::Of(Table::kScalars, folder_.Path(), {}).size();
    for (const fs::path &file : FilesIn("run/index")) {
      const auto time = fs::last_write_time(file);
      fs::copy_file(kept / fs::relative(file, folder_.Path()), file,
                    fs::copy_options::overwrite_existing);
      fs::last_write_time(file, time);
    }
    fs::remove_all(kept);
    return rows;
  }

  storage::TemporaryFolder cache_;
  storage::TemporaryFolder folder_;
};

TEST_F(RowFilesTest, RowsAreThoseOfTheIndexFiles) {
  std::mt19937 random(7);
  auto options = Options();
  ASSERT_TRUE(options.reduction_config.AddList("l2_norm,mean,max").IsOk());
  Record(std::move(options), 1'020, [&](record::Hook &hook, int step) {
    ASSERT_TRUE(hook.SetMode(step % 5 == 4 ? Mode::kEval : Mode::kTrain).IsOk());
    SaveLoss(hook, step);
    const std::vector<double> many(6, step);
    const std::vector<std::complex<float>> complex(1 + random() % 2, {1, 2});
    const auto size = static_cast<int64_t>(complex.size());
    const std::vector<int64_t> one = {step};
    const std::vector<uint16_t> half = {static_cast<uint16_t>(random())};
    ASSERT_TRUE(hook.Save("many", Of(tensor::DType::kFloat64, many, {2, 3})).IsOk());
    ASSERT_TRUE(hook.Save("none", Of(tensor::DType::kFloat64, many, {0, 3})).IsOk());
    ASSERT_TRUE(hook.Save("one", Of(tensor::DType::kInt64, one, {1, 1, 1})).IsOk());
    ASSERT_TRUE(hook.Save("half", Of(tensor::DType::kFloat16, half, {})).IsOk());
    if (step % 100 == 3) {
      ASSERT_TRUE(hook.Save("complex", Of(tensor::DType::kComplex64, complex, {size})).IsOk());
    }
    if (step % 3 == 0) {
      ASSERT_TRUE(hook.Save("third", Of(tensor::DType::kInt64, one, {1})).IsOk());
    }
  });
  EXPECT_THAT(FilesIn("run/rows"), SizeIs(2));
  // Steps with one complex number are in no row file.
  EXPECT_GT(StepsInRowFiles(), 1'010U * 3);
  for (const Table table : {Table::kTensors, Table::kScalars}) {
    const std::string name = table == Table::kTensors ? "tensor" : "name";
    for (const std::vector<std::string> &columns :
         {std::vector<std::string>{},
          {"column", name, "column", "step"},
          {"column", "time", "column", name, "column", "mode"}}) {
      for (const std::vector<std::string> &condition : {std::vector<std::string>{},
                                                        {"tensor", "loss"},
                                                        {"regex", "^h|one"},
                                                        {"mode", "EVAL"},
                                                        {"first", "998", "end", "1003"},
                                                        {"batch_rows", "7"},
                                                        {"collection", "losses"}}) {
        std::vector<std::string> options_of = columns;
        options_of.insert(options_of.end(), condition.begin(), condition.end());
        const auto fresh = Fresh(options_of, table);
        EXPECT_THAT(fresh, Not(IsEmpty()));
        EXPECT_EQ(Scan(options_of, table), fresh);
      }
    }
  }
  const std::vector<std::string> statistics = {"column", "mean", "column", "l2", "column", "dtype"};
  EXPECT_EQ(Scan(statistics), Fresh(statistics));
}

TEST_F(RowFilesTest, AnIndexFileThatChangedIsRead) {
  Record(Options(), 5, SaveLoss);
  EXPECT_EQ(StepsInRowFiles(), 5U);
  // Of another size, and as old as before.
  const auto time = fs::last_write_time(IndexOf(1));
  std::ofstream(IndexOf(1), std::ios::app) << " ";
  fs::last_write_time(IndexOf(1), time);
  EXPECT_EQ(StepsInRowFiles(), 4U);
  // Of the same size, but newer.
  fs::last_write_time(IndexOf(2), fs::file_time_type::clock::now() + std::chrono::seconds(1));
  EXPECT_EQ(StepsInRowFiles(), 3U);
  fs::remove(IndexOf(3));
  EXPECT_EQ(StepsInRowFiles(), 2U);
  EXPECT_THAT(Scan(), SizeIs(4));
  EXPECT_EQ(Scan(), Fresh());
}

TEST_F(RowFilesTest, DamagedAndMisplacedFilesAreIgnored) {
  Record(Options(), 5, SaveLoss);
  const auto fresh = Fresh();
  const auto files = FilesIn("run/rows");
  ASSERT_THAT(files, SizeIs(1));
  const std::string text = folder_.Read("run/" + format::RowFileName(0, "worker_0"));
  const auto later = fs::file_time_type::clock::now() + std::chrono::hours(1);
  for (const size_t size : {size_t{0}, size_t{9}, text.size() / 2, text.size() - 1}) {
    std::ofstream(files[0], std::ios::binary) << text.substr(0, size);
    fs::last_write_time(files[0], later);
    EXPECT_EQ(StepsInRowFiles(), 0U);
    EXPECT_EQ(Scan(), fresh);
  }
  // Under another name.
  const std::string other = folder_.Path("run/" + format::RowFileName(1, "worker_0"));
  std::ofstream(other, std::ios::binary) << text;
  fs::last_write_time(other, later);
  EXPECT_EQ(StepsInRowFiles(), 0U);
  // A newer file counts more than an older one.
  std::ofstream(files[0], std::ios::binary) << text;
  EXPECT_EQ(StepsInRowFiles(), 5U);
  EXPECT_EQ(Scan(), fresh);
}

TEST_F(RowFilesTest, StepsWithoutARowFileAreRead) {
  Record(Options(), 4, SaveLoss);
  const auto fresh = Fresh();
  auto resumed = Options();
  resumed.writes_rows = false;
  fs::remove(folder_.Path("run/training_job_end.ts"));
  Record(std::move(resumed), 6, [](record::Hook &hook, int step) {
    const std::vector<float> loss = {-1.0F - static_cast<float>(step)};
    ASSERT_TRUE(hook.Save("loss", Of(tensor::DType::kFloat32, loss, {1})).IsOk());
  });
  EXPECT_THAT(FilesIn("run/rows"), SizeIs(1));
  EXPECT_EQ(StepsInRowFiles(), 0U);
  EXPECT_THAT(Scan(), SizeIs(6));
  EXPECT_EQ(Scan({}, Table::kScalars), Fresh({}, Table::kScalars));
}

TEST_F(RowFilesTest, MemoryIsBounded) {
  const std::vector<float> value = {1};
  std::vector<std::string> names;
  for (int i = 0; i < 20'000; ++i) names.push_back("tensor " + std::to_string(i));
  Record(Options(), 30, [&](record::Hook &hook, int) {
    for (const std::string &name : names) {
      ASSERT_TRUE(hook.Save(name, Of(tensor::DType::kFloat32, value, {1})).IsOk());
    }
  });
  EXPECT_GT(FilesIn("run/rows").size(), 1U);
  EXPECT_EQ(StepsInRowFiles(), 30U * names.size());
}

TEST_F(RowFilesTest, AFileThatCannotBeWrittenCostsTimeOnly) {
  fs::create_directories(folder_.Path("run"));
  std::ofstream(folder_.Path("run/rows")) << "in the way";
  Record(Options(), 5, SaveLoss);
  EXPECT_THAT(Scan(), SizeIs(5));
  EXPECT_EQ(Scan(), Fresh());
}

TEST_F(RowFilesTest, NoneBringBackAFolderThatWasRemoved) {
  {
    const auto hook = *record::Hook::Open(Options());
    ASSERT_TRUE(hook->BeginStep().IsOk());
    SaveLoss(*hook, 0);
    ASSERT_TRUE(hook->EndStep().IsOk());
    ASSERT_TRUE(hook->Flush(Deadline::Never()).IsOk());
    fs::remove_all(folder_.Path("run"));
  }
  EXPECT_FALSE(fs::exists(folder_.Path("run")));
}

TEST_F(RowFilesTest, CanBeTurnedOff) {
  auto options = Options();
  ASSERT_TRUE(options.Set("row_files", "false").IsOk());
  Record(std::move(options), 5, SaveLoss);
  EXPECT_FALSE(fs::exists(folder_.Path("run/rows")));
  EXPECT_THAT(Scan(), SizeIs(5));
}

TEST_F(RowFilesTest, WorkersHaveTheirOwn) {
  for (const char *worker : {"worker_0", "/job:worker/replica:0/task:1/device:GPU:0"}) {
    auto options = Options();
    options.worker = worker;
    options.num_workers = 2;
    options.includes_all_workers = true;
    if (fs::exists(folder_.Path("run"))) fs::remove(folder_.Path("run/training_job_end.ts"));
    Record(std::move(options), 3, SaveLoss);
  }
  EXPECT_THAT(FilesIn("run/rows"), SizeIs(2));
  EXPECT_EQ(StepsInRowFiles(), 6U);
  EXPECT_EQ(Scan(), Fresh());
}

TEST_F(RowFilesTest, ComeBeforeTheEndMarker) {
  Record(Options(), 3, SaveLoss);
  EXPECT_LE(fs::last_write_time(FilesIn("run/rows")[0]),
            fs::last_write_time(folder_.Path("run/training_job_end.ts")));
}

TEST_F(RowFilesTest, AHookThatIsNeverClosedWritesThemTooAtItsEnd) {
  {
    const auto hook = *record::Hook::Open(Options());
    ASSERT_TRUE(hook->BeginStep().IsOk());
    SaveLoss(*hook, 0);
    ASSERT_TRUE(hook->EndStep().IsOk());
  }
  EXPECT_EQ(StepsInRowFiles(), 1U);
}

}  // namespace
}  // namespace smdebug::tables::row_files_test
