# Installs and uninstalls the library, headers, CMake package and pkg-config file.
include(CMakePackageConfigHelpers)

# Component `runtime` is for running programs, `development` for building them.
install(TARGETS smdebug EXPORT smdebugTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/smdebug)
install(EXPORT smdebugTargets NAMESPACE smdebug:: DESTINATION ${package_folder}
  COMPONENT development)
set(SMDEBUG_PC_PRIVATE "")
set(before "")
set(after "")
if(SMDEBUG_BUNDLE)
  add_smdebug_archive()
  file(READ cmake/BundleConfig.cmake after)
  set(SMDEBUG_PC_PRIVATE "Libs.private: -lm -pthread -ldl\n")
elseif(NOT BUILD_SHARED_LIBS)
  set(modules "CJSON libcjson" "HIGHWAY libhwy" "PCRE2 libpcre2-8")
  set(libraries "-lcjson -lpcre2-8 -lhwy")
  if(SMDEBUG_S3)
    list(APPEND modules "CRYPTO libcrypto" "CURL libcurl")
    string(APPEND libraries " -lcurl -lcrypto")
  endif()
  set(STATIC_MODULES "")
  foreach(module IN LISTS modules)
    string(REPLACE " " " REQUIRED IMPORTED_TARGET " arguments ${module})
    string(APPEND STATIC_MODULES "pkg_check_modules(${arguments})\n")
  endforeach()
  configure_file(cmake/StaticConfig.cmake.in StaticConfig.cmake @ONLY)
  file(READ ${PROJECT_BINARY_DIR}/StaticConfig.cmake before)
  # Not Requires.private: the shared libcurl needs nothing of what a static one does.
  set(SMDEBUG_PC_PRIVATE
    "Libs.private: ${libraries} -lstdc++ -lm -pthread -ldl\n")
endif()
file(WRITE ${PROJECT_BINARY_DIR}/smdebugConfig.cmake
  "${before}include(\${CMAKE_CURRENT_LIST_DIR}/smdebugTargets.cmake)\n${after}")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/smdebugConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/smdebugConfig.cmake
  ${PROJECT_BINARY_DIR}/smdebugConfigVersion.cmake DESTINATION ${package_folder}
  COMPONENT development)

# Relocatable: the prefix is derived from the location of the file.
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
configure_file(cmake/smdebug.pc.in smdebug.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/smdebug.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT development)

# Debian's packages install theirs at a place of Debian's.
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  install(FILES ${license_files} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
endif()

if(PROJECT_IS_TOP_LEVEL)
  # Record the installed files for `uninstall`: CMake remembers only the last installation.
  install(CODE "set(RECORDS \"${PROJECT_BINARY_DIR}/installed\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/RecordInstall.cmake\")" ALL_COMPONENTS)
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DRECORDS=${PROJECT_BINARY_DIR}/installed
    -DPREFIX=${CMAKE_INSTALL_PREFIX} -P ${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake VERBATIM)
  include(Debian)
endif()
