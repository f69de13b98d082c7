# The Debian packages libsmdebug1, libsmdebug-dev and smdebug, built by CPack for the prefix /usr.
set(SMDEBUG_MAINTAINER "libsmdebug developers <libsmdebug@example.org>" CACHE STRING
  "Who answers for the Debian packages")
set(runtime_package libsmdebug${PROJECT_VERSION_MAJOR})
set(development_package libsmdebug-dev)
set(tools_package smdebug)

# Debian requires the license and a changelog in each package.
find_program(GZIP gzip)
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr" OR NOT GZIP)
  return()
endif()
string(TIMESTAMP date "%a, %d %b %Y 00:00:00 +0000" UTC)
set(debian_folder ${PROJECT_BINARY_DIR}/debian)
configure_file(cmake/debian/changelog.in ${debian_folder}/changelog @ONLY)
execute_process(COMMAND ${GZIP} -9nf changelog WORKING_DIRECTORY ${debian_folder})
foreach(component IN ITEMS runtime development tools)
  install(FILES cmake/debian/copyright ${debian_folder}/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${${component}_package} COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL runtime development tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${SMDEBUG_MAINTAINER}")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SOURCE libsmdebug)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${runtime_package})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# CPack also adds scripts that call ldconfig; Debian requires the trigger.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/triggers)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "recorder of the tensors of a training run - library
Records the tensors of a training run while it runs, into folders or buckets,
reads them back, and judges them by rules: which gradient vanished, at which
step, in which layer.

This package has the shared library that programs run with.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME ${development_package})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${runtime_package} (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "recorder of the tensors of a training run - headers
Records the tensors of a training run while it runs, into folders or buckets,
reads them back, and judges them by rules: which gradient vanished, at which
step, in which layer.

This package has the headers for C and C++, the CMake package and the
pkg-config file.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME ${tools_package})
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${runtime_package} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
# The location of the library while the packages are built.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "recorder of the tensors of a training run - command line
Records the tensors of a training run while it runs, into folders or buckets,
reads them back, and judges them by rules: which gradient vanished, at which
step, in which layer.

This package has the program smdebug, which shows what was recorded, judges it,
compares and verifies it.")
include(CPack)
