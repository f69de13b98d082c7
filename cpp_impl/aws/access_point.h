// Access points of S3, which can take the place of a bucket.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace smdebug::aws {

// The parts of "arn:aws:s3:eu-west-1:123456789012:accesspoint/name".
struct AccessPoint {
  std::string partition;
  std::string region;
  std::string account;
  std::string name;

  // Returns the form with ":" before the name, so that the first slash of a URL ends the ARN.
  std::string Arn() const;
  // Returns "name-123456789012", the first label of its host.
  std::string Label() const { return name + "-" + account; }
};

bool IsArn(std::string_view bucket);

// Returns the length of the ARN at the start of `text`, which may continue with "/key".
size_t ArnLength(std::string_view text);

// Parses an ARN with "/" or ":" before the name.  Fails with UNSUPPORTED for multi-region access
// points and for those of other services, and with INVALID_ARGUMENT for other texts.
Result<AccessPoint> ParseAccessPoint(std::string_view arn);

}  // namespace smdebug::aws
