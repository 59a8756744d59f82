# pe_add_plugin(NAME SOURCE...): builds a plugin NAME.so that exports nothing but pe_plugin_entry.
#
# The same function serves the plugins of this tree and, from the installed package, those of others. C and C++ sources
# alike; what is set on the target NAME afterwards (include folders, libraries) works as for any other target.
set(PE_PLUGIN_SYMBOLS ${CMAKE_CURRENT_LIST_DIR}/pe-plugin.map)
function(pe_add_plugin name)
  if(NOT ARGN)
    message(FATAL_ERROR "pe_add_plugin(${name}): no source files")
  endif()
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX ".so"
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  # Arithmetic is pinned (rule 6 of pe/plugin.h): no contraction, no fast-math.
  target_compile_options(${name} PRIVATE -ffp-contract=off -fno-fast-math)
  target_link_libraries(${name} PRIVATE pe-run::plugin m)
  # C++ templates are visible whatever the preset says; the list of symbols hides them, too.
  target_link_options(${name} PRIVATE -Wl,--version-script=${PE_PLUGIN_SYMBOLS})
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${PE_PLUGIN_SYMBOLS})
  # A symbol that is missing is found when the plugin is linked, not when it runs. Sanitizers leave theirs undefined.
  if(NOT PE_RUN_SANITIZE AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  set_property(GLOBAL APPEND PROPERTY PE_PLUGINS ${name})
endfunction()
