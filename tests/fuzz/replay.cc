// Feeds a target all files of a folder: replay TARGET FOLDER.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "target.h"

int main(int count, char **arguments) {
  const auto *const target = count == 3 ? smdebug::fuzz::FindTarget(arguments[1]) : nullptr;
  if (target == nullptr) {
    static_cast<void>(std::fputs("replay TARGET FOLDER\n", stderr));
    return 2;
  }
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(arguments[2])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input((std::istreambuf_iterator<char>(file)), {});
    target->run(input);
    ++files;
  }
  static_cast<void>(std::printf("%s: %zu inputs\n", arguments[1], files));
  return files > 0 ? 0 : 1;
}
