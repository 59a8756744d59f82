#include "train/state.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "input/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first bytes of a state: what it is, and for what. The digest is of all that follows it. */
struct header {
  char magic[16];
  char digest[HASH_TEXT];
  char key[HASH_TEXT]; /* digest of the key */
  uint64_t step, count;
};

static const char MAGIC[16] = "pe-run state 2";

/* Bytes behind the header: losses, parameters and, unless `finished`, the moments. */
static size_t body_size(size_t count, size_t step, bool finished) {
  return step * sizeof(double) + (finished ? 1 : 3) * count * sizeof(float);
}

static void pack(const struct training_state *state, bool finished, uint8_t *to) {
  size_t block = state->count * sizeof(float), losses = state->step * sizeof(double);
  memcpy(to, state->losses, losses);
  memcpy(to + losses, state->parameters, block);
  if (!finished) {
    memcpy(to + losses + block, state->first, block);
    memcpy(to + losses + 2 * block, state->second, block);
  }
}

static void unpack(const uint8_t *from, bool finished, struct training_state *state) {
  size_t block = state->count * sizeof(float), losses = state->step * sizeof(double);
  memcpy(state->losses, from, losses);
  memcpy(state->parameters, from + losses, block);
  if (!finished) {
    memcpy(state->first, from + losses + block, block);
    memcpy(state->second, from + losses + 2 * block, block);
  }
}

static int digest_of(uint8_t *bytes, size_t size, char digest[HASH_TEXT], struct error *err) {
  size_t from = offsetof(struct header, key);
  return hash_bytes(bytes + from, size - from, digest, err);
}

/* Write all bytes to a new file. */
static int write_new(const char *path, const uint8_t *bytes, size_t size, struct error *err) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  size_t done = 0;
  while (file >= 0 && done < size) {
    ssize_t n = write(file, bytes + done, size - done);
    if (n < 0 && errno != EINTR) {
      break;
    }
    done += n > 0 ? (size_t)n : 0;
  }
  bool failed = file < 0 || done < size || fsync(file);
  int why = errno;
  if (file >= 0) {
    close(file);
  }
  return failed ? error_set(err, ERROR_FILE_WRITE, "%s: %s", path, strerror(why)) : 0;
}

int state_write(const char *path, const char *key, const struct training_state *state, bool finished,
                struct error *err) {
  struct header header = {.step = state->step, .count = state->count};
  size_t size = sizeof header + body_size(state->count, state->step, finished);
  memcpy(header.magic, MAGIC, sizeof MAGIC);
  struct text name = {0};
  text_printf(&name, "%s.new", path);
  char *new_path = text_take(&name, err);
  uint8_t *bytes = new_path ? memory_new(size, 1, "the state of a training", err) : NULL;
  int status = bytes ? hash_bytes(key, strlen(key), header.key, err) : ERROR_MEMORY;
  if (!status) {
    memcpy(bytes, &header, sizeof header);
    pack(state, finished, bytes + sizeof header);
    status = digest_of(bytes, size, header.digest, err);
  }
  if (!status) {
    memcpy(bytes, &header, sizeof header);
    status = write_new(new_path, bytes, size, err);
  }
  if (!status && rename(new_path, path)) {
    status = error_set(err, ERROR_FILE_WRITE, "%s: %s", path, strerror(errno));
  }
  free(bytes);
  free(new_path);
  return status;
}

/* Whether these bytes are a whole state of the key and count, of a training of so many steps. */
static bool is_sound(uint8_t *bytes, size_t size, const char *key_digest, size_t count, size_t steps,
                     struct header *header) {
  char digest[HASH_TEXT];
  struct error ignored;
  if (size < sizeof *header) {
    return false;
  }
  memcpy(header, bytes, sizeof *header);
  return !memcmp(header->magic, MAGIC, sizeof MAGIC) && !memcmp(header->key, key_digest, HASH_TEXT) &&
         header->count == count && header->step <= steps &&
         size == sizeof *header + body_size(count, (size_t)header->step, header->step == steps) &&
         !digest_of(bytes, size, digest, &ignored) && !memcmp(digest, header->digest, HASH_TEXT);
}

int state_read(const char *path, const char *key, size_t steps, struct training_state *state, bool *found,
               struct error *err) {
  *found = false;
  struct error ignored = {0};
  struct header header;
  char digest[HASH_TEXT];
  size_t size;
  int status = hash_bytes(key, strlen(key), digest, err);
  if (status) {
    return status;
  }
  uint8_t *bytes = (uint8_t *)regular_file_bytes(
      path, "the state of a training", sizeof header + body_size(state->count, steps, false), &size, &ignored);
  if (!bytes) {
    return ignored.code == ERROR_MEMORY ? error_set(err, ERROR_MEMORY, "%s", ignored.text) : 0;
  }
  if (is_sound(bytes, size, digest, state->count, steps, &header)) {
    state->step = (size_t)header.step;
    unpack(bytes + sizeof header, state->step == steps, state);
    *found = true;
  }
  free(bytes);
  return 0;
}
