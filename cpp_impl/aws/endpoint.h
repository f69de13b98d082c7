// Where a bucket is reached.
#pragma once

#include <string>
#include <string_view>

#include "aws/profile.h"
#include "aws/variables.h"
#include "base/result.h"

namespace smdebug::aws {

// "s3://bucket/a/b".
struct S3Location {
  std::string bucket;
  std::string prefix;  // without slashes at its ends; may be empty
};

// INVALID_ARGUMENT if it is no such URL, or CheckBucketName() refuses the bucket.
Result<S3Location> ParseS3Url(std::string_view url);

// INVALID_ARGUMENT, with the rule that is broken, for what S3 lets nobody call a bucket;
// UNSUPPORTED for access points and directory buckets.
Status CheckBucketName(std::string_view bucket);

// Virtual host: bucket.host/key.  Path: host/bucket/key.  Automatic: virtual host, but
// path for an endpoint of one's own, and for a bucket with dots over TLS, which no
// certificate covers.
enum class Addressing { kAutomatic, kVirtualHost, kPath };

struct S3Settings {
  std::string region;    // empty: not known; the bucket's own answer tells
  std::string endpoint;  // "https://host:port"; empty: AWS's own
  Addressing addressing = Addressing::kAutomatic;
  std::string ca_bundle;  // a file; empty: the system's
};

// Fills in what `given` leaves open.
//   region     AWS_REGION, AWS_DEFAULT_REGION, profile
//   endpoint   AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's [services], profile;
//              none of them if AWS_IGNORE_CONFIGURED_ENDPOINT_URLS or the profile says so
//   addressing the profile's s3 section
//   ca_bundle  AWS_CA_BUNDLE, profile
// INVALID_CONFIG for a region that cannot be part of a host name or an addressing style
// that is none.
Result<S3Settings> FindS3Settings(const S3Settings &given, const Variables &variables,
                                  const Profiles &profiles);

// An endpoint that the environment or the profile sets for a service ("s3", "sts"), or "".
std::string ConfiguredEndpoint(std::string_view service, const Variables &variables,
                               const Profiles &profiles);

// AWS_REGION, AWS_DEFAULT_REGION, the profile's, or "".
std::string ConfiguredRegion(const Variables &variables, const Profiles &profiles);

// INVALID_CONFIG for what cannot be part of a host name.
Status CheckRegion(std::string_view region);

// Of the region's partition: "amazonaws.com" or "amazonaws.com.cn".
std::string_view DnsSuffix(std::string_view region);

struct S3Endpoint {
  std::string scheme;  // "http" or "https"
  std::string host;    // with the port, unless it is the scheme's own: the Host header
  // Before "/" and the encoded key: "" or "/bucket", behind the path of the endpoint.
  std::string path_prefix;
  std::string region;  // to sign for; us-east-1 where none is known
  bool is_aws = false;

  bool IsTls() const { return scheme == "https"; }
  // "https://host/bucket"
  std::string Base() const { return scheme + "://" + host + path_prefix; }
};

// Of a bucket that CheckBucketName() accepts.  INVALID_CONFIG for an endpoint that is no
// http or https URL or has user information or a query, for a region that cannot be, and
// for virtual hosts below an IP address.
Result<S3Endpoint> ResolveS3Endpoint(std::string_view bucket, const S3Settings &settings);

}  // namespace smdebug::aws
