# Finds libraries: those that the including project builds itself, for example by FetchContent, and
# else those of the system, by pkg-config.  What is missing is reported at once.
set(missing_libraries "")
set(missing_packages "")

# Defines PkgConfig::<name>.  Further arguments are targets of other projects that have the library.
function(find_module name module version package)
  foreach(target IN LISTS ARGN)
    if(TARGET ${target} AND NOT TARGET PkgConfig::${name})
      add_library(PkgConfig::${name} INTERFACE IMPORTED GLOBAL)
      set_target_properties(PkgConfig::${name} PROPERTIES INTERFACE_LINK_LIBRARIES ${target})
      set(${name}_OF_PROJECT ${target} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  # GLOBAL: a project that includes this one links the static library with them.
  pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${module}>=${version})
  if(NOT ${name}_FOUND)
    remember_missing("${module} >= ${version}" ${package})
  endif()
endfunction()

# Sets the cache variable to the folder that has the header.
function(find_headers variable header package)
  find_path(${variable} ${header})
  if(NOT ${variable})
    remember_missing(${header} ${package})
  endif()
endfunction()

macro(remember_missing what package)
  set(missing_libraries ${missing_libraries} "${what}" PARENT_SCOPE)
  set(missing_packages ${missing_packages} ${package} PARENT_SCOPE)
endmacro()

function(fail_if_missing)
  if(NOT missing_libraries)
    return()
  endif()
  list(JOIN missing_libraries ", " libraries)
  list(JOIN missing_packages " " packages)
  set(smaller "")
  if(SMDEBUG_S3)
    string(CONCAT smaller "\nlibcurl and libcrypto are only needed for trials in buckets and for the program "
      "smdebug: -DSMDEBUG_S3=OFF builds without them (with pip: -Ccmake.define.SMDEBUG_S3=OFF).")
  endif()
  message(FATAL_ERROR "libsmdebug needs these, which were not found: ${libraries}.  On Debian, run\n"
    "  apt install ${packages}\n"
    "or let your project build cJSON, PCRE2 and Highway before it includes libsmdebug, and set "
    "RAPIDJSON_INCLUDE_DIR to the folder that has rapidjson (docs/c.md says how).${smaller}")
endfunction()
