// Parses the JSON document in which containers, machines and programs return credentials.
#pragma once

#include <string>
#include <string_view>

#include "aws/credentials.h"
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

}  // namespace smdebug::aws
