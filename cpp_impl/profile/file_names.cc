#include "profile/file_names.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/small_file.h"
#include "base/strings.h"

namespace smdebug::profile {
namespace {

constexpr const char *kResourceConfig = "/opt/ml/input/config/resourceconfig.json";
constexpr std::string_view kTimeline = "_pythontimeline.json";
constexpr std::string_view kSystem = "_system.json";
constexpr std::string_view kTemporary = ".tmp";
constexpr size_t kLongestNode = 200;

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }

bool IsNodeLetter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || IsDigit(letter) ||
         letter == '-' || letter == '.' || letter == '_';
}

std::string Hour(int64_t seconds) {
  const time_t time = seconds;
  tm parts{};
  std::array<char, 16> text{};
  if (gmtime_r(&time, &parts) == nullptr) return "1970010100";
  return {text.data(), strftime(text.data(), text.size(), "%Y%m%d%H", &parts)};
}

// Returns the name with "-" for each character that a node may not have.
std::string Cleaned(std::string name) {
  for (char &letter : name) {
    if (!IsNodeLetter(letter) || letter == '_') letter = '-';
  }
  return name.substr(0, kLongestNode);
}

// Returns the name that the training service gives to this machine, or nothing.
std::optional<std::string> HostOfService() {
  const auto text = ReadSmallFile(kResourceConfig);
  if (!text.IsOk()) return std::nullopt;
  const auto document = JsonDocument::Parse(*text);
  if (!document.IsOk()) return std::nullopt;
  const auto host = document->Root().Find("current_host");
  if (!host || !host->IsText()) return std::nullopt;
  const auto name = host->Text();
  if (!name.IsOk() || name->empty()) return std::nullopt;
  return *name;
}

std::optional<std::string> NodeOf(std::string_view name, std::string_view ending) {
  if (!name.ends_with(kTemporary)) return std::nullopt;
  name.remove_suffix(kTemporary.size());
  if (!name.ends_with(ending)) return std::nullopt;
  name.remove_suffix(ending.size());
  const size_t mark = name.rfind('_');
  if (mark == std::string_view::npos || !ParseInt(name.substr(mark + 1))) return std::nullopt;
  const std::string_view node = name.substr(0, mark);
  if (!CheckNode(node).IsOk()) return std::nullopt;
  return std::string(node);
}

}  // namespace

std::string TimelineName(int64_t last_us, std::string_view node) {
  last_us = std::clamp<int64_t>(last_us, 0, kLastTime);
  return StrCat("framework/pevents/", Hour(last_us / 1'000'000), "/", last_us, "_", node,
                kTimeline);
}

std::string SystemName(int64_t seconds, std::string_view node) {
  seconds = std::clamp<int64_t>(seconds, 0, kLastTime / 1'000'000);
  return StrCat("system/incremental/", Hour(seconds), "/", ZeroPadded(seconds, 10), ".", node,
                ".json");
}

std::string TimelineTemporaryName(int64_t now_us, std::string_view node) {
  return StrCat("framework/", node, "_", now_us, kTimeline, kTemporary);
}

std::string SystemTemporaryName(int64_t now_us, std::string_view node) {
  return StrCat("system/", node, "_", now_us, kSystem, kTemporary);
}

std::optional<std::string> NodeOfTimeline(std::string_view temporary_name) {
  return NodeOf(temporary_name, kTimeline);
}

std::optional<std::string> NodeOfSystem(std::string_view temporary_name) {
  std::optional<std::string> node = NodeOf(temporary_name, kSystem);
  return node && IsSystemNode(*node) ? node : std::nullopt;
}

Status CheckNode(std::string_view node) {
  if (!node.empty() && node.size() <= kLongestNode &&
      std::all_of(node.begin(), node.end(), IsNodeLetter)) {
    return Status::Ok();
  }
  return InvalidConfig(StrCat("node is '", Excerpt(node),
                              "'; it must be 1 to 200 letters, digits, '-', '.' and '_'"));
}

std::string NodeInNames(std::string_view node) {
  std::string name(node);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string DefaultNode() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string name = HostOfService().value_or(host.data());
  return Cleaned(StrCat(static_cast<int64_t>(getpid()), "-", name.empty() ? "host" : name));
}

std::string DefaultSystemNode() {
  const std::optional<std::string> host = HostOfService();
  return host && IsSystemNode(*host) ? *host : "algo-1";
}

bool IsSystemNode(std::string_view node) {
  if (!node.starts_with("algo-")) return false;
  const std::string_view number = node.substr(5);
  return !number.empty() && number.size() <= 9 &&
         std::all_of(number.begin(), number.end(), IsDigit);
}

}  // namespace smdebug::profile
