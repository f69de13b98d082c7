# license_files: those of all that is linked or compiled in.  They go wherever the library goes.
set(license_files ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/cmake/debian/copyright)
if(SMDEBUG_BUNDLE)
  file(GLOB bundled_licenses ${SMDEBUG_STATIC_LIBRARIES}/licenses/*.txt)
  list(APPEND license_files ${bundled_licenses})
endif()
