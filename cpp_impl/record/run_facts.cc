#include "record/run_facts.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/small_file.h"
#include "base/strings.h"

namespace smdebug::record {
namespace {

namespace fs = std::filesystem;

constexpr int kMostParents = 64;

bool IsCommit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<std::string> FirstLineOf(const fs::path &file) {
  const auto text = ReadSmallFile(file.string());
  if (!text.IsOk()) return std::nullopt;
  return text->substr(0, text->find_first_of("\r\n"));
}

// Returns the folder with a working tree's own files: ".git", or the one that a file of this name
// points to.
std::optional<fs::path> GitFolder(const fs::path &tree) {
  const fs::path git = tree / ".git";
  std::error_code ignored;
  if (fs::is_directory(git, ignored)) return git;
  constexpr std::string_view kPointer = "gitdir: ";
  const auto line = FirstLineOf(git);
  if (!line || !line->starts_with(kPointer)) return std::nullopt;
  return tree / line->substr(kPointer.size());  // an absolute path replaces `tree`
}

std::optional<std::string> FindPacked(const fs::path &folder, std::string_view reference) {
  const auto packed = ReadSmallFile((folder / "packed-refs").string());
  if (!packed.IsOk()) return std::nullopt;
  const std::string end = StrCat(" ", reference, "\n");
  const size_t place = packed->find(end);
  if (place == std::string::npos) return std::nullopt;
  const size_t line = packed->rfind('\n', place);
  const size_t begin = line == std::string::npos ? 0 : line + 1;
  return packed->substr(begin, place - begin);
}

std::optional<std::string> HeadOf(const fs::path &git) {
  const auto head = FirstLineOf(git / "HEAD");
  constexpr std::string_view kReference = "ref: ";
  if (!head || !head->starts_with(kReference)) return head;
  const std::string reference = head->substr(kReference.size());
  // Branches of an added working tree are those of the repository.
  const auto common = FirstLineOf(git / "commondir");
  const fs::path folder = common ? git / *common : git;
  if (auto loose = FirstLineOf(folder / reference)) return loose;
  return FindPacked(folder, reference);
}

}  // namespace

std::optional<std::string> CommitOf(std::string_view folder) {
  std::error_code failed;
  fs::path tree = fs::absolute(fs::path(folder), failed);
  if (failed) return std::nullopt;
  tree = tree.lexically_normal();
  for (int i = 0; i < kMostParents; ++i) {
    if (const auto git = GitFolder(tree)) {
      auto commit = HeadOf(*git);
      return commit && IsCommit(*commit) ? commit : std::nullopt;
    }
    const fs::path parent = tree.parent_path();
    if (parent == tree) break;
    tree = parent;
  }
  return std::nullopt;
}

std::optional<std::string> HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return std::nullopt;
  return name.data();
}

}  // namespace smdebug::record
