/* Bytes as a file in memory: on /dev/shm, where there is one, else in the current folder. */
#ifndef MEMORY_FILE_H
#define MEMORY_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MEMORY_FILE_PATH = 64 };

/* Write the bytes; path is how to open the file, and memory_file_drop ends it. */
static inline void memory_file(const uint8_t *bytes, size_t count, char path[MEMORY_FILE_PATH]) {
  snprintf(path, MEMORY_FILE_PATH, "%spe-run-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "./" : "/dev/shm/");
  int file = mkstemp(path);
  if (file < 0 || write(file, bytes, count) != (ssize_t)count || close(file)) {
    abort();
  }
}

static inline void memory_file_drop(const char *path) {
  if (unlink(path)) {
    abort();
  }
}

#endif
