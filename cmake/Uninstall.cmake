# Removes the files installed into PREFIX (under DESTDIR of the environment), as the folder
# RECORDS lists them, and the project's own folders that are then empty.
#
# usage: cmake -DRECORDS=BUILD/installed -DPREFIX=PREFIX -P Uninstall.cmake
get_filename_component(prefix "${PREFIX}" ABSOLUTE)
set(place "$ENV{DESTDIR}${prefix}")
string(SHA1 name "${place}")
if(NOT EXISTS "${RECORDS}/${name}")
  set(places "")
  file(GLOB records "${RECORDS}/*")
  foreach(record IN LISTS records)
    file(STRINGS "${record}" known LIMIT_COUNT 1)
    string(APPEND places "\n  ${known}")
  endforeach()
  message(FATAL_ERROR "This build has installed nothing into ${place}.  Give the prefix and the "
    "DESTDIR of an installation; there are:${places}")
endif()

file(STRINGS "${RECORDS}/${name}" files)
list(POP_FRONT files)
set(folders "")
foreach(file IN LISTS files)
  if(EXISTS "${file}" OR IS_SYMLINK "${file}")
    message(STATUS "Removing ${file}")
    file(REMOVE "${file}")
  endif()
  get_filename_component(folder "${file}" DIRECTORY)
  list(APPEND folders "${folder}")
endforeach()

# Deepest folders first.  Shared folders such as include stay.
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING)
foreach(folder IN LISTS folders)
  file(GLOB left LIST_DIRECTORIES true "${folder}/*" "${folder}/.*")
  if("${folder}" MATCHES "/smdebug(/cpp)?(/sys)?$" AND "${left}" STREQUAL "")
    file(REMOVE_RECURSE "${folder}")
  endif()
endforeach()
file(REMOVE "${RECORDS}/${name}")
