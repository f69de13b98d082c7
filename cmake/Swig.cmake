# Finds SWIG_EXECUTABLE, of the version that bindings/requirements.txt pins.
file(STRINGS ${PROJECT_SOURCE_DIR}/bindings/requirements.txt pinned REGEX "^swig==")
string(REPLACE "swig==" "" pinned ${pinned})
if(DEFINED ENV{SMDEBUG_SWIG})
  set(SWIG_EXECUTABLE $ENV{SMDEBUG_SWIG} CACHE FILEPATH "The SWIG program" FORCE)
endif()
# pip builds with a program in an environment of its own for each build.
if(NOT EXISTS "${SWIG_EXECUTABLE}")
  unset(SWIG_EXECUTABLE CACHE)
endif()
find_program(SWIG_EXECUTABLE swig REQUIRED)
execute_process(COMMAND ${SWIG_EXECUTABLE} -version OUTPUT_VARIABLE found)
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" found "${found}")
if(NOT found VERSION_EQUAL pinned)
  set(program ${SWIG_EXECUTABLE})
  unset(SWIG_EXECUTABLE CACHE)
  message(FATAL_ERROR "${program} is SWIG ${found}; the bindings require ${pinned}.\n"
    "Install it with `pip install swig==${pinned}` and pass -DSWIG_EXECUTABLE=.")
endif()
