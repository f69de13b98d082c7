# Target smdebug_hardening: makes memory bugs harder to exploit (not with sanitizers, which find
# them), and keeps paths of this machine out of the binaries.
add_library(smdebug_hardening INTERFACE)
target_compile_options(smdebug_hardening INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
# Files that are generated there are named in the debug information, and that in the build ID: a build
# folder of another name makes the same bytes.
if(NOT PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build")
  target_compile_options(smdebug_hardening INTERFACE
    $<$<CONFIG:RelWithDebInfo>:-ffile-prefix-map=${PROJECT_BINARY_DIR}=build>)
endif()
if(NOT SMDEBUG_SANITIZE)
  target_compile_options(smdebug_hardening INTERFACE
    -fstack-protector-strong -fstack-clash-protection
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(smdebug_hardening INTERFACE -fcf-protection)
  endif()
endif()
target_link_options(smdebug_hardening INTERFACE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
