#include "storage/doctor.h"

#include <filesystem>
#include <memory>

#include "base/strings.h"
#include "storage/examination.h"
#include "storage/store.h"

namespace smdebug::storage {
namespace {

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
