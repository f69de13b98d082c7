# Runs during an installation.  Lists the installed files in the folder RECORDS, in one file for
# each place; the first line is the place.
get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
set(place "$ENV{DESTDIR}${prefix}")
list(TRANSFORM CMAKE_INSTALL_MANIFEST_FILES PREPEND "$ENV{DESTDIR}" OUTPUT_VARIABLE files)
string(SHA1 name "${place}")
if(EXISTS "${RECORDS}/${name}")
  # Keep the files of an earlier installation, of another component or an older build.
  file(STRINGS "${RECORDS}/${name}" earlier)
  list(POP_FRONT earlier)
  list(APPEND files ${earlier})
endif()
list(REMOVE_DUPLICATES files)
list(JOIN files "\n" files)
file(WRITE "${RECORDS}/${name}" "${place}\n${files}\n")
