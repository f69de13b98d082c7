#include "tables/catalogue.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <filesystem>

#include "base/crc32c.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/small_file.h"
#include "base/strings.h"
#include "storage/store.h"

namespace smdebug::tables {
namespace {

constexpr size_t kLargestFile = size_t{256} << 20;
constexpr int64_t kVersion = 2;
// A catalogue that was not written for so long is removed: its folder was, too, or rests.
constexpr std::chrono::hours kLongestRest{24 * 90};
// With fewer new entries, the file is written at the end only.
constexpr size_t kFewNews = 1024;
// What an entry holds after the end marker's version, in order, and before the failure.
constexpr size_t kNumbers = 6;

// Returns the file of a folder's catalogue, or "".
std::string FileOf(const std::string &folder) {
  std::optional<std::string> cache = Environment("XDG_CACHE_HOME");
  if (!cache || !cache->starts_with('/')) {
    const std::optional<std::string> home = Environment("HOME");
    if (!home || !home->starts_with('/')) return "";
    cache = StrCat(*home, "/.cache");
  }
  // The end of the path tells people which folder it is; the checksum tells folders apart.
  constexpr size_t kShown = 40;
  std::string shown = folder.substr(folder.size() - std::min(folder.size(), kShown));
  std::replace_if(
      shown.begin(), shown.end(),
      [](unsigned char c) { return (std::isalnum(c) == 0) && c != '-' && c != '.'; }, '_');
  return StrCat(*cache, "/libsmdebug/catalogue/", shown, "-", Crc32c(AsBytes(folder)), ".json");
}

// Absent numbers are -1: steps and times are not negative.
int64_t Stored(std::optional<int64_t> number) { return number.value_or(-1); }
std::optional<int64_t> Restored(int64_t number) {
  return number < 0 ? std::optional<int64_t>() : number;
}

std::optional<TrialSummary> SummaryFrom(const std::vector<JsonValue> &items) {
  std::array<int64_t, kNumbers> numbers{};
  for (size_t i = 0; i < kNumbers; ++i) {
    const auto number = items[i + 1].Int();
    if (!number.IsOk()) return std::nullopt;
    numbers[i] = *number;
  }
  auto failure = items.back().Text();
  if (!failure.IsOk()) return std::nullopt;
  return TrialSummary{numbers[0],           Restored(numbers[1]), Restored(numbers[2]), numbers[3],
                      Restored(numbers[4]), Restored(numbers[5]), *std::move(failure)};
}

void RemoveOld(const std::filesystem::path &folder) {
  std::error_code error;
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::directory_iterator files(folder, error);
  for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
    std::error_code ignored;
    const auto written = files->last_write_time(ignored);
    const bool is_old = !ignored && files->path().extension() == ".json" &&
                        files->is_regular_file(ignored) && now - written > kLongestRest;
    if (is_old) std::filesystem::remove(files->path(), ignored);
  }
}

}  // namespace

Catalogue::Catalogue(std::string folder) : folder_(std::move(folder)), path_(FileOf(folder_)) {
  if (!path_.empty()) Load();
}

void Catalogue::Load() {
  const auto text = ReadSmallFile(path_, kLargestFile);
  if (!text.IsOk()) return;
  const auto document = JsonDocument::Parse(*text);
  if (!document.IsOk()) return;
  const JsonValue root = document->Root();
  const auto version = root.Find("version");
  const auto folder = root.Find("folder");
  const auto trials = root.Find("trials");
  if (!version || !folder || !trials) return;
  const auto number = version->Int();
  const auto name = folder->Text();
  if (!number.IsOk() || *number != kVersion || !name.IsOk() || *name != folder_) return;
  for (const auto &[trial, entry] : trials->Members()) {
    const std::vector<JsonValue> items = entry.Items();
    if (items.size() != kNumbers + 2) continue;
    const auto marker = items.front().Text();
    const auto summary = SummaryFrom(items);
    if (marker.IsOk() && summary) entries_[trial] = {*marker, *summary};
  }
}

const TrialSummary *Catalogue::Find(const std::string &trial, std::string_view marker) const {
  const auto found = entries_.find(trial);
  const bool is_valid = found != entries_.end() && found->second.marker == marker;
  return is_valid ? &found->second.summary : nullptr;
}

void Catalogue::Note(const std::string &trial, std::string marker, const TrialSummary &summary) {
  if (const TrialSummary *known = Find(trial, marker); known && *known == summary) return;
  entries_[trial] = {std::move(marker), summary};
  ++news_;
  // Others profit from a long listing before it ends.
  if (news_ >= std::max(kFewNews, entries_.size() / 4)) Save();
}

Catalogue::~Catalogue() {
  try {
    Save();
  } catch (const std::exception &) {
    // Memory is missing: the next listing makes the catalogue again.
  }
}

void Catalogue::Save() {
  if (news_ == 0 || path_.empty()) return;
  news_ = 0;
  JsonWriter json;
  json.BeginObject();
  json.Key("version");
  json.Int(kVersion);
  json.Key("folder");
  json.Text(folder_);
  json.Key("trials");
  json.BeginObject();
  for (const auto &[trial, entry] : entries_) {
    const TrialSummary &of = entry.summary;
    json.Key(trial);
    json.BeginArray();
    json.Text(entry.marker);
    for (const int64_t number : {of.steps, Stored(of.first_step), Stored(of.last_step), of.workers,
                                 Stored(of.first_time), Stored(of.last_time)}) {
      json.Int(number);
    }
    json.Text(of.failure);
    json.EndArray();
  }
  json.EndObject();
  json.EndObject();
  // The store replaces the file as a whole.  Without the catalogue, only time is lost.
  const std::filesystem::path path(path_);
  const auto store = storage::OpenStore(path.parent_path().string());
  if (store.IsOk()) (void)(*store)->WriteText(path.filename().string(), json.Written(), false);
  RemoveOld(path.parent_path());
}

}  // namespace smdebug::tables
