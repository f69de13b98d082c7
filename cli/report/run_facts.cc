#include "run_facts.h"

#include <ctime>
#include <memory>
#include <vector>

#include "smdebug/scan.h"
#include "text.h"

namespace smdebug::cli::report {
namespace {

constexpr int64_t kSecond = 1'000'000;  // of a timestamp

// Returns the number in the first row of a column of 64 bits, unless it is null.
std::optional<int64_t> FirstOf(const ArrowArray &column) {
  if (column.length == 0) return std::nullopt;
  const auto *const bits = static_cast<const uint8_t *>(column.buffers[0]);
  const auto place = static_cast<size_t>(column.offset);
  const bool is_null = bits != nullptr && (bits[place / 8] >> (place % 8) & 1) == 0;
  if (is_null) return std::nullopt;
  return static_cast<const int64_t *>(column.buffers[1])[place];
}

void ReadFirstBatch(ArrowArrayStream *stream, RunFacts *facts) {
  ArrowArray batch{};
  if (stream->get_next(stream, &batch) != 0 || batch.release == nullptr) return;
  if (batch.n_children == 2) {
    facts->begin = FirstOf(*batch.children[0]);
    facts->end = FirstOf(*batch.children[1]);
  }
  batch.release(&batch);
}

void Ignore(void *, smd_log_level, const char *) {}

void ReadTimes(const Trial &trial, const std::map<std::string, std::string> &options,
               RunFacts *facts) {
  smd_scan *made = nullptr;
  detail::Check(smd_scan_new("trials", &made));
  const std::unique_ptr<smd_scan, void (*)(smd_scan *)> scan(made, smd_scan_free);
  detail::Check(smd_scan_set_log(made, SMD_LOG_ERROR, Ignore, nullptr, nullptr));
  detail::Check(smd_scan_add(made, "path", trial.Path().c_str()));
  detail::Check(smd_scan_add(made, "column", "first_time"));
  detail::Check(smd_scan_add(made, "column", "last_time"));
  for (const auto &[name, value] : options) {
    if (name.starts_with("s3_")) {
      detail::Check(smd_scan_add(made, name.c_str(), value.c_str()));
    }
  }
  ArrowArrayStream stream{};
  detail::Check(smd_scan_open(made, &stream));
  ReadFirstBatch(&stream, facts);
  stream.release(&stream);
}

}  // namespace

std::string RunFacts::Get(const std::string &key) const {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

std::string RunFacts::DurationText() const {
  if (!begin || !end || *end < *begin) return "";
  const int64_t seconds = (*end - *begin) / kSecond;
  if (seconds == 0) return "under 1 s";
  if (seconds < 60) return std::to_string(seconds) + " s";
  const int64_t minutes = seconds / 60;
  if (minutes < 60) return std::to_string(minutes) + " min " + std::to_string(seconds % 60) + " s";
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

std::string RunFacts::BeginText() const {
  if (!begin) return "";
  const std::time_t seconds = *begin / kSecond;
  std::tm utc{};
  if (gmtime_r(&seconds, &utc) == nullptr) return "";
  std::string text(64, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &utc));
  return text;
}

std::string RunFacts::VersionsText() const {
  std::vector<std::string> versions;
  constexpr std::string_view kRun = "run.";
  for (const auto &[key, value] : metadata) {
    const bool is_version = key.starts_with(kRun) && key != "run.host" && key != "run.commit";
    if (!is_version) continue;
    const std::string name = key.substr(kRun.size());
    versions.push_back(name == "library" ? value : name + " " + value);
  }
  return Join(versions, ", ");
}

RunFacts ReadRunFacts(const Trial &trial, const std::map<std::string, std::string> &options,
                      Problems *problems) {
  RunFacts facts;
  problems->Try([&] { facts.metadata = trial.Metadata(); });
  try {
    ReadTimes(trial, options, &facts);
  } catch (const Error &) {  // NOLINT(bugprone-empty-catch): other reads report what is damaged
  }
  return facts;
}

}  // namespace smdebug::cli::report
