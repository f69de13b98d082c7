#include "profile/leftovers.h"

#include <algorithm>

#include "base/json.h"
#include "base/strings.h"
#include "profile/file_names.h"
#include "storage/growing_file.h"

namespace smdebug::profile {
namespace {

constexpr int kMostNames = 1000;
// Of one folder.
constexpr size_t kMostFiles = 1000;

// Returns a whole number of the object, or 0.
int64_t NumberOf(const JsonValue &object, std::string_view key) {
  const auto value = object.Find(key);
  if (!value || !value->IsNumber()) return 0;
  const auto number = value->Int();
  return number.IsOk() ? *number : 0;
}

std::string_view TakeLine(std::string_view *text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

// What a timeline's lines state.
struct Times {
  int64_t base = 0;
  int64_t last = 0;
  bool has_event = false;

  void Add(const JsonValue &event) {
    if (const auto args = event.Find("args")) {
      base = std::max(base, NumberOf(*args, "start_time_since_epoch_in_micros"));
    }
    const auto type = event.Find("ph");
    if (!type || !type->IsText() || *type->Text() == "M") return;
    has_event = true;
    const int64_t end = NumberOf(event, "ts") + NumberOf(event, "dur");
    last = std::max(last, base + end);
  }
};

using Complete = std::optional<CompletedFile> (*)(std::string_view text);
using NodeOf = std::optional<std::string> (*)(std::string_view temporary_name);
using NameOf = std::string (*)(int64_t stamp, std::string_view node);

Status WriteNew(storage::Store &store, const CompletedFile &file, NameOf name_of,
                const std::string &node) {
  for (int i = 0; i < kMostNames; ++i) {
    const std::string name = name_of(file.stamp + i, node);
    SMD_ASSIGN_OR_RETURN(const bool exists, store.Exists(name));
    if (!exists) return store.WriteText(name, file.text, false);
  }
  return Status(Code::kTrialExists, "all names are taken");
}

void CompleteFolder(storage::Store &store, const std::string &folder, Complete complete,
                    NodeOf node_of, NameOf name_of, const Logger &logger) {
  const auto names = store.List(folder);
  if (!names.IsOk()) return;
  size_t found = 0;
  for (const std::string &name : *names) {
    const auto node = node_of(std::string_view(name).substr(folder.size() + 1));
    if (!node || ++found > kMostFiles) continue;
    const Status done = storage::TakeOver(store, name, [&](std::string_view text) -> Status {
      const std::optional<CompletedFile> file = complete(text);
      if (!file) return Status::Ok();
      logger.Info(StrCat("completed ", name, ", which a killed process had left"));
      return WriteNew(store, *file, name_of, *node);
    });
    if (!done.IsOk()) logger.Warning(StrCat("cannot complete ", name, ": ", done.Message()));
  }
}

}  // namespace

std::optional<CompletedFile> CompleteTimeline(std::string_view text) {
  if (TakeLine(&text) != "[") return std::nullopt;
  CompletedFile file;
  Times times;
  while (!text.empty()) {
    std::string_view line = TakeLine(&text);
    if (line.ends_with(',')) line.remove_suffix(1);
    const auto document = JsonDocument::Parse(line);
    if (!document.IsOk() || !document->Root().IsObject()) break;
    times.Add(document->Root());
    file.text.append(file.text.empty() ? "[\n" : ",\n").append(line);
  }
  if (!times.has_event) return std::nullopt;
  file.text.append("\n]");
  file.stamp = times.last;
  return file;
}

std::optional<CompletedFile> CompleteSystemFile(std::string_view text) {
  CompletedFile file;
  while (text.find('\n') != std::string_view::npos) {
    const std::string_view line = TakeLine(&text);
    const auto document = JsonDocument::Parse(line);
    if (!document.IsOk()) break;
    const auto time = document->Root().Find("Timestamp");
    if (!time || !time->IsNumber()) break;
    if (file.text.empty()) {
      const auto seconds = time->Number();
      if (!seconds.IsOk() || !(*seconds >= 0 && *seconds < 1e10)) break;
      file.stamp = static_cast<int64_t>(*seconds) / 60 * 60;
    }
    file.text.append(line).push_back('\n');
  }
  if (file.text.empty()) return std::nullopt;
  return file;
}

void CompleteLeftovers(storage::Store &store, const Logger &logger) {
  CompleteFolder(store, "framework", CompleteTimeline, NodeOfTimeline, TimelineName, logger);
  CompleteFolder(store, "system", CompleteSystemFile, NodeOfSystem, SystemName, logger);
}

}  // namespace smdebug::profile
