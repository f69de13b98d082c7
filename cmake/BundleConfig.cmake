# The static library, which needs nothing but the C library.
if(NOT TARGET smdebug::smdebug_static)
  include(CMakeFindDependencyMacro)
  find_dependency(Threads)
  add_library(smdebug::smdebug_static STATIC IMPORTED)
  get_filename_component(smdebug_library_folder ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
  set_target_properties(smdebug::smdebug_static PROPERTIES
    IMPORTED_LOCATION ${smdebug_library_folder}/libsmdebug.a
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
  get_target_property(smdebug_headers smdebug::smdebug INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(smdebug::smdebug_static INTERFACE ${smdebug_headers})
endif()
