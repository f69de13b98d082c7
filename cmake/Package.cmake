# Installing: library, headers, CMake package, pkg-config file; and taking it back.
include(CMakePackageConfigHelpers)

install(TARGETS smdebug EXPORT smdebugTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/smdebug)
install(EXPORT smdebugTargets NAMESPACE smdebug:: DESTINATION ${package_folder})
file(WRITE ${PROJECT_BINARY_DIR}/smdebugConfig.cmake
  "include(\${CMAKE_CURRENT_LIST_DIR}/smdebugTargets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/smdebugConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/smdebugConfig.cmake
  ${PROJECT_BINARY_DIR}/smdebugConfigVersion.cmake DESTINATION ${package_folder})

# Relocatable: the prefix is found from where the file lies.
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
configure_file(cmake/smdebug.pc.in smdebug.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/smdebug.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

add_custom_target(uninstall COMMENT "Removing what install_manifest.txt lists"
  COMMAND xargs -d "\\n" -a ${PROJECT_BINARY_DIR}/install_manifest.txt rm -fv)
