#include "aws/access_point.h"

#include <algorithm>
#include <array>

#include "aws/endpoint.h"
#include "base/json.h"
#include "base/strings.h"

namespace smdebug::aws {
namespace {

constexpr std::string_view kResource = "accesspoint";
constexpr std::string_view kForm = "arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME";
constexpr size_t kAccountDigits = 12;

Status Wrong(std::string_view arn, std::string_view rule) {
  return InvalidArgument(StrCat("access point '", Excerpt(arn), "': ", rule));
}

Status NotSupported(std::string_view arn, std::string_view reason) {
  return Unsupported(StrCat("'", Excerpt(arn), "': ", reason));
}

// The parts between the first five colons.  The last part may contain colons.
using Parts = std::array<std::string_view, 6>;

Parts Split(std::string_view arn) {
  Parts parts{};
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const size_t colon = arn.find(':');
    parts[i] = arn.substr(0, colon);
    arn.remove_prefix(colon == std::string_view::npos ? arn.size() : colon + 1);
  }
  parts.back() = arn;
  return parts;
}

// Fails with UNSUPPORTED if the ARN names something else than an access point of one region.
Status CheckKind(std::string_view arn, const Parts &parts) {
  const std::string_view service = parts[2];
  const std::string_view resource = parts[5];
  if (service == "s3-outposts") {
    return NotSupported(arn, "S3 on Outposts is not supported; use an access point of S3");
  }
  if (service == "s3-object-lambda") {
    return NotSupported(arn,
                        "Object Lambda access points are not supported, for they cannot store "
                        "objects; use the access point below it");
  }
  if (service != "s3") return Wrong(arn, StrCat("not an ARN of S3; write it as ", kForm));
  if (!resource.starts_with(kResource)) {
    const bool is_bucket = parts[3].empty() && parts[4].empty() &&
                           resource.find_first_of("/:") == std::string_view::npos;
    return Wrong(arn, is_bucket ? StrCat("the ARN of a bucket; write s3://", Excerpt(resource))
                                : StrCat("not an access point; write it as ", kForm));
  }
  if (parts[3].empty()) {
    return NotSupported(arn,
                        "multi-region access points are not supported, for they require "
                        "signatures of version 4A; use an access point of one region");
  }
  return Status::Ok();
}

Status CheckName(std::string_view arn, std::string_view name) {
  const bool letters_fit = std::ranges::all_of(name, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
  });
  if (name.size() < 3 || name.size() > 50 || !letters_fit || name.front() == '-' ||
      name.back() == '-') {
    return Wrong(arn,
                 "the name of an access point has 3 to 50 lower-case letters, digits and '-', and "
                 "neither begins nor ends with '-'");
  }
  return Status::Ok();
}

}  // namespace

std::string AccessPoint::Arn() const {
  return StrCat("arn:", partition, ":s3:", region, ":", account, ":", kResource, ":", name);
}

bool IsArn(std::string_view bucket) { return bucket.starts_with("arn:"); }

size_t ArnLength(std::string_view text) {
  const std::string_view resource = Split(text)[5];
  const auto begin = static_cast<size_t>(resource.data() - text.data());
  const bool has_slash = resource.starts_with(StrCat(kResource, "/"));
  const size_t after = has_slash ? begin + kResource.size() + 1 : 0;
  return std::min(text.find('/', after), text.size());
}

Result<AccessPoint> ParseAccessPoint(std::string_view arn) {
  const Parts parts = Split(arn);
  SMD_RETURN_IF_ERROR(CheckKind(arn, parts));
  if (!CheckRegion(parts[3]).IsOk() || parts[1] != PartitionOf(parts[3])) {
    return Wrong(arn, "its region is not one of its partition; copy the ARN from the console");
  }
  const bool is_account = parts[4].size() == kAccountDigits &&
                          parts[4].find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_account) return Wrong(arn, "an account has 12 digits");
  const std::string_view rest = parts[5].substr(kResource.size());
  if (!rest.starts_with('/') && !rest.starts_with(':')) {
    return Wrong(arn, StrCat("it lacks a name; write it as ", kForm));
  }
  const std::string_view name = rest.substr(1);
  SMD_RETURN_IF_ERROR(CheckName(arn, name));
  return AccessPoint{std::string(parts[1]), std::string(parts[3]), std::string(parts[4]),
                     std::string(name)};
}

}  // namespace smdebug::aws
