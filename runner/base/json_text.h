/* JSON as text. jansson's own json_dumps leaves out what it has no memory for inside of an object and says nothing. */
#ifndef PE_BASE_JSON_TEXT_H
#define PE_BASE_JSON_TEXT_H

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>

/* The whole of `json` as jansson's `flags` have it, to be freed. NULL with ERROR_MEMORY, also where json is NULL. */
char *json_to_text(const json_t *json, size_t flags, struct error *err);

#endif
