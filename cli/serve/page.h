// The files of the page in page/, which the build embeds in the program.
#pragma once

#include <span>
#include <string_view>

namespace smdebug::cli::serve {

struct PageFile {
  std::string_view path;  // "/" or "/name"
  std::string_view type;
  std::string_view bytes;
};

std::span<const PageFile> PageFiles();

}  // namespace smdebug::cli::serve
