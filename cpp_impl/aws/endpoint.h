// Finds the host and path of a bucket.
#pragma once

#include <string>
#include <string_view>

#include "aws/profile.h"
#include "aws/variables.h"
#include "base/result.h"

namespace smdebug::aws {

// The parts of "s3://bucket/a/b".
struct S3Location {
  std::string bucket;  // or AccessPoint::Arn()
  std::string prefix;  // without leading and trailing slashes; may be empty
};

// Accepts the ARN of an access point in place of the bucket, with "/" or ":" before its name.
// Fails with INVALID_ARGUMENT if it is not such a URL, or as CheckBucketName().
Result<S3Location> ParseS3Url(std::string_view url);

// Fails with INVALID_ARGUMENT if S3 does not allow the name; the message states the rule.
// Fails with UNSUPPORTED for directory buckets and Outposts, or as ParseAccessPoint().
Status CheckBucketName(std::string_view bucket);

// kVirtualHost: bucket.host/key.  kPath: host/bucket/key.  kAutomatic: a virtual host, except
// for a custom endpoint, and for a bucket with dots over TLS, which no certificate covers.
enum class Addressing { kAutomatic, kVirtualHost, kPath };

struct S3Settings {
  std::string region;    // empty: unknown; an answer for the bucket contains it
  std::string endpoint;  // "https://host:port"; empty: that of AWS
  Addressing addressing = Addressing::kAutomatic;
  std::string ca_bundle;  // a file; empty: that of the system
  // If false, access points in regions other than `region` are refused.
  bool uses_arn_region = true;
};

// Returns `given`, with each unset member filled in from these sources:
//   region     AWS_REGION, AWS_DEFAULT_REGION, profile
//   endpoint   AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's [services], profile;
//              none of them if AWS_IGNORE_CONFIGURED_ENDPOINT_URLS or the profile disables them
//   addressing the profile's s3 section
//   ca_bundle  AWS_CA_BUNDLE, profile
//   uses_arn_region  AWS_S3_USE_ARN_REGION, the profile's s3 section
// Fails with INVALID_CONFIG if the region cannot be part of a host name, or the addressing
// style is unknown.
Result<S3Settings> FindS3Settings(const S3Settings &given, const Variables &variables,
                                  const Profiles &profiles);

// Returns the endpoint that the environment or the profile sets for a service ("s3", "sts"),
// or "".
std::string ConfiguredEndpoint(std::string_view service, const Variables &variables,
                               const Profiles &profiles);

// Returns AWS_REGION, else AWS_DEFAULT_REGION, else the profile's region, else "".
std::string ConfiguredRegion(const Variables &variables, const Profiles &profiles);

// Fails with INVALID_CONFIG if `region` cannot be part of a host name.
Status CheckRegion(std::string_view region);

// Returns the region's partition as ARNs name it: "aws", "aws-cn", ...
std::string_view PartitionOf(std::string_view region);

// Returns the suffix of the partition's hosts: "amazonaws.com", "amazonaws.com.cn", ...
std::string_view DnsSuffix(std::string_view region);

struct S3Endpoint {
  std::string scheme;  // "http" or "https"
  std::string host;    // the Host header: with the port, unless it is the scheme's default
  // Precedes "/" and the encoded key: the path of the endpoint, then "" or "/bucket".
  std::string path_prefix;
  std::string region;  // the region of signatures; us-east-1 if unknown
  bool is_aws = false;

  bool IsTls() const { return scheme == "https"; }
  // "https://host/bucket"
  std::string Base() const { return scheme + "://" + host + path_prefix; }
};

// Returns the endpoint of a bucket that CheckBucketName() accepts.  Fails with INVALID_CONFIG
// if the configured endpoint is not an http or https URL or has user information or a query,
// if the region is invalid, and if the virtual host would be below an IP address.  An access point
// determines the region, and has no path addressing.
Result<S3Endpoint> ResolveS3Endpoint(std::string_view bucket, const S3Settings &settings);

}  // namespace smdebug::aws
