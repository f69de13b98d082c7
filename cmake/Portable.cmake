# Toolchain file: cross-compiles packages that need nothing but glibc 2.17 or later, with the
# compiler and the static libraries that tools/static_libraries.sh has built for one architecture.
set(SMDEBUG_STATIC_LIBRARIES "$ENV{SMDEBUG_STATIC_LIBRARIES}" CACHE PATH
  "The folder that tools/static_libraries.sh has filled")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SMDEBUG_STATIC_LIBRARIES)
if(NOT EXISTS "${SMDEBUG_STATIC_LIBRARIES}/made_from")
  message(FATAL_ERROR "SMDEBUG_STATIC_LIBRARIES is \"${SMDEBUG_STATIC_LIBRARIES}\", "
    "which tools/static_libraries.sh has not filled.  Run\n"
    "  tools/static_libraries.sh SYSTEM FOLDER\nand pass -DSMDEBUG_STATIC_LIBRARIES=FOLDER.")
endif()
file(STRINGS "${SMDEBUG_STATIC_LIBRARIES}/made_from" made_from LIMIT_COUNT 1)
string(REGEX MATCH "^[a-z0-9_]+" CMAKE_SYSTEM_PROCESSOR "${made_from}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER "${SMDEBUG_STATIC_LIBRARIES}/bin/clang")
set(CMAKE_CXX_COMPILER "${SMDEBUG_STATIC_LIBRARIES}/bin/clang++")
set(CMAKE_AR "${SMDEBUG_STATIC_LIBRARIES}/bin/ar" CACHE FILEPATH "The archiver")
set(CMAKE_RANLIB "${SMDEBUG_STATIC_LIBRARIES}/bin/ranlib" CACHE FILEPATH "The archiver's index")
# The linker removes symbols: this machine's strip may not know the architecture.
set(CMAKE_STRIP ":" CACHE FILEPATH "Nothing is left to remove")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,-s,--gc-sections")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-Wl,-s,--gc-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-s,--gc-sections")
# Linking at each check would build the C++ library again, for those flags.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(SMDEBUG_BUNDLE ON)

# Programs are those of this machine; everything else is the target's.
set(CMAKE_FIND_ROOT_PATH "${SMDEBUG_STATIC_LIBRARIES}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} "${SMDEBUG_STATIC_LIBRARIES}/lib/pkgconfig")
set(ENV{PKG_CONFIG_PATH} "")
