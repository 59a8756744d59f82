#include "config/paths.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *path_folder(const char *path, struct error *err) {
  const char *slash = strrchr(path, '/');
  struct text text = {0};
  text_append_bytes(&text, path, !slash ? 0 : slash == path ? 1 : (size_t)(slash - path));
  return text_take(&text, err);
}

char *path_join(const char *folder, const char *path, struct error *err) {
  struct text text = {0};
  if (folder[0] && path[0] != '/') {
    text_append(&text, folder);
    text_append(&text, folder[strlen(folder) - 1] == '/' ? "" : "/");
  }
  text_append(&text, path);
  return text_take(&text, err);
}

char *path_stem(const char *path, struct error *err) {
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  size_t length = strlen(name);
  if (length > 5 && !strcmp(name + length - 5, ".yaml")) {
    length -= 5;
  } else if (length > 4 && !strcmp(name + length - 4, ".yml")) {
    length -= 4;
  }
  struct text text = {0};
  text_append_bytes(&text, name, length);
  return text_take(&text, err);
}

/* `path` seen from the root, without ".", ".." and double slashes. */
static char *absolute(const char *path, struct error *err) {
  char *current = getcwd(NULL, 0);
  char *whole = path_join(current ? current : "/", path, err);
  free(current);
  if (!whole) {
    return NULL;
  }
  size_t length = 0;
  for (const char *part = whole; *part;) {
    size_t width = strcspn(part, "/");
    if (width == 2 && !memcmp(part, "..", 2)) {
      while (length > 0 && whole[--length] != '/') {
      }
    } else if (width && !(width == 1 && *part == '.')) {
      whole[length++] = '/';
      memmove(whole + length, part, width);
      length += width;
    }
    part += width + (part[width] == '/');
  }
  whole[length] = '\0';
  return whole;
}

/* Length of the leading folders that both have. */
static size_t common_folders(const char *a, const char *b) {
  size_t common = 0;
  for (size_t i = 0;; i++) {
    bool end_a = a[i] == '\0' || a[i] == '/', end_b = b[i] == '\0' || b[i] == '/';
    if (end_a && end_b) {
      common = i;
    }
    if (a[i] != b[i] || a[i] == '\0') {
      return common;
    }
  }
}

char *path_relative(const char *folder, const char *path, struct error *err) {
  size_t length = strlen(folder);
  if (!length) {
    return memory_copy_text(path, err);
  }
  bool slash_at_end = folder[length - 1] == '/';
  if (!strncmp(path, folder, length) && (slash_at_end || path[length] == '/')) {
    return memory_copy_text(path + length + !slash_at_end, err);
  }
  if (path[0] == '/') {
    return memory_copy_text(path, err);
  }
  char *from = absolute(folder, err), *to = from ? absolute(path, err) : NULL;
  struct text text = {0};
  if (to) {
    size_t common = common_folders(from, to);
    for (const char *c = from + common; *c; c++) {
      text_append(&text, *c == '/' ? "../" : "");
    }
    text_append(&text, to[common] == '/' ? to + common + 1 : to + common);
  }
  bool found = to != NULL;
  free(from);
  free(to);
  return found ? text_take(&text, err) : NULL;
}
