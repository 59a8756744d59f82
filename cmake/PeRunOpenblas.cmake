# OpenBLAS, loaded at run time (runner/base/blas.h): BLAS_INCLUDE_DIRS, and PE_RUN_OPENBLAS, the name to load it by.
pkg_check_modules(BLAS REQUIRED openblas)
find_library(PE_RUN_OPENBLAS_LIBRARY NAMES openblas HINTS ${BLAS_LIBRARY_DIRS} REQUIRED)
mark_as_advanced(PE_RUN_OPENBLAS_LIBRARY)
execute_process(COMMAND ${CMAKE_READELF} -d ${PE_RUN_OPENBLAS_LIBRARY} OUTPUT_VARIABLE openblas_facts
  COMMAND_ERROR_IS_FATAL ANY)
if(openblas_facts MATCHES "Library soname: \\[([^]]+)\\]")
  set(PE_RUN_OPENBLAS ${CMAKE_MATCH_1})
else()
  set(PE_RUN_OPENBLAS ${PE_RUN_OPENBLAS_LIBRARY})
endif()
