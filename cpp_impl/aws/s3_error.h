// Converts the error answers of an S3 service to a Status that says what to do.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace smdebug::aws {

// The parts of an error answer; missing parts are empty.
struct S3Error {
  int http_status = 0;
  std::string code{};     // "NoSuchKey"
  std::string message{};  // the service's sentence
  std::string region{};   // the bucket's region, if the service reports it
  std::string request_id{};
};

// Returns the error for a failed answer.  `action` is a verb ("reading"), `location` the
// object or bucket as s3://..., and `source` that of the credentials.  Codes: PERMISSION,
// NOT_FOUND,
// CREDENTIALS_REFUSED, CREDENTIALS_EXPIRED, CLOCK_SKEWED, WRONG_REGION,
// BUCKET_NOT_FOUND, THROTTLED, NETWORK (the service failed), TIMEOUT or IO.  Details:
// "path", "http_status", "s3_code", "region", "request_id".
Status S3Failure(std::string_view action, std::string_view location, std::string_view source,
                 const S3Error &error);

}  // namespace smdebug::aws
