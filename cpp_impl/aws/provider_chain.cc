#include "aws/providers.h"
#include "base/strings.h"

namespace smdebug::aws {
namespace {

class Chain final : public CredentialsProvider {
 public:
  explicit Chain(std::vector<ProviderPtr> providers) : providers_(std::move(providers)) {}

  Result<Credentials> Get() override {
    std::vector<std::string> places;
    for (const ProviderPtr &provider : providers_) {
      auto found = provider->Get();
      if (found.IsOk() || found.GetStatus().GetCode() != Code::kNotFound) return found;
      const std::string &place = found.GetStatus().Message();
      if (!place.empty()) places.push_back(place);
    }
    return Status(
        Code::kCredentials,
        StrCat("no AWS credentials found in ", Join(places, ", "),
               "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, run `aws configure`, or give "
               "the machine or container a role"));
  }

  void Refuse(const Credentials &refused) override {
    for (const ProviderPtr &provider : providers_) provider->Refuse(refused);
  }

 private:
  const std::vector<ProviderPtr> providers_;
};

}  // namespace

ProviderPtr MakeChain(std::vector<ProviderPtr> providers) {
  return std::make_shared<Chain>(std::move(providers));
}

}  // namespace smdebug::aws
