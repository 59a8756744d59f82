/* Paths of a config: relative to its folder as written, resolved for use. No function here looks at a file. */
#ifndef PE_CONFIG_PATHS_H
#define PE_CONFIG_PATHS_H

#include "base/error.h"

/* The folder of a file, without a slash at the end: "configs" of "configs/a.yaml", "" of "a.yaml", "/" of "/a.yaml".
 * To be freed; NULL with ERROR_MEMORY. */
char *path_folder(const char *path, struct error *err);

/* `path` as it is where it is absolute or `folder` is "", else folder/path. To be freed; NULL with ERROR_MEMORY. */
char *path_join(const char *folder, const char *path, struct error *err);

/* What to write in a config of `folder` for a resolved path: the inverse of path_join. A path that lies elsewhere is
 * written with "..", found from the names alone and the current folder. To be freed; NULL with ERROR_MEMORY. */
char *path_relative(const char *folder, const char *path, struct error *err);

/* The file's name without folder and without the ending .yaml or .yml. To be freed; NULL with ERROR_MEMORY. */
char *path_stem(const char *path, struct error *err);

#endif
