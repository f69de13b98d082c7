// The document in which containers, machines and programs hand out credentials.
#pragma once

#include <string>
#include <string_view>

#include "aws/credentials.h"
#include "base/result.h"

namespace smdebug::aws {

// {"AccessKeyId": ..., "SecretAccessKey": ..., `token_key`: ..., "Expiration": ...}; the
// last two may be missing.  `source` is the credentials' and begins messages, which never
// hold a part of the document but its "Code" and "Message".  Fails with CREDENTIALS.
Result<Credentials> ParseCredentialsJson(std::string_view text, std::string_view token_key,
                                         const std::string &source);

// The same from a program, which says "Version": 1 too.
Result<Credentials> ParseProcessJson(std::string_view text, const std::string &source);

}  // namespace smdebug::aws
