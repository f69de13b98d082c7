#include "aws/providers.h"
#include "base/strings.h"

namespace smdebug::aws {
namespace {

enum class File { kCredentials, kConfig };

class FileProvider final : public CredentialsProvider {
 public:
  FileProvider(ProviderContext context, File file) : context_(std::move(context)), file_(file) {}

  Result<Credentials> Get() override {
    SMD_ASSIGN_OR_RETURN(const Profiles profiles, ReadProfiles(context_));
    const std::string &profile = profiles.Selected();
    return file_ == File::kCredentials
               ? KeysIn(profiles.InCredentials(profile), profile, profiles.CredentialsPath())
               : KeysIn(profiles.InConfig(profile), profile, profiles.ConfigPath());
  }

 private:
  const ProviderContext context_;
  const File file_;
};

}  // namespace

Result<Credentials> KeysIn(const IniSection *section, const std::string &profile,
                           const std::string &path) {
  const std::string place = path.empty() ? StrCat("profile ", profile, " (HOME is not set)")
                                         : StrCat("profile ", profile, " in ", path);
  const std::string *key = section == nullptr ? nullptr : section->Find("aws_access_key_id");
  const std::string *secret = section == nullptr ? nullptr : section->Find("aws_secret_access_key");
  if (key == nullptr && secret == nullptr) return NothingAt(place);
  if (key == nullptr || secret == nullptr) {
    return Unusable(place, key == nullptr ? "aws_access_key_id is missing"
                                          : "aws_secret_access_key is missing");
  }
  const std::string *token = section->Find("aws_session_token");
  Credentials credentials{*key, *secret, token == nullptr ? "" : *token};
  credentials.source = place;
  return credentials;
}

ProviderPtr MakeCredentialsFileProvider(const ProviderContext &context) {
  return std::make_shared<FileProvider>(context, File::kCredentials);
}

ProviderPtr MakeConfigFileProvider(const ProviderContext &context) {
  return std::make_shared<FileProvider>(context, File::kConfig);
}

}  // namespace smdebug::aws
