#include "aws/providers.h"

namespace smdebug::aws {
namespace {

class StaticProvider final : public CredentialsProvider {
 public:
  explicit StaticProvider(Credentials credentials) : credentials_(std::move(credentials)) {}

  Result<Credentials> Get() override { return credentials_; }

 private:
  const Credentials credentials_;
};

}  // namespace

ProviderPtr MakeStaticProvider(Credentials credentials) {
  return std::make_shared<StaticProvider>(std::move(credentials));
}

}  // namespace smdebug::aws
