#include <cmath>
#include <memory>

#include "aws/s3_objects.h"
#include "base/strings.h"
#include "storage/examination.h"
#include "storage/s3_store.h"

namespace smdebug::storage {
namespace {

// The clock skew that S3 tolerates, less a safety margin.
constexpr double kTolerableSkew = 300;

Status FindClock(aws::S3Client &client, std::string *finding) {
  const double skew = client.Skew();
  if (std::abs(skew) < kTolerableSkew) {
    *finding = "right";
    return Status::Ok();
  }
  return {Code::kClockSkewed,
          StrCat("this machine's clock is ", static_cast<int64_t>(std::abs(skew)), " seconds ",
                 skew > 0 ? "behind" : "ahead of",
                 " the service's; requests are dated by the service's, but set it (chrony, ntpd)")};
}

}  // namespace

std::vector<Check> CheckS3(std::string_view url, const StoreOptions &options,
                           const Logger &logger) {
  Examination examination;
  std::shared_ptr<aws::S3Client> client;
  std::string prefix;
  const auto address = [&](std::string *finding) -> Status {
    SMD_ASSIGN_OR_RETURN(const aws::S3Location location, aws::ParseS3Url(url));
    SMD_ASSIGN_OR_RETURN(client, OpenS3Client(location.bucket, options, logger));
    prefix = location.prefix;
    *finding = client->Endpoint().Base();
    return Status::Ok();
  };
  const auto credentials = [&](std::string *finding) -> Status {
    SMD_ASSIGN_OR_RETURN(const aws::Credentials found, client->Parts().credentials->Get());
    *finding = StrCat("from ", found.source);
    return Status::Ok();
  };
  const auto list = [&](std::string *finding) -> Status {
    aws::ListQuery query{.prefix = prefix.empty() ? prefix : prefix + "/"};
    query.most = 1;
    SMD_ASSIGN_OR_RETURN(const auto keys, aws::ListKeys(*client, query));
    *finding = StrCat("region ", client->Endpoint().region,
                      keys.empty() ? ", nothing is there yet" : ", something is there already");
    return Status::Ok();
  };
  const auto clock = [&](std::string *finding) { return FindClock(*client, finding); };
  if (examination.Try("address", address) && examination.Try("credentials", credentials) &&
      examination.Try("list", list)) {
    examination.Try("clock", clock);
    S3Store store(client, prefix);
    examination.TryFile(store);
  }
  return examination.Take();
}

}  // namespace smdebug::storage
