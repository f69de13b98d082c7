#include "config/service_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "storage/temporary_folder.h"

namespace smdebug::config::service_folder_test {
namespace {

using testing::HasSubstr;

constexpr const char *kVariable = "SMDEBUG_TEST_SERVICE_FOLDER";

class ServiceFolderTest : public testing::Test {
 protected:
  ~ServiceFolderTest() override { unsetenv(kVariable); }
  Result<std::optional<std::string>> Of(const std::string &text) {
    const std::string path = folder_.Path() + "/file.json";
    std::ofstream(path) << text;
    setenv(kVariable, path.c_str(), 1);
    return ServiceFolder(kVariable, "/nowhere");
  }
  storage::TemporaryFolder folder_;
};

TEST_F(ServiceFolderTest, IsTheLocalPathOfTheFile) {
  EXPECT_EQ(**Of(R"({"LocalPath": "/some/folder", "S3OutputPath": "s3://b"})"), "/some/folder");
}

TEST_F(ServiceFolderTest, IsNothingWithoutTheFileOrTheKey) {
  EXPECT_FALSE(ServiceFolder(kVariable, "/nowhere")->has_value());
  EXPECT_FALSE(Of("{}")->has_value());
}

TEST_F(ServiceFolderTest, ReportsAnInvalidFile) {
  for (const char *text : {"", "[]", R"({"LocalPath": 3})", "{"}) {
    const auto folder = Of(text);
    EXPECT_EQ(folder.GetStatus().GetCode(), Code::kInvalidConfig) << text;
    EXPECT_THAT(folder.GetStatus().Message(), HasSubstr("file.json"));
  }
}

}  // namespace
}  // namespace smdebug::config::service_folder_test
