#include "storage/doctor.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "aws/s3_objects.h"
#include "base/strings.h"
#include "storage/s3_store.h"
#include "storage/store.h"

namespace smdebug::storage {
namespace {

constexpr std::string_view kContent = "written by smdebug to see whether it can; safe to remove\n";
// The clock skew that S3 tolerates, less a safety margin.
constexpr double kTolerableSkew = 300;

class Examination {
 public:
  // Returns false if the check failed.
  bool Try(std::string name, const std::function<Status(std::string *finding)> &attempt) {
    std::string finding;
    Status status = attempt(&finding);
    const bool is_ok = status.IsOk();
    checks_.push_back({std::move(name), std::move(status), std::move(finding)});
    return is_ok;
  }

  bool TryFile(Store &store) {
    const std::string name = StrCat(".smdebug-check-", getpid(), "-",
                                    static_cast<int64_t>(Clock::System().WallSeconds() * 1e6));
    const auto write = [&](std::string *) { return store.WriteText(name, kContent, false); };
    const auto read = [&](std::string *) -> Status {
      SMD_ASSIGN_OR_RETURN(const std::string content, store.ReadText(name));
      return content == kContent ? Status::Ok()
                                 : CorruptData(StrCat(store.Location(), "/", name),
                                               "does not hold what was written to it");
    };
    const auto remove = [&](std::string *) { return store.Remove(name); };
    if (!Try("write", write)) return false;
    if (Try("read", read)) return Try("remove", remove);
    (void)store.Remove(name);  // only the failed read matters
    return false;
  }

  std::vector<Check> Take() { return std::move(checks_); }

 private:
  std::vector<Check> checks_;
};

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

// Returns the folder, or its nearest ancestor that exists.
std::string NearestFolder(const std::string &path) {
  std::filesystem::path nearest = path;
  std::error_code error;
  while (!std::filesystem::exists(nearest, error) && !error && nearest.has_relative_path()) {
    nearest = nearest.parent_path();
  }
  return nearest.string();
}

std::vector<Check> CheckFolder(std::string_view path, const StoreOptions &options,
                               const Logger &logger) {
  Examination examination;
  std::shared_ptr<Store> store;
  const auto address = [&](std::string *finding) -> Status {
    SMD_ASSIGN_OR_RETURN(store, OpenStore(path, options, logger));
    *finding = store->Location();
    const std::string existing = NearestFolder(store->Location());
    if (existing == store->Location()) return Status::Ok();
    *finding += StrCat(", which does not exist: recording would create it; tried in ", existing);
    SMD_ASSIGN_OR_RETURN(store, OpenStore(existing, options, logger));
    return Status::Ok();
  };
  if (examination.Try("address", address)) examination.TryFile(*store);
  return examination.Take();
}

}  // namespace

std::vector<Check> CheckStore(std::string_view path, const StoreOptions &options,
                              const Logger &logger) {
  path = Trim(path);
  return path.starts_with("s3://") ? CheckS3(path, options, logger)
                                   : CheckFolder(path, options, logger);
}

}  // namespace smdebug::storage
