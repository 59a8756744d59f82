# cmake -DFOLDER=... -DOUTPUT=... -P PeEmbedFiles.cmake
#
# Writes a C header with the files of a folder as one table, so that the program has them wherever it is installed:
#   static const struct { const char *path; const char *text; } PE_FILES[] = { {"embed/my_scheme.c", text}, ... };
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT files)
set(texts "")
set(rows "")
set(number 0)
foreach(file IN LISTS files)
  file(READ ${FOLDER}/${file} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n  " bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND texts "static const char pe_file_${number}[] = {\n  ${bytes}0x00};\n")
  string(APPEND rows "    {\"${file}\", pe_file_${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "${texts}static const struct {\n  const char *path;\n  const char *text;\n} PE_FILES[] = {\n${rows}};\n")
