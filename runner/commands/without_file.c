#include "commands/without_file.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static bool has_key(const struct key_table *table, const char *key, size_t length) {
  for (size_t i = 0; i < table->count; i++) {
    if (strlen(table->keys[i].key) == length && !strncmp(table->keys[i].key, key, length)) {
      return true;
    }
  }
  return false;
}

/* "lengths=[128]" as "extrapolation.lengths=[128]"; what is no plain key of the experiment stays as it is. */
static char *full_override(const struct experiment_info *info, const char *word, struct error *err) {
  struct text text = {0};
  if (has_key(info->keys, word, strcspn(word, "="))) {
    text_printf(&text, "%s.", info->id);
  }
  text_append(&text, word);
  return text_take(&text, err);
}

static char *config_of(const struct experiment_info *info, const char *const *words, size_t n_words,
                       struct error *err) {
  struct text text = {0};
  size_t schemes = 0;
  /* Orders are those of a text with an end; six tokens are the most of which all are tried. */
  bool orders = !strcmp(info->id, "equivariance");
  text_printf(&text, "model:\n  random: {heads: 4, head_dim: 64, d_model: 256%s}\nschemes:\n",
              orders ? ", length: 6" : "");
  for (size_t i = 0; i < n_words; i++) {
    if (!strchr(words[i], '=')) {
      text_printf(&text, "  - %s\n", words[i]);
      schemes++;
    }
  }
  if (schemes == 0) {
    text_free(&text);
    error_set(err, ERROR_USAGE, "%s: no scheme named; as in `pe-run %s rope alibi`", info->id, info->id);
    return NULL;
  }
  bool asks = has_key(info->keys, "train_length", strlen("train_length"));
  text_printf(&text, "experiments:\n  - %s: {%s}\n", info->id, asks ? "train_length: 128" : "");
  return text_take(&text, err);
}

int without_file_new(const struct experiment *experiment, const char *const *words, size_t n_words,
                     struct without_file *out, struct error *err) {
  *out = (struct without_file){0};
  out->text = config_of(&experiment->info, words, n_words, err);
  out->overrides = out->text ? memory_new(n_words + 1, sizeof *out->overrides, "arguments", err) : NULL;
  int status = out->overrides ? 0 : (int)err->code;
  for (size_t i = 0; !status && i < n_words; i++) {
    if (strchr(words[i], '=')) {
      out->overrides[out->n_overrides] = full_override(&experiment->info, words[i], err);
      status = out->overrides[out->n_overrides++] ? 0 : (int)err->code;
    }
  }
  if (status) {
    without_file_free(out);
  }
  return status;
}

void without_file_free(struct without_file *config) {
  for (size_t i = 0; i < config->n_overrides; i++) {
    free(config->overrides[i]);
  }
  free(config->overrides);
  free(config->text);
  *config = (struct without_file){0};
}
