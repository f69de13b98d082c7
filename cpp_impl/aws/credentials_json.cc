#include "aws/credentials_json.h"

#include "aws/provider_context.h"
#include "base/json.h"
#include "base/strings.h"
#include "net/http_date.h"

namespace smdebug::aws {
namespace {

// Metadata services answer {"Code": "AssumeRoleUnauthorizedAccess", ...} with status 200.
Status CheckCode(const JsonValue &root, const std::string &source) {
  SMD_ASSIGN_OR_RETURN(const std::string code, SecretTextAt(root, "Code", source));
  if (code.empty() || code == "Success") return Status::Ok();
  SMD_ASSIGN_OR_RETURN(const std::string message, SecretTextAt(root, "Message", source));
  return Unusable(source, StrCat("refused: ", Excerpt(code), " ", Excerpt(message)));
}

Result<Credentials> Read(const JsonValue &root, std::string_view token_key,
                         const std::string &source) {
  SMD_RETURN_IF_ERROR(CheckCode(root, source));
  Credentials credentials;
  credentials.source = source;
  SMD_ASSIGN_OR_RETURN(credentials.access_key, SecretTextAt(root, "AccessKeyId", source));
  SMD_ASSIGN_OR_RETURN(credentials.secret_key, SecretTextAt(root, "SecretAccessKey", source));
  SMD_ASSIGN_OR_RETURN(credentials.session_token, SecretTextAt(root, token_key, source));
  SMD_ASSIGN_OR_RETURN(const std::string expiration, SecretTextAt(root, "Expiration", source));
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    return Unusable(source, "the answer lacks 'AccessKeyId' or 'SecretAccessKey'");
  }
  if (!expiration.empty()) {
    credentials.expires_at = net::ParseIsoDate(expiration);
    if (!credentials.expires_at) {
      return Unusable(source, "'Expiration' is not an ISO 8601 time");
    }
  }
  return credentials;
}

}  // namespace

Result<std::string> SecretTextAt(const JsonValue &object, std::string_view key,
                                 const std::string &source) {
  const std::optional<JsonValue> value = object.Find(key);
  if (!value || value->IsNull()) return std::string();
  // JsonValue's own message may quote the value.
  if (!value->IsText()) return Unusable(source, StrCat("'", key, "' is not a string"));
  return value->Text();
}

Result<JsonDocument> ParseSecretObject(std::string_view text, std::string_view name,
                                       const std::string &source) {
  auto document = JsonDocument::Parse(text);
  // The parser's message may quote the text.
  if (!document.IsOk()) return Unusable(source, StrCat(name, " is not valid JSON"));
  if (!document->Root().IsObject()) return Unusable(source, StrCat(name, " is not a JSON object"));
  return document;
}

Result<Credentials> ParseCredentialsJson(std::string_view text, std::string_view token_key,
                                         const std::string &source) {
  SMD_ASSIGN_OR_RETURN(const JsonDocument document, ParseSecretObject(text, "the answer", source));
  return Read(document.Root(), token_key, source);
}

Result<Credentials> ParseProcessJson(std::string_view text, const std::string &source) {
  SMD_ASSIGN_OR_RETURN(const JsonDocument document, ParseSecretObject(text, "the answer", source));
  const std::optional<JsonValue> version = document.Root().Find("Version");
  const auto number = version ? version->Int() : Result<int64_t>(0);
  if (!number.IsOk() || *number != 1) {
    return Unusable(source, "'Version' is not 1, the only version that is defined");
  }
  return Read(document.Root(), "SessionToken", source);
}

}  // namespace smdebug::aws
