/* What a record holds, as one SHA-256: numbers, axes, attributes, status. A record that was written and read back has
 * the same; damage, and what a file cannot give back, shows. */
#ifndef PE_JOBS_RECORD_DIGEST_H
#define PE_JOBS_RECORD_DIGEST_H

#include "base/hash.h"
#include "base/record.h"

/* 0, ERROR_MEMORY or ERROR_INTERNAL. */
int record_digest(const struct record *record, char digest[HASH_TEXT], struct error *err);

#endif
