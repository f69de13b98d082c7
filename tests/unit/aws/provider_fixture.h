// A simulated machine for providers: files, variables, a clock and a network.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "aws/fake_http.h"
#include "aws/providers.h"
#include "base/fake_clock.h"
#include "base/strings.h"
#include "storage/temporary_folder.h"

namespace smdebug::aws {

class ProviderFixture : public testing::Test {
 protected:
  // Returns a context with the files "credentials" and "config" of the folder.
  ProviderContext Context(Variables::Values values = {}, std::string_view profile = "") {
    values.emplace("AWS_SHARED_CREDENTIALS_FILE", folder_.Path("credentials"));
    values.emplace("AWS_CONFIG_FILE", folder_.Path("config"));
    const Variables variables = Variables::Of(std::move(values));
    ProviderContext context{http_, variables, ProfileFiles(variables, profile)};
    context.clock = &clock_;
    context.random = [] { return 0.5; };
    return context;
  }

  void Answering(FakeHttp::Handler handler) {
    http_ = std::make_shared<FakeHttp>(std::move(handler));
  }

  // Returns the answer of STS for a role.
  static std::string StsAnswer(std::string_view action, std::string_view key) {
    return StrCat("<", action, "Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><",
                  action, "Result><Credentials><AccessKeyId>", key,
                  "</AccessKeyId><SecretAccessKey>ROLEHUSH</SecretAccessKey>"
                  "<SessionToken>ROLETOKEN</SessionToken>"
                  "<Expiration>1970-01-12T14:46:40Z</Expiration></Credentials></",
                  action, "Result></", action, "Response>");
  }
  static constexpr double kStsExpiry = 1'003'600;  // an hour after the start of the clock

  // Returns the message of the failure, and checks that it contains no secret.
  static std::string MessageOf(const Result<Credentials> &found) {
    if (found.IsOk()) return "(no failure)";
    const std::string message = found.GetStatus().Message();
    EXPECT_THAT(message, testing::Not(testing::HasSubstr("HUSH")));
    EXPECT_THAT(message, testing::Not(testing::HasSubstr("TOKEN=")));
    return message;
  }

  static Code CodeOf(const Result<Credentials> &found) { return found.GetStatus().GetCode(); }

  const storage::TemporaryFolder folder_;
  FakeClock clock_;
  std::shared_ptr<FakeHttp> http_ =
      std::make_shared<FakeHttp>([](const SentRequest &) { return NobodyThere(); });
};

}  // namespace smdebug::aws
