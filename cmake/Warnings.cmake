# Target smdebug_warnings: the warnings for all C++ code; they are errors only for developers.
add_library(smdebug_warnings INTERFACE)
target_compile_options(smdebug_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast -Wnon-virtual-dtor>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  $<$<BOOL:${SMDEBUG_DEVELOPER}>:-Werror>)
