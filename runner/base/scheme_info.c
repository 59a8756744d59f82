#include "base/scheme_info.h"

#include <stdlib.h>

/* Descriptions are read only for all but their owner. */
static void release(const void *owned) {
  free((void *)(uintptr_t)owned);
}

static void release_key(const struct key_spec *key) {
  release(key->key);
  release(key->doc);
  release(key->fallback);
  for (size_t i = 0; key->choices && key->choices[i]; i++) {
    release(key->choices[i]);
  }
  release(key->choices);
}

void scheme_info_clear(struct scheme_info *info) {
  release(info->id);
  release(info->title);
  release(info->reference);
  for (size_t i = 0; info->params.keys && i < info->params.count; i++) {
    release_key(&info->params.keys[i]);
  }
  release(info->params.keys);
  release(info->params.name);
  release(info->params.doc);
  for (size_t i = 0; info->tensors && i < info->n_tensors; i++) {
    release(info->tensors[i].name);
    release(info->tensors[i].doc);
  }
  free(info->tensors);
  release(info->plugin_name);
  release(info->plugin_version);
  release(info->path);
  *info = (struct scheme_info){0};
}
