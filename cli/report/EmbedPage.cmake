# Writes OUTPUT, a C++ source that defines what page.h declares.
#
# usage: cmake -DOUTPUT=FILE -DFOLDER=report "-DCHARTS=charts/a.js" "-DSCRIPTS=page/a.js,page/b.js" -P EmbedPage.cmake
function(append name)
  set(bytes "")
  foreach(file IN LISTS ARGN)
    file(READ ${FOLDER}/${file} hex HEX)
    string(APPEND bytes ${hex})
  endforeach()
  # Compilers limit the length of a literal.
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  set(source "${source}constexpr char ${name}Bytes[] = {\n${bytes}};\n"
    "const std::string_view ${name}(${name}Bytes, sizeof(${name}Bytes));\n\n")
  set(source "${source}" PARENT_SCOPE)
endfunction()

string(REPLACE "," ";" charts "${CHARTS}")
string(REPLACE "," ";" scripts "${SCRIPTS}")
set(source "#include \"report/page.h\"\n\nnamespace smdebug::cli::report {\n\n")
append(kPage page/page.html)
append(kChartStyle charts/charts.css)
append(kStyle page/style.css)
append(kChartScript ${charts})
append(kScript ${scripts})
file(WRITE ${OUTPUT} "${source}}  // namespace smdebug::cli::report\n")
