// Shared by the tests of smdebug.hpp.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <smdebug.hpp>
#include <string>

// A folder of the test's own, gone with it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "smdebug-cpp-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string &name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Every step, every tensor.
inline smdebug::HookOptions EveryStep(const std::string &path) {
  smdebug::HookOptions options;
  options.Set("out_dir", path).Set("save_all", "true");
  options.SetSaveConfig(smdebug::SaveConfig::Every(1));
  return options;
}

// Steps 0 to count - 1 of TRAIN, with "w" (2 x 3 floats, the step everywhere) and "loss".
inline void RecordSteps(const std::string &path, int count) {
  smdebug::Hook hook(EveryStep(path));
  for (int step = 0; step < count; ++step) {
    const std::vector<float> weights(6, static_cast<float>(step));
    const smdebug::StepGuard guard = hook.Step(smdebug::Mode::kTrain);
    hook.Save("w", weights.data(), {2, 3});
    hook.Save("loss", 1.0 / (1 + step));
  }
  hook.Close();
}

// The error that `body` throws; fails the test if it throws none of class T.
template <class T = smdebug::Error, class Body>
smd_code CodeOf(Body &&body) {
  try {
    body();
  } catch (const T &error) {
    EXPECT_STRNE(error.what(), "");
    return error.Code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return SMD_OK;
}
