// A folder of the real file system that is gone with the test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace smdebug::storage {

class TemporaryFolder {
 public:
  // `in` ends with "/".
  explicit TemporaryFolder(const std::string &in = testing::TempDir())
      : path_(in + "smdebug-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::string &Path() const { return path_; }
  std::string Path(std::string_view name) const { return path_ + "/" + std::string(name); }

  void Write(std::string_view name, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  std::string Read(std::string_view name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool Has(std::string_view name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(Path(name)));
  }

 private:
  std::string path_;
};

}  // namespace smdebug::storage
