# Toolchain file: cross-compiles for 64-bit ARM with Debian's compiler, against the folder that
# tools/sysroot.sh fills.  Tests run under QEMU.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(SMDEBUG_SYSROOT "$ENV{SMDEBUG_SYSROOT}" CACHE PATH "The folder that tools/sysroot.sh has filled")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SMDEBUG_SYSROOT)
if(NOT EXISTS "${SMDEBUG_SYSROOT}/made_from")
  message(FATAL_ERROR "SMDEBUG_SYSROOT is \"${SMDEBUG_SYSROOT}\", which tools/sysroot.sh has not "
    "filled.  Run\n  tools/sysroot.sh arm64 FOLDER\nand pass -DSMDEBUG_SYSROOT=FOLDER.")
endif()
set(CMAKE_SYSROOT ${SMDEBUG_SYSROOT})

# Programs are those of this machine; everything else is the target's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${SMDEBUG_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${SMDEBUG_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${SMDEBUG_SYSROOT}/usr/share/pkgconfig)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${SMDEBUG_SYSROOT})
