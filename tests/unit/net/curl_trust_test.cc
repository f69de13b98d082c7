#include "net/curl_trust.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/strings.h"

namespace smdebug::net::curl_trust_test {
namespace {

class CurlTrust : public testing::Test {
 protected:
  CurlTrust() {
    std::filesystem::create_directories(folder_);
    std::ofstream(file_) << "certificates";
  }
  ~CurlTrust() override { std::filesystem::remove_all(folder_); }

  const std::string folder_ =
      (std::filesystem::path(testing::TempDir()) / StrCat("smdebug_trust_", getpid())).string();
  const std::string file_ = StrCat(folder_, "/bundle.pem");
  const std::string missing_ = StrCat(folder_, "/missing.pem");
};

TEST_F(CurlTrust, TakesTheFirstThatExists) {
  const TrustStore found = FirstTrustStore({{missing_, missing_}, {file_, ""}, {"", folder_}});
  EXPECT_EQ(found.file, file_);
  EXPECT_EQ(found.folder, "");
}

TEST_F(CurlTrust, AFileAndAFolder) {
  const TrustStore found = FirstTrustStore({{file_, folder_}});
  EXPECT_EQ(found.file, file_);
  EXPECT_EQ(found.folder, folder_);
}

TEST_F(CurlTrust, OmitsMissingFilesAndFolders) {
  const TrustStore found = FirstTrustStore({{missing_, folder_}});
  EXPECT_EQ(found.file, "");
  EXPECT_EQ(found.folder, folder_);
}

TEST_F(CurlTrust, None) {
  const TrustStore found = FirstTrustStore({{missing_, ""}, {}});
  EXPECT_EQ(found.file, "");
  EXPECT_EQ(found.folder, "");
}

}  // namespace
}  // namespace smdebug::net::curl_trust_test
