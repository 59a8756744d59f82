/* SHA-256, by nettle: OpenSSL's library takes longer to load than everything here to be hashed. */
#ifndef PE_BASE_HASH_H
#define PE_BASE_HASH_H

#include "base/error.h"

#include <stddef.h>

enum { HASH_TEXT = 65 }; /* 64 lower-case hexadecimal digits and the NUL */

/* Digest of bytes that come in pieces: hash_new, hash_add as often as needed, hash_finish, which releases it and may be
 * called at any time (hash NULL after an error: only *err is kept). */
struct hash;
struct hash *hash_new(struct error *err);
void hash_add(struct hash *hash, const void *bytes, size_t count);
int hash_finish(struct hash *hash, char out[HASH_TEXT], struct error *err);

/* Digest of `count` bytes. 0 or ERROR_MEMORY. */
int hash_bytes(const void *bytes, size_t count, char out[HASH_TEXT], struct error *err);

/* Digest of a regular file's bytes, read in pieces. 0 or ERROR_FILE_READ, naming the path. */
int hash_file(const char *path, char out[HASH_TEXT], struct error *err);

#endif
