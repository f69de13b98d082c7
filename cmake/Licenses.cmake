# license_files: the licenses of all linked or compiled code.  Install them with the library.
set(license_files ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/cmake/debian/copyright)
if(SMDEBUG_BUNDLE)
  file(GLOB bundled_licenses ${SMDEBUG_STATIC_LIBRARIES}/licenses/*.txt)
  list(APPEND license_files ${bundled_licenses})
endif()
