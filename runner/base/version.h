/* The version of pe-run, as in CMakeLists.txt. */
#ifndef PE_BASE_VERSION_H
#define PE_BASE_VERSION_H

const char *pe_run_version(void);

/* Changes with every source that decides a number and with the way it is compiled: 16 hexadecimal digits, made by the
 * build. Results that were kept under another one are not taken for this one's. */
const char *pe_numeric_version(void);

#endif
