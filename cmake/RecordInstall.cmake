# Part of an installation: writes down the files installed, in the folder RECORDS, in a file
# for each place, whose first line is the place.
get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
set(place "$ENV{DESTDIR}${prefix}")
list(TRANSFORM CMAKE_INSTALL_MANIFEST_FILES PREPEND "$ENV{DESTDIR}" OUTPUT_VARIABLE files)
string(SHA1 name "${place}")
if(EXISTS "${RECORDS}/${name}")
  # Of an earlier installation, of another component or by an older build.
  file(STRINGS "${RECORDS}/${name}" earlier)
  list(POP_FRONT earlier)
  list(APPEND files ${earlier})
endif()
list(REMOVE_DUPLICATES files)
list(JOIN files "\n" files)
file(WRITE "${RECORDS}/${name}" "${place}\n${files}\n")
