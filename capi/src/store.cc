#include "smdebug/store.h"

#include "guard.h"
#include "handles.h"
#include "storage/doctor.h"

using namespace smdebug;
using namespace smdebug::capi;

struct smd_store_report {
  std::vector<storage::Check> checks;
};

smd_error *smd_store_check(const char *path, const smd_hook_options *options,
                           smd_store_report **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const std::string_view place, RequiredText(path, "path"));
    const record::HookOptions defaults;
    const record::HookOptions &given = options == nullptr ? defaults : options->options;
    *out = new smd_store_report{storage::CheckStore(place, given.store_options, given.logger)};
    return Status::Ok();
  });
}

size_t smd_store_report_count(const smd_store_report *report) noexcept {
  return report == nullptr ? 0 : report->checks.size();
}

const char *smd_store_report_name(const smd_store_report *report, size_t index) noexcept {
  return index < smd_store_report_count(report) ? report->checks[index].name.c_str() : "";
}

smd_code smd_store_report_code(const smd_store_report *report, size_t index) noexcept {
  if (index >= smd_store_report_count(report)) return SMD_INVALID_ARGUMENT;
  return static_cast<smd_code>(report->checks[index].status.GetCode());
}

const char *smd_store_report_message(const smd_store_report *report, size_t index) noexcept {
  if (index >= smd_store_report_count(report)) return "";
  const storage::Check &check = report->checks[index];
  return check.status.IsOk() ? check.finding.c_str() : check.status.Message().c_str();
}

void smd_store_report_free(smd_store_report *report) noexcept { delete report; }
