#include "aws/endpoint.h"

#include <algorithm>
#include <array>
#include <vector>

#include "aws/access_point.h"
#include "base/json.h"
#include "base/strings.h"
#include "net/uri.h"

namespace smdebug::aws {
namespace {

constexpr std::string_view kDefaultRegion = "us-east-1";

struct Partition {
  std::string_view prefix;  // of its regions
  std::string_view name;    // in ARNs
  std::string_view suffix;
};
// All partitions but "aws".
constexpr std::array<Partition, 7> kPartitions = {{{"cn-", "aws-cn", "amazonaws.com.cn"},
                                                   {"us-gov-", "aws-us-gov", "amazonaws.com"},
                                                   {"eusc-", "aws-eusc", "amazonaws.eu"},
                                                   {"us-iso-", "aws-iso", "c2s.ic.gov"},
                                                   {"us-isob-", "aws-iso-b", "sc2s.sgov.gov"},
                                                   {"eu-isoe-", "aws-iso-e", "cloud.adc-e.uk"},
                                                   {"us-isof-", "aws-iso-f", "csp.hci.ic.gov"}}};

bool IsLowerOrDigit(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
}

bool IsIpv4Like(std::string_view host) {
  return !host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

Status WrongBucket(std::string_view bucket, std::string_view rule) {
  return InvalidArgument(StrCat("bucket '", Excerpt(bucket), "': ", rule));
}

// Fails with UNSUPPORTED for names that S3 reserves for other kinds of buckets.
Status CheckKind(std::string_view bucket) {
  constexpr std::string_view kExpress =
      "directory buckets (S3 Express) are not supported; use a general-purpose bucket";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kKinds = {
      {{"--x-s3", kExpress},
       {"--xa-s3", kExpress},
       {"--op-s3", "S3 on Outposts is not supported; use a bucket or an access point of S3"},
       {".mrap",
        "multi-region access points are not supported, for they require signatures of version 4A; "
        "use a bucket or an access point of one region"}}};
  for (const auto &[suffix, reason] : kKinds) {
    if (bucket.ends_with(suffix)) {
      return Unsupported(StrCat("bucket '", Excerpt(bucket), "': ", reason));
    }
  }
  return Status::Ok();
}

// Returns a bucket's name, or an access point in the one form that S3Location has.
Result<std::string> CheckedBucket(std::string_view bucket) {
  SMD_RETURN_IF_ERROR(CheckBucketName(bucket));
  if (!IsArn(bucket)) return std::string(bucket);
  SMD_ASSIGN_OR_RETURN(const AccessPoint point, ParseAccessPoint(bucket));
  return point.Arn();
}

Result<Addressing> ParseAddressing(std::string_view text) {
  const std::string lower = ToLower(text);
  if (lower == "auto") return Addressing::kAutomatic;
  if (lower == "virtual") return Addressing::kVirtualHost;
  if (lower == "path") return Addressing::kPath;
  return InvalidConfig(
      StrCat("s3 addressing_style: '", Excerpt(text), "' is unknown; use auto, virtual or path"));
}

std::string UpperCase(std::string_view text) {
  std::string out(text);
  for (char &letter : out) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return out;
}

// Returns the server of all buckets in a region.
Result<net::Uri> ServerOf(const S3Settings &settings, std::string_view region) {
  if (settings.endpoint.empty()) {
    return net::ParseUri(StrCat("https://s3.", region, ".", DnsSuffix(region)));
  }
  auto uri = net::ParseUri(settings.endpoint);
  const std::string advice = "; write it as https://host or http://host:port";
  if (!uri.IsOk()) {
    return InvalidConfig(StrCat("S3 endpoint: ", uri.GetStatus().Message(), advice));
  }
  if (uri->has_user_info || !uri->query.empty()) {
    return InvalidConfig(
        StrCat("S3 endpoint ", uri->HostAndPort(), ": must not contain a user or a query", advice));
  }
  return uri;
}

bool UsesPath(std::string_view bucket, const S3Settings &settings, const net::Uri &server) {
  if (settings.addressing != Addressing::kAutomatic) {
    return settings.addressing == Addressing::kPath;
  }
  const bool has_dots = bucket.find('.') != std::string_view::npos;
  return !settings.endpoint.empty() || (has_dots && server.IsTls());
}

bool IsAddress(const net::Uri &server) {
  return server.host.starts_with('[') || IsIpv4Like(server.host);
}

Result<S3Endpoint> ResolveAccessPoint(const AccessPoint &point, const S3Settings &settings) {
  const std::string name = StrCat("access point ", point.Arn());
  if (settings.addressing == Addressing::kPath) {
    return InvalidConfig(StrCat(name, ": access points have no path addressing; set it to auto"));
  }
  if (!settings.uses_arn_region && settings.region != point.region) {
    return InvalidConfig(StrCat(name, ": its region is not the configured one (",
                                settings.region.empty() ? "none" : settings.region,
                                "), and use_arn_region is false"));
  }
  SMD_ASSIGN_OR_RETURN(const net::Uri server, ServerOf(settings, point.region));
  if (IsAddress(server)) {
    return InvalidConfig(StrCat("S3 endpoint ", server.HostAndPort(),
                                ": an IP address has no access points; use a host name"));
  }
  S3Endpoint endpoint;
  endpoint.scheme = server.scheme;
  endpoint.is_aws = settings.endpoint.empty();
  endpoint.host =
      StrCat(point.Label(), ".",
             endpoint.is_aws ? StrCat("s3-accesspoint.", point.region, ".", DnsSuffix(point.region))
                             : server.Authority());
  endpoint.path_prefix = server.path;
  while (endpoint.path_prefix.ends_with('/')) endpoint.path_prefix.pop_back();
  endpoint.region = point.region;
  return endpoint;
}

const Partition *FindPartition(std::string_view region) {
  const auto *const found = std::ranges::find_if(kPartitions, [&](const Partition &partition) {
    return region.starts_with(partition.prefix);
  });
  return found == kPartitions.end() ? nullptr : found;
}

}  // namespace

Result<S3Location> ParseS3Url(std::string_view url) {
  constexpr std::string_view kScheme = "s3://";
  if (!url.starts_with(kScheme)) {
    return InvalidArgument(
        StrCat("'", Excerpt(url), "' is not an S3 location; write s3://bucket/prefix"));
  }
  const std::string_view rest = url.substr(kScheme.size());
  const size_t end = IsArn(rest) ? ArnLength(rest) : std::min(rest.find('/'), rest.size());
  SMD_ASSIGN_OR_RETURN(std::string bucket, CheckedBucket(rest.substr(0, end)));
  std::string_view prefix = rest.substr(end);
  while (prefix.starts_with('/')) prefix.remove_prefix(1);
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  return S3Location{std::move(bucket), std::string(prefix)};
}

Status CheckBucketName(std::string_view bucket) {
  if (IsArn(bucket)) return ParseAccessPoint(bucket).GetStatus();
  SMD_RETURN_IF_ERROR(CheckKind(bucket));
  if (bucket.size() < 3 || bucket.size() > 63) {
    return WrongBucket(bucket, "a name has 3 to 63 characters");
  }
  const bool letters_fit = std::ranges::all_of(
      bucket, [](char letter) { return IsLowerOrDigit(letter) || letter == '-' || letter == '.'; });
  if (!letters_fit) {
    return WrongBucket(bucket, "only lower-case letters, digits, '-' and '.' may be in a name");
  }
  if (!IsLowerOrDigit(bucket.front()) || !IsLowerOrDigit(bucket.back())) {
    return WrongBucket(bucket, "a name begins and ends with a letter or digit");
  }
  if (bucket.find("..") != std::string_view::npos) {
    return WrongBucket(bucket, "a name must not contain '..'");
  }
  if (IsIpv4Like(bucket) && std::ranges::count(bucket, '.') == 3) {
    return WrongBucket(bucket, "a name may not look like an IP address");
  }
  return Status::Ok();
}

Status CheckRegion(std::string_view region) {
  const bool letters_fit = std::ranges::all_of(
      region, [](char letter) { return IsLowerOrDigit(letter) || letter == '-'; });
  const bool fits = !region.empty() && region.size() <= 63 && letters_fit &&
                    region.front() != '-' && region.back() != '-';
  if (fits) return Status::Ok();
  return InvalidConfig(StrCat("region '", Excerpt(region),
                              "' is not valid: a region has lower-case letters, digits and '-', "
                              "as in us-east-1"));
}

std::string_view DnsSuffix(std::string_view region) {
  const Partition *partition = FindPartition(region);
  return partition == nullptr ? "amazonaws.com" : partition->suffix;
}

std::string_view PartitionOf(std::string_view region) {
  const Partition *partition = FindPartition(region);
  return partition == nullptr ? "aws" : partition->name;
}

std::string ConfiguredRegion(const Variables &variables, const Profiles &profiles) {
  for (const char *name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (auto region = variables.Find(name)) return *std::move(region);
  }
  return profiles.Find(profiles.Selected(), "region").value_or("");
}

std::string ConfiguredEndpoint(std::string_view service, const Variables &variables,
                               const Profiles &profiles) {
  const std::optional<std::string> ignore =
      profiles.Find(profiles.Selected(), "ignore_configured_endpoint_urls");
  if (variables.IsTrue("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) return {};
  if (!variables.Find("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") && ignore &&
      ToLower(*ignore) == "true") {
    return {};
  }
  if (auto own = variables.Find(StrCat("AWS_ENDPOINT_URL_", UpperCase(service)))) {
    return *std::move(own);
  }
  if (auto common = variables.Find("AWS_ENDPOINT_URL")) return *std::move(common);
  if (auto own = profiles.FindForService(service, "endpoint_url")) return *std::move(own);
  return profiles.Find(profiles.Selected(), "endpoint_url").value_or("");
}

Result<S3Settings> FindS3Settings(const S3Settings &given, const Variables &variables,
                                  const Profiles &profiles) {
  S3Settings settings = given;
  if (settings.region.empty()) settings.region = ConfiguredRegion(variables, profiles);
  if (!settings.region.empty()) SMD_RETURN_IF_ERROR(CheckRegion(settings.region));
  if (settings.endpoint.empty()) settings.endpoint = ConfiguredEndpoint("s3", variables, profiles);
  if (settings.ca_bundle.empty()) {
    const auto bundle = variables.Find("AWS_CA_BUNDLE");
    settings.ca_bundle = variables.ExpandHome(
        bundle ? *bundle : profiles.Find(profiles.Selected(), "ca_bundle").value_or(""));
  }
  const auto own_region = variables.Find("AWS_S3_USE_ARN_REGION");
  const auto any_region = own_region ? own_region : profiles.FindNested("s3", "use_arn_region");
  if (any_region && ToLower(*any_region) == "false") settings.uses_arn_region = false;
  const auto style = profiles.FindNested("s3", "addressing_style");
  if (settings.addressing == Addressing::kAutomatic && style) {
    SMD_ASSIGN_OR_RETURN(settings.addressing, ParseAddressing(*style));
  }
  return settings;
}

Result<S3Endpoint> ResolveS3Endpoint(std::string_view bucket, const S3Settings &settings) {
  if (IsArn(bucket)) {
    SMD_ASSIGN_OR_RETURN(const AccessPoint point, ParseAccessPoint(bucket));
    return ResolveAccessPoint(point, settings);
  }
  S3Endpoint endpoint;
  endpoint.region = settings.region.empty() ? kDefaultRegion : settings.region;
  SMD_RETURN_IF_ERROR(CheckRegion(endpoint.region));
  SMD_ASSIGN_OR_RETURN(const net::Uri server, ServerOf(settings, endpoint.region));
  endpoint.scheme = server.scheme;
  endpoint.host = server.Authority();
  endpoint.is_aws = settings.endpoint.empty();
  endpoint.path_prefix = server.path;
  while (endpoint.path_prefix.ends_with('/')) endpoint.path_prefix.pop_back();
  if (UsesPath(bucket, settings, server)) {
    endpoint.path_prefix.append("/").append(bucket);
    return endpoint;
  }
  if (IsAddress(server)) {
    return InvalidConfig(StrCat("S3 endpoint ", server.HostAndPort(),
                                ": an IP address has no virtual hosts; choose path addressing"));
  }
  endpoint.host = StrCat(bucket, ".", endpoint.host);
  return endpoint;
}

}  // namespace smdebug::aws
