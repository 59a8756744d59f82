#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int hash_failed(struct error *err) {
  return error_set(err, ERROR_INTERNAL, "libcrypto cannot compute SHA-256");
}

static int hash_finish(EVP_MD_CTX *context, char out[HASH_TEXT], struct error *err) {
  static const char DIGITS[] = "0123456789abcdef";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (EVP_DigestFinal_ex(context, digest, &length) != 1 || length != (HASH_TEXT - 1) / 2) {
    return hash_failed(err);
  }
  for (unsigned i = 0; i < length; i++) {
    out[2 * i] = DIGITS[digest[i] >> 4];
    out[2 * i + 1] = DIGITS[digest[i] & 15];
  }
  out[HASH_TEXT - 1] = '\0';
  return 0;
}

int hash_bytes(const void *bytes, size_t count, char out[HASH_TEXT], struct error *err) {
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  int status;
  if (!context || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1 || EVP_DigestUpdate(context, bytes, count) != 1) {
    status = hash_failed(err);
  } else {
    status = hash_finish(context, out, err);
  }
  EVP_MD_CTX_free(context);
  return status;
}

static int hash_descriptor(int descriptor, const char *path, char out[HASH_TEXT], struct error *err) {
  int status = 0;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  if (!context || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1) {
    status = hash_failed(err);
    goto free_context;
  }
  unsigned char piece[1 << 16];
  for (;;) {
    ssize_t got = read(descriptor, piece, sizeof piece);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      status = error_set(err, ERROR_FILE_READ, "%s: %s", path, strerror(errno));
      goto free_context;
    }
    if (got == 0) {
      break;
    }
    if (EVP_DigestUpdate(context, piece, (size_t)got) != 1) {
      status = hash_failed(err);
      goto free_context;
    }
  }
  status = hash_finish(context, out, err);
free_context:
  EVP_MD_CTX_free(context);
  return status;
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
