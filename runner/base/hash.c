#include "base/hash.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct hash {
  EVP_MD_CTX *context;
  bool failed;
};

struct hash *hash_new(struct error *err) {
  struct hash *hash = memory_new(1, sizeof *hash, "a digest", err);
  if (hash) {
    hash->context = EVP_MD_CTX_new();
    hash->failed = !hash->context || EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) != 1;
  }
  return hash;
}

void hash_add(struct hash *hash, const void *bytes, size_t count) {
  hash->failed = hash->failed || EVP_DigestUpdate(hash->context, bytes, count) != 1;
}

int hash_finish(struct hash *hash, char out[HASH_TEXT], struct error *err) {
  static const char DIGITS[] = "0123456789abcdef";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (!hash) {
    return err->code;
  }
  bool failed =
      hash->failed || EVP_DigestFinal_ex(hash->context, digest, &length) != 1 || length != (HASH_TEXT - 1) / 2;
  EVP_MD_CTX_free(hash->context);
  free(hash);
  if (failed) {
    return error_set(err, ERROR_INTERNAL, "libcrypto cannot compute SHA-256");
  }
  for (unsigned i = 0; i < length; i++) {
    out[2 * i] = DIGITS[digest[i] >> 4];
    out[2 * i + 1] = DIGITS[digest[i] & 15];
  }
  out[HASH_TEXT - 1] = '\0';
  return 0;
}

int hash_bytes(const void *bytes, size_t count, char out[HASH_TEXT], struct error *err) {
  struct hash *hash = hash_new(err);
  if (hash) {
    hash_add(hash, bytes, count);
  }
  return hash_finish(hash, out, err);
}

static int add_all(struct hash *hash, int descriptor, const char *path, struct error *err) {
  unsigned char piece[1 << 16];
  for (;;) {
    ssize_t got = read(descriptor, piece, sizeof piece);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return error_set(err, ERROR_FILE_READ, "%s: %s", path, strerror(errno));
    }
    if (got == 0) {
      return 0;
    }
    hash_add(hash, piece, (size_t)got);
  }
}

static int hash_descriptor(int descriptor, const char *path, char out[HASH_TEXT], struct error *err) {
  struct hash *hash = hash_new(err);
  struct error reading = {0};
  if (hash && add_all(hash, descriptor, path, &reading)) {
    struct error ignored;
    hash_finish(hash, out, &ignored);
    *err = reading;
    return err->code;
  }
  return hash_finish(hash, out, err);
}

int hash_file(const char *path, char out[HASH_TEXT], struct error *err) {
  /* Without O_NONBLOCK a FIFO would wait here for a writer. */
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    return error_set(err, ERROR_FILE_READ, "%s: %s", path, strerror(errno));
  }
  struct stat status;
  int result;
  if (fstat(descriptor, &status) != 0) {
    result = error_set(err, ERROR_FILE_READ, "%s: %s", path, strerror(errno));
  } else if (!S_ISREG(status.st_mode)) {
    result = error_set(err, ERROR_FILE_READ, "%s: not a regular file", path);
  } else {
    result = hash_descriptor(descriptor, path, out, err);
  }
  close(descriptor);
  return result;
}
