/* The version of pe-run, as in CMakeLists.txt. */
#ifndef PE_BASE_VERSION_H
#define PE_BASE_VERSION_H

const char *pe_run_version(void);

#endif
