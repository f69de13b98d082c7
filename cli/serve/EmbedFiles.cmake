# Writes OUTPUT, a C++ source that defines what page.h declares.  Each file is "path=file"; the path
# "/index.html" becomes "/".
#
# usage: cmake -DOUTPUT=FILE "-DFILES=/a.js=folder/a.js,/index.html=folder/index.html" -P EmbedFiles.cmake
set(source "#include \"serve/page.h\"\n\n#include <array>\n\nnamespace smdebug::cli::serve {\n"
  "namespace {\n\n")
list(JOIN source "" source)
set(table "")
set(number 0)
string(REPLACE "," ";" files "${FILES}")
foreach(each IN LISTS files)
  string(REGEX MATCH "^([^=]+)=(.*)$" matched "${each}")
  set(path ${CMAKE_MATCH_1})
  file(READ ${CMAKE_MATCH_2} bytes HEX)
  # Compilers limit the length of a literal.
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  set(type "text/javascript; charset=utf-8")
  if(path MATCHES "\\.css$")
    set(type "text/css; charset=utf-8")
  elseif(path MATCHES "\\.html$")
    set(type "text/html; charset=utf-8")
  elseif(path MATCHES "\\.svg$")
    set(type "image/svg+xml")
  endif()
  string(REPLACE "/index.html" "/" path ${path})
  string(APPEND source "constexpr char kBytes${number}[] = {\n${bytes}};\n\n")
  string(APPEND table "    {\"${path}\", \"${type}\", {kBytes${number}, sizeof(kBytes${number})}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "${source}constexpr std::array<PageFile, ${number}> kFiles = {{\n${table}}};\n\n"
  "}  // namespace\n\nstd::span<const PageFile> PageFiles() { return kFiles; }\n\n"
  "}  // namespace smdebug::cli::serve\n")
