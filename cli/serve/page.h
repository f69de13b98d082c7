// The files of the page in page/, which the build embeds in the program.
#pragma once

#include <span>
#include <string_view>

namespace smdebug::cli::serve {

struct PageFile {
  std::string_view path;  // "/" or "/name"
  std::string_view type;
  std::string_view bytes;
  bool is_kept;  // the name changes with the contents, so that browsers may keep the file
};

std::span<const PageFile> PageFiles();

// The file "/".
const PageFile &Page();

}  // namespace smdebug::cli::serve
