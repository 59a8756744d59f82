# cmake -DPE_RUN=... -DOUTPUT=... -P write_schema.cmake
execute_process(COMMAND ${PE_RUN} schema OUTPUT_VARIABLE schema RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PE_RUN} schema failed: ${status}")
endif()
file(WRITE ${OUTPUT} "${schema}")
