#include "smdebug/scan.h"

#include "arrow_stream.h"
#include "guard.h"
#include "log_sink.h"
#include "tables/scan.h"

using namespace smdebug;
using namespace smdebug::capi;

struct smd_scan {
  tables::Request request;
};

// `views` point into `items`.
struct smd_partitions {
  explicit smd_partitions(std::vector<tables::Partition> list) : items(std::move(list)) {
    views.reserve(items.size());
    for (const tables::Partition &each : items) {
      views.push_back({sizeof(smd_partition), each.path.c_str(), each.name.c_str(),
                       each.worker.c_str(), each.first, each.end});
    }
  }

  const std::vector<tables::Partition> items;
  std::vector<smd_partition> views;
};

smd_error *smd_scan_new(const char *table, smd_scan **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(table, "table"));
    SMD_ASSIGN_OR_RETURN(const tables::Table known, tables::TableFromName(name));
    *out = new smd_scan{tables::Request(known)};
    return Status::Ok();
  });
}

smd_error *smd_scan_add(smd_scan *scan, const char *option, const char *value) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(scan, "scan"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(option, "option"));
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(value, "value"));
    return scan->request.Add(name, text);
  });
}

smd_error *smd_scan_set_log(smd_scan *scan, smd_log_level level, smd_log_fn log, void *user_data,
                            smd_release_fn destroy) noexcept {
  return Guard([&]() -> Status {
    // First, since `destroy` must be called even if a check fails.
    auto logger = LoggerFromC(level, log, user_data, destroy);
    SMD_RETURN_IF_ERROR(NotNull(scan, "scan"));
    if (!logger.IsOk()) return logger.GetStatus();
    scan->request.logger = *std::move(logger);
    return Status::Ok();
  });
}

smd_error *smd_scan_schema(const smd_scan *scan, ArrowSchema *out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(scan, "scan"));
    ExportSchema(scan->request.Schema(), out);
    return Status::Ok();
  });
}

smd_error *smd_scan_open(const smd_scan *scan, ArrowArrayStream *out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(scan, "scan"));
    SMD_ASSIGN_OR_RETURN(auto rows,
                         tables::OpenScan(std::make_shared<const tables::Request>(scan->request)));
    ExportStream(std::move(rows), out);
    return Status::Ok();
  });
}

smd_error *smd_scan_partitions(const smd_scan *scan, smd_partitions **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(scan, "scan"));
    SMD_ASSIGN_OR_RETURN(auto list, tables::PartitionsOf(scan->request));
    *out = new smd_partitions(std::move(list));
    return Status::Ok();
  });
}

size_t smd_partitions_count(const smd_partitions *list) noexcept {
  return list == nullptr ? 0 : list->views.size();
}

const smd_partition *smd_partitions_get(const smd_partitions *list, size_t index) noexcept {
  return index < smd_partitions_count(list) ? &list->views[index] : nullptr;
}

void smd_partitions_free(smd_partitions *list) noexcept { delete list; }

void smd_scan_free(smd_scan *scan) noexcept { delete scan; }
