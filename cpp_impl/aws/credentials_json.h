// Parses the JSON document in which containers, machines and programs return credentials.
#pragma once

#include <string>
#include <string_view>

#include "aws/credentials.h"
#include "base/json.h"
#include "base/result.h"

namespace smdebug::aws {

// Parses {"AccessKeyId": ..., "SecretAccessKey": ..., `token_key`: ..., "Expiration": ...};
// the last two may be missing.  `source` becomes the source of the credentials, and begins
// messages.  Messages quote only "Code" and "Message" of the document.
// Fails with CREDENTIALS.
Result<Credentials> ParseCredentialsJson(std::string_view text, std::string_view token_key,
                                         const std::string &source);

// Parses the same document from a program, which must also have "Version": 1.
Result<Credentials> ParseProcessJson(std::string_view text, const std::string &source);

// Parses a JSON object.  Fails with CREDENTIALS; the message begins with `source`, calls the text
// `name` ("the answer"), and contains nothing of it.
Result<JsonDocument> ParseSecretObject(std::string_view text, std::string_view name,
                                       const std::string &source);

// Returns the text at `key`, or "" if it is missing or null.  Fails with CREDENTIALS if it is
// anything else than text; the message does not contain the value.
Result<std::string> SecretTextAt(const JsonValue &object, std::string_view key,
                                 const std::string &source);

}  // namespace smdebug::aws
