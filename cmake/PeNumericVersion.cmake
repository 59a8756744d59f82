# cmake -DFOLDER=... -DSOURCES_FILE=... -DBUILD=... -DOUTPUT=... -P PeNumericVersion.cmake
#
# Writes a header with one number that changes when a source changes that decides a result, or the way it is compiled:
# SHA-256 over names and contents. Results kept under another number are computed again.
file(STRINGS ${SOURCES_FILE} sources)
list(SORT sources)
set(all "${BUILD}\n")
foreach(source IN LISTS sources)
  file(SHA256 ${FOLDER}/${source} hash)
  string(APPEND all "${source} ${hash}\n")
endforeach()
string(SHA256 version "${all}")
string(SUBSTRING ${version} 0 16 version)
set(header "#define PE_NUMERIC_VERSION \"${version}\"\n")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL header)
  file(WRITE ${OUTPUT} ${header})
endif()
