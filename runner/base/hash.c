#include "base/hash.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct hash {
  struct sha256_ctx context;
};

struct hash *hash_new(struct error *err) {
  struct hash *hash = memory_new(1, sizeof *hash, "a digest", err);
  if (hash) {
    sha256_init(&hash->context);
  }
  return hash;
}

void hash_add(struct hash *hash, const void *bytes, size_t count) {
  sha256_update(&hash->context, count, bytes);
}

int hash_finish(struct hash *hash, char out[HASH_TEXT], struct error *err) {
  static const char DIGITS[] = "0123456789abcdef";
  uint8_t digest[SHA256_DIGEST_SIZE];
  if (!hash) {
    return err->code;
  }
  sha256_digest(&hash->context, sizeof digest, digest);
  free(hash);
  for (size_t i = 0; i < sizeof digest; i++) {
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
