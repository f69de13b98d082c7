# The libraries the engine is built from; each has its reason in docs/adr.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/reader.h REQUIRED)
find_program(PROTOC_C protoc-c REQUIRED)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson>=1.7.13)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto>=3.0)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl>=7.84)
pkg_check_modules(HIGHWAY REQUIRED IMPORTED_TARGET libhwy>=1.0)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8>=10.40)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c>=1.4.0)

# Linked in where there is a static library, so that a host's own copy cannot clash with it.
find_library(PCRE2_STATIC libpcre2-8.a)
if(PCRE2_STATIC)
  set_property(TARGET PkgConfig::PCRE2 PROPERTY INTERFACE_LINK_LIBRARIES ${PCRE2_STATIC})
endif()
