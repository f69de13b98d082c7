// A library built with SMDEBUG_S3=OFF has this file in place of bucket.cc and s3_*.cc, and neither
// the layer `aws` nor `net`.  Everything that names a bucket fails with one sentence.
#include "base/strings.h"
#include "storage/bucket.h"
#include "storage/examination.h"
#include "storage/s3_store.h"
#include "storage/s3_support.h"

namespace smdebug::storage {
namespace {

Status NoS3(std::string_view url) {
  return Unsupported(StrCat(url,
                            ": this library was built without S3; build it with -DSMDEBUG_S3=ON, "
                            "which needs libcurl and OpenSSL, or give a folder"))
      .With("path", std::string(url));
}

// Nobody has a bucket that was not opened.
Status NoBucket() { return NoS3("s3://"); }

}  // namespace

bool HasS3() { return false; }

Result<std::shared_ptr<Store>> S3Store::At(std::string_view url, const StoreOptions &,
                                           const Logger &) {
  return NoS3(url);
}

std::vector<Check> CheckS3(std::string_view url, const StoreOptions &, const Logger &) {
  return {{"address", NoS3(url), ""}};
}

Result<Bucket> Bucket::Open(std::string_view name, const StoreOptions &, const Logger &) {
  return NoS3(StrCat("s3://", name));
}

Result<std::vector<std::string>> Bucket::List(const Query &) const { return NoBucket(); }

Result<std::optional<uint64_t>> Bucket::SizeOf(const std::string &) const { return NoBucket(); }

Result<std::string> Bucket::Read(const std::string &, uint64_t, std::optional<uint64_t>) const {
  return NoBucket();
}

Status Bucket::Write(const std::string &, ByteSpan) const { return NoBucket(); }

Status Bucket::Remove(const std::string &) const { return NoBucket(); }

}  // namespace smdebug::storage
