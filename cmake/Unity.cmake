# SMDEBUG_UNITY: one call of the compiler reads many sources, and their common headers once.
option(SMDEBUG_UNITY "Compile groups of sources at once; needs Python" OFF)
if(SMDEBUG_UNITY)
  # pip names its own Python.
  find_program(PYTHON3 NAMES ${Python_EXECUTABLE} python3 REQUIRED)
endif()

# Replaces the sources in a variable by files that join them.
function(unite variable name)
  if(NOT SMDEBUG_UNITY)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${${variable}})
  execute_process(COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tools/unity_groups.py
    ${CMAKE_CURRENT_BINARY_DIR}/${name} ${${variable}}
    OUTPUT_VARIABLE files COMMAND_ERROR_IS_FATAL ANY)
  string(STRIP "${files}" files)
  string(REPLACE "\n" ";" files "${files}")
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

# SMDEBUG_PRECOMPILED: the headers of the standard library that most sources include are read once for all of them.
option(SMDEBUG_PRECOMPILED "Precompile headers of the standard library" OFF)

# Gives a target the precompiled headers of another, which may be itself.
function(precompile_headers target owner)
  if(NOT SMDEBUG_PRECOMPILED)
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <charconv> <cmath> <cstring> <functional>
      <map> <memory> <mutex> <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()
