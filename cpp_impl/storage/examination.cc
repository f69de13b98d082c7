#include "storage/examination.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/strings.h"

namespace smdebug::storage {
namespace {

constexpr std::string_view kContent = "written by smdebug to see whether it can; safe to remove\n";

}  // namespace

bool Examination::Try(std::string name,
                      const std::function<Status(std::string *finding)> &attempt) {
  std::string finding;
  Status status = attempt(&finding);
  const bool is_ok = status.IsOk();
  checks_.push_back({std::move(name), std::move(status), std::move(finding)});
  return is_ok;
}

bool Examination::TryFile(Store &store) {
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

}  // namespace smdebug::storage
