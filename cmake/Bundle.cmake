# SMDEBUG_BUNDLE: libsmdebug.so depends only on the C and C++ runtime.  It links Debian's static
# libraries, and those built by tools/static_libraries.sh if Debian lacks them.
set(SMDEBUG_STATIC_LIBRARIES "$ENV{SMDEBUG_STATIC_LIBRARIES}" CACHE PATH
  "The folder that tools/static_libraries.sh has filled")
if(NOT EXISTS ${SMDEBUG_STATIC_LIBRARIES}/made_from)
  message(FATAL_ERROR "SMDEBUG_STATIC_LIBRARIES is \"${SMDEBUG_STATIC_LIBRARIES}\", "
    "which tools/static_libraries.sh has not filled.  Run\n"
    "  tools/static_libraries.sh FOLDER\nand pass -DSMDEBUG_STATIC_LIBRARIES=FOLDER.")
endif()
set(made ${SMDEBUG_STATIC_LIBRARIES})
find_library(PCRE2_ARCHIVE libpcre2-8.a REQUIRED)
find_library(SSL_ARCHIVE libssl.a REQUIRED)
find_library(CRYPTO_ARCHIVE libcrypto.a REQUIRED)

function(link_in name)
  set_target_properties(PkgConfig::${name} PROPERTIES INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()
link_in(CJSON ${made}/lib/libcjson.a)
link_in(CRYPTO ${CRYPTO_ARCHIVE} ${CMAKE_DL_LIBS})
link_in(CURL ${made}/lib/libcurl.a ${SSL_ARCHIVE} ${CRYPTO_ARCHIVE} ${CMAKE_DL_LIBS})
link_in(HIGHWAY ${made}/lib/libhwy.a)
link_in(PCRE2 ${PCRE2_ARCHIVE})
if(SMDEBUG_CLI)
  find_library(ZLIB_ARCHIVE libz.a REQUIRED)
  link_in(ZLIB ${ZLIB_ARCHIVE})
  link_in(MICROHTTPD ${made}/lib/libmicrohttpd.a)
  set_target_properties(PkgConfig::MICROHTTPD PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${made}/include)
endif()
set_target_properties(PkgConfig::CURL PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${made}/include)
