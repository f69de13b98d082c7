#include "storage/local_watcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "storage/temporary_folder.h"

namespace smdebug::storage::local_watcher_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

// Runs Wait() on a thread of its own for as long as nothing wakes it; `change` is made
// again and again, as it may come before the waiting does.
void ExpectWokenBy(LocalWatcher &watcher, const std::function<void()> &change) {
  watcher.Wait(minutes(5));  // only begins to watch
  std::atomic<bool> is_over{false};
  std::thread waiting([&] {
    watcher.Wait(minutes(5));
    is_over = true;
  });
  while (!is_over) {
    change();
    std::this_thread::yield();
  }
  waiting.join();
}

class LocalWatcherTest : public testing::Test {
 protected:
  // A new file each time, put in place as a writer does.
  void Appear(const std::string &folder) {
    const std::string name = folder + "/" + std::to_string(next_++);
    folder_.Write(name + ".tmp", "");
    std::filesystem::rename(folder_.Path(name + ".tmp"), folder_.Path(name));
  }

  TemporaryFolder folder_;
  int next_ = 0;
};

TEST_F(LocalWatcherTest, WaitsNoLongerThanItIsTold) {
  LocalWatcher watcher(folder_.Path());
  watcher.Wait(milliseconds(1));
  watcher.Wait(milliseconds(0));
  watcher.Wait(milliseconds(-5));
}

TEST_F(LocalWatcherTest, WorksWhereThereIsNoFolderYet) {
  LocalWatcher watcher(folder_.Path("missing"));
  watcher.Wait(milliseconds(1));
}

TEST_F(LocalWatcherTest, IsWokenByTheEndMarker) {
  LocalWatcher watcher(folder_.Path());
  ExpectWokenBy(watcher, [&] { Appear("."); });
}

TEST_F(LocalWatcherTest, IsWokenByACollectionsFile) {
  folder_.Write("collections/000000000/x", "");
  LocalWatcher watcher(folder_.Path());
  ExpectWokenBy(watcher, [&] { Appear("collections/000000000"); });
}

TEST_F(LocalWatcherTest, IsWokenByAnIndexFileInTheNewestFolder) {
  folder_.Write("index/000000000/x", "");
  folder_.Write("index/000000001/x", "");
  LocalWatcher watcher(folder_.Path());
  ExpectWokenBy(watcher, [&] { Appear("index/000000001"); });
}

TEST_F(LocalWatcherTest, IsWokenByANewIndexFolder) {
  folder_.Write("index/000000000/x", "");
  LocalWatcher watcher(folder_.Path());
  ExpectWokenBy(watcher, [&] {
    std::filesystem::create_directory(folder_.Path("index/" + std::to_string(next_++)));
  });
}

TEST_F(LocalWatcherTest, IsWokenByTheFolderOfCollectionsFiles) {
  folder_.Write("collections/x", "");
  LocalWatcher watcher(folder_.Path());
  ExpectWokenBy(watcher, [&] {
    std::filesystem::create_directory(folder_.Path("collections/" + std::to_string(next_++)));
  });
}

// Between a look at a folder and watching it, a file may appear in it.
TEST_F(LocalWatcherTest, DoesNotWaitWhereItBeginsToWatch) {
  LocalWatcher watcher(folder_.Path("run"));
  watcher.Wait(milliseconds(1));
  folder_.Write("run/collections/000000000/x", "");
  watcher.Wait(minutes(5));
}

TEST_F(LocalWatcherTest, OnceWokenItWaitsNoMore) {
  LocalWatcher watcher(folder_.Path());
  watcher.Wait(minutes(5));
  watcher.Wake();
  watcher.Wait(minutes(5));
  watcher.Wait(minutes(5));
}

TEST_F(LocalWatcherTest, IsWokenFromAnotherThread) {
  LocalWatcher watcher(folder_.Path());
  watcher.Wait(minutes(5));
  std::thread waking([&] { watcher.Wake(); });
  watcher.Wait(minutes(5));
  waking.join();
}

}  // namespace
}  // namespace smdebug::storage::local_watcher_test
