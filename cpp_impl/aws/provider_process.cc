#include "aws/credentials_json.h"
#include "aws/providers.h"
#include "base/strings.h"

namespace smdebug::aws {
namespace {

class ProcessProvider final : public CredentialsProvider {
 public:
  ProcessProvider(ProviderContext context, const ProcessLimits &limits)
      : context_(std::move(context)), limits_(limits) {}

  Result<Credentials> Get() override {
    SMD_ASSIGN_OR_RETURN(const Profiles profiles, ReadProfiles(context_));
    return ByProcess(profiles, profiles.Selected(), limits_);
  }

 private:
  const ProviderContext context_;
  const ProcessLimits limits_;
};

}  // namespace

Result<Credentials> ByProcess(const Profiles &profiles, const std::string &profile,
                              const ProcessLimits &limits) {
  const std::string place = StrCat("credential_process of profile ", profile);
  const std::optional<std::string> command = profiles.Find(profile, "credential_process");
  if (!command) return NothingAt(place);
  const auto words = SplitCommand(*command);
  if (!words.IsOk()) return Unusable(place, words.GetStatus());
  const auto output = RunProcess(*words, limits);
  if (!output.IsOk()) return Unusable(place, output.GetStatus());
  return ParseProcessJson(*output, place);
}

ProviderPtr MakeProcessProvider(const ProviderContext &context, const ProcessLimits &limits) {
  return std::make_shared<ProcessProvider>(context, limits);
}

}  // namespace smdebug::aws
