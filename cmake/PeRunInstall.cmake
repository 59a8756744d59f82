# What `cmake --install` puts where: the runner finds its plugins, and the configs their data, from their own place, so
# that an installation can be moved. Component `run` is for those who run it, `dev` for those who write plugins.
include(CMakePackageConfigHelpers)

set(PE_RUN_SHARE_DIR ${CMAKE_INSTALL_DATADIR}/pe-run)
set(PE_RUN_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/pe-run)
set(PE_RUN_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- run ----
install(TARGETS pe-run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT run)
get_property(pe_plugins GLOBAL PROPERTY PE_PLUGINS)
if(pe_plugins)
  install(TARGETS ${pe_plugins} LIBRARY DESTINATION ${PE_RUN_PLUGIN_INSTALL_DIR} COMPONENT run)
endif()
# Configs name their data as ../data and their schema as ../docs: the folders stay side by side.
foreach(folder configs data docs)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${PE_RUN_SHARE_DIR} COMPONENT run)
  endif()
endforeach()
# The man pages are what the program, its plugins and docs/config.md say, so they are made once the program is there.
set(PE_RUN_MAN_DIR ${PROJECT_BINARY_DIR}/man)
add_custom_command(OUTPUT ${PE_RUN_MAN_DIR}/pe-run.1 ${PE_RUN_MAN_DIR}/pe-run.yaml.5
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/make-man.sh $<TARGET_FILE:pe-run> ${PROJECT_SOURCE_DIR} ${PROJECT_VERSION}
    ${PE_RUN_MAN_DIR}
  DEPENDS pe-run ${pe_plugins} ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/config.md
    ${PROJECT_SOURCE_DIR}/scripts/make-man.sh ${PROJECT_SOURCE_DIR}/scripts/help-to-man.awk
    ${PROJECT_SOURCE_DIR}/scripts/markdown-to-man.awk ${PROJECT_SOURCE_DIR}/scripts/wrap-man.awk
  COMMENT "Man pages" VERBATIM)
add_custom_target(man_pages ALL DEPENDS ${PE_RUN_MAN_DIR}/pe-run.1 ${PE_RUN_MAN_DIR}/pe-run.yaml.5)
install(FILES ${PE_RUN_MAN_DIR}/pe-run.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT run)
install(FILES ${PE_RUN_MAN_DIR}/pe-run.yaml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT run)
# Completion, where the shells look for it.
install(FILES ${PROJECT_SOURCE_DIR}/completion/pe-run.bash RENAME pe-run
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT run)
install(FILES ${PROJECT_SOURCE_DIR}/completion/_pe-run DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
  COMPONENT run)
install(FILES ${PROJECT_SOURCE_DIR}/completion/pe-run.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
  COMPONENT run)
foreach(file README.md LICENSE)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${file})
    install(FILES ${PROJECT_SOURCE_DIR}/${file} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT run)
  endif()
endforeach()

# ---- dev ----
install(FILES ${PROJECT_SOURCE_DIR}/include/pe/plugin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pe COMPONENT dev)
set_target_properties(pe_plugin_api PROPERTIES EXPORT_NAME plugin)
install(TARGETS pe_plugin_api EXPORT pe-run-targets COMPONENT dev)
install(EXPORT pe-run-targets NAMESPACE pe-run:: DESTINATION ${PE_RUN_CMAKE_DIR} COMPONENT dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pe-run-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/pe-run-config.cmake INSTALL_DESTINATION ${PE_RUN_CMAKE_DIR}
  PATH_VARS CMAKE_INSTALL_BINDIR PE_RUN_PLUGIN_INSTALL_DIR PE_RUN_SHARE_DIR)
# Before 1.0 a minor version may change the contract.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/pe-run-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
# pkg-config works out its prefix from where the file lies.
file(RELATIVE_PATH prefix_from_pkgconfig /${PE_RUN_PKGCONFIG_DIR} /)
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig ${prefix_from_pkgconfig})
configure_file(${PROJECT_SOURCE_DIR}/cmake/pe-run.pc.in ${PROJECT_BINARY_DIR}/package/pe-run.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/pe-run-config.cmake
  ${PROJECT_BINARY_DIR}/package/pe-run-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/PeAddPlugin.cmake ${PROJECT_SOURCE_DIR}/cmake/pe-plugin.map
  DESTINATION ${PE_RUN_CMAKE_DIR} COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${PE_RUN_SHARE_DIR} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/package/pe-run.pc DESTINATION ${PE_RUN_PKGCONFIG_DIR} COMPONENT dev)

# ---- gone again ----
add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
    -P ${PROJECT_SOURCE_DIR}/cmake/PeRunUninstall.cmake VERBATIM)

# ---- packages: `cpack` makes pe-run and pe-run-dev ----
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "the pe-run authors")
set(CPACK_PACKAGE_CONTACT "the pe-run authors <pe-run@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL run dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUN_PACKAGE_NAME pe-run)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME pe-run-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS cmake)
set(CPACK_DEBIAN_RUN_PACKAGE_SECTION science)
# Loaded at run time, where no tool that looks at the program finds it.
set(CPACK_DEBIAN_RUN_PACKAGE_DEPENDS libopenblas0)
# Curves in the terminal and the pictures of a report.
set(CPACK_DEBIAN_RUN_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_RUN_DESCRIPTION "A bench for positional encodings: runner, plugins, configs and data")
set(CPACK_COMPONENT_DEV_DESCRIPTION "A bench for positional encodings: the header and build files for plugins")
include(CPack)
