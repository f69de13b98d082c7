# The libraries the engine is built from; each has its reason in docs/adr.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson>=1.7)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8>=10.40)
pkg_check_modules(HIGHWAY REQUIRED IMPORTED_TARGET libhwy>=1.0)
# Before 1.4.0, nested messages were packed into temporary buffers: no payload by reference.
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c>=1.4.0)
find_program(PROTOC_C protoc-c REQUIRED)
