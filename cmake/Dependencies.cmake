# The libraries the engine is built from; each has its reason in docs/adr.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/reader.h REQUIRED)
find_program(PROTOC_C protoc-c REQUIRED)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson>=1.7.13)
pkg_check_modules(HIGHWAY REQUIRED IMPORTED_TARGET libhwy>=1.0)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8>=10.40)
# Before 1.4.0, nested messages were packed into temporary buffers: no payload by reference.
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c>=1.4.0)

# Linked in where there is a static library, so that a host's own copy cannot clash with it.
foreach(library IN ITEMS PCRE2:pcre2-8 PROTOBUF_C:protobuf-c)
  string(REPLACE ":" ";" library ${library})
  list(GET library 0 variable)
  list(GET library 1 name)
  find_library(${variable}_STATIC lib${name}.a)
  if(${variable}_STATIC)
    set_property(TARGET PkgConfig::${variable} PROPERTY
      INTERFACE_LINK_LIBRARIES ${${variable}_STATIC})
  endif()
endforeach()
