# SMDEBUG_UNITY: one call of the compiler reads many sources, and their common headers once.
option(SMDEBUG_UNITY "Compile groups of sources at once; needs Python" OFF)
if(SMDEBUG_UNITY)
  find_program(PYTHON3 python3 REQUIRED)
endif()

# Replaces the sources in a variable by files that join them.
function(unite variable name)
  if(NOT SMDEBUG_UNITY)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${${variable}})
  execute_process(COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tools/unity_groups.py
    ${CMAKE_CURRENT_BINARY_DIR}/${name} ${${variable}}
    OUTPUT_VARIABLE files COMMAND_ERROR_IS_FATAL ANY)
  string(STRIP "${files}" files)
  string(REPLACE "\n" ";" files "${files}")
  set(${variable} ${files} PARENT_SCOPE)
endfunction()
