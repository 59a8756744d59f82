/* Every file of the folders given, once through the fuzz target. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int replay_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    return 1;
  }
  uint8_t *data = NULL;
  size_t size = 0, capacity = 0;
  for (size_t got = 1; got;) {
    if (size == capacity) {
      capacity = capacity ? 2 * capacity : 65536;
      uint8_t *grown = realloc(data, capacity);
      if (!grown) {
        perror(path);
        break;
      }
      data = grown;
    }
    got = fread(data + size, 1, capacity - size, file);
    size += got;
  }
  fclose(file);
  /* Of the right size, so that a sanitizer sees a read past the end. */
  uint8_t *exact = data && size ? realloc(data, size) : data;
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  return exact ? 0 : 1;
}

int main(int argc, char **argv) {
  int failed = argc < 2;
  for (int i = 1; i < argc; i++) {
    struct dirent **files;
    int count = scandir(argv[i], &files, NULL, alphasort), done = 0;
    if (count < 0) {
      perror(argv[i]);
      return 1;
    }
    for (int j = 0; j < count; j++) {
      char path[4096];
      snprintf(path, sizeof path, "%s/%s", argv[i], files[j]->d_name);
      if (files[j]->d_name[0] != '.') {
        failed += replay_file(path);
        done++;
      }
      free(files[j]);
    }
    free(files);
    printf("%s: %d inputs\n", argv[i], done);
    failed += done == 0;
  }
  return failed != 0;
}
