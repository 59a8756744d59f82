#include "jobs/scheme_packet.h"

#include "base/memory.h"

#include <string.h>

static void put_key(struct packet *packet, const struct key_spec *key) {
  packet_put_text(packet, key->key);
  packet_put_text(packet, key->doc);
  packet_put_number(packet, key->type);
  packet_put_number(packet, key->flags);
  packet_put_real(packet, key->min);
  packet_put_real(packet, key->max);
  packet_put_text(packet, key->fallback);
  size_t count = 0;
  while (key->choices && key->choices[count]) {
    count++;
  }
  packet_put_number(packet, key->choices != NULL);
  packet_put_texts(packet, key->choices, count);
  packet_put_number(packet, key->list_min);
  packet_put_number(packet, key->list_max);
}

static void put_tensor(struct packet *packet, const struct scheme_tensor_info *tensor) {
  packet_put_text(packet, tensor->name);
  packet_put_text(packet, tensor->doc);
  packet_put_number(packet, (uint64_t)tensor->init);
  packet_put_number(packet, tensor->flags);
  packet_put_real(packet, tensor->init_a);
  packet_put_real(packet, tensor->init_b);
}

void packet_put_scheme(struct packet *packet, const struct scheme_info *info) {
  packet_put_text(packet, info->id);
  packet_put_text(packet, info->title);
  packet_put_text(packet, info->reference);
  packet_put_text(packet, info->plugin_name);
  packet_put_text(packet, info->plugin_version);
  packet_put_text(packet, info->path);
  packet_put_text(packet, info->sha256);
  packet_put_number(packet, info->changed_fp_state);
  packet_put_number(packet, info->version);
  packet_put_number(packet, info->sites);
  packet_put_number(packet, info->traits);
  packet_put_text(packet, info->params.name);
  packet_put_text(packet, info->params.doc);
  packet_put_number(packet, info->params.count);
  for (size_t i = 0; i < info->params.count; i++) {
    put_key(packet, &info->params.keys[i]);
  }
  packet_put_number(packet, info->n_tensors);
  for (size_t i = 0; i < info->n_tensors; i++) {
    put_tensor(packet, &info->tensors[i]);
  }
}

/* A text of the packet as a string of its own. */
static int take_text(struct packet *packet, const char **out, struct error *err) {
  const char *text = packet_text(packet);
  *out = text ? memory_copy_text(text, err) : NULL;
  return text && !*out ? (int)err->code : 0;
}

static int take_choices(struct packet *packet, struct key_spec *key, struct error *err) {
  bool any = packet_number(packet) != 0;
  size_t count = packet_count(packet);
  const char **choices = any ? memory_new(count + 1, sizeof *choices, "choices of a parameter", err) : NULL;
  if (any && !choices) {
    return err->code;
  }
  key->choices = choices;
  for (size_t i = 0; any && i < count; i++) {
    if (take_text(packet, &choices[i], err)) {
      return err->code;
    }
    packet->failed = packet->failed || !choices[i];
  }
  return 0;
}

static int take_key(struct packet *packet, struct key_spec *key, struct error *err) {
  if (take_text(packet, &key->key, err) || take_text(packet, &key->doc, err)) {
    return err->code;
  }
  key->type = (enum key_type)packet_number(packet);
  key->flags = (unsigned)packet_number(packet);
  key->min = packet_real(packet);
  key->max = packet_real(packet);
  if (take_text(packet, &key->fallback, err) || take_choices(packet, key, err)) {
    return err->code;
  }
  key->list_min = (size_t)packet_number(packet);
  key->list_max = (size_t)packet_number(packet);
  /* What the planner relies on: a plugin's parameter has a name and is of one of five types. */
  packet->failed = packet->failed || !key->key || !key->doc || key->type > KEY_REAL_LIST || key->type == KEY_TEXT ||
                   (key->type == KEY_CHOICE && !key->choices);
  return 0;
}

static int take_params(struct packet *packet, struct scheme_info *info, struct error *err) {
  if (take_text(packet, &info->params.name, err) || take_text(packet, &info->params.doc, err)) {
    return err->code;
  }
  size_t count = packet_count(packet);
  struct key_spec *keys = memory_new(count, sizeof *keys, "parameters of a scheme", err);
  info->params.keys = keys;
  for (size_t i = 0; keys && i < count && !packet->failed; i++) {
    info->params.count = i + 1;
    if (take_key(packet, &keys[i], err)) {
      return err->code;
    }
  }
  return keys ? 0 : (int)err->code;
}

static int take_tensors(struct packet *packet, struct scheme_info *info, struct error *err) {
  size_t count = packet_count(packet);
  info->tensors = memory_new(count, sizeof *info->tensors, "tensors of a scheme", err);
  for (size_t i = 0; info->tensors && i < count && !packet->failed; i++) {
    struct scheme_tensor_info *tensor = &info->tensors[i];
    info->n_tensors = i + 1;
    if (take_text(packet, &tensor->name, err) || take_text(packet, &tensor->doc, err)) {
      return err->code;
    }
    tensor->init = (int)packet_number(packet);
    tensor->flags = (unsigned)packet_number(packet);
    tensor->init_a = packet_real(packet);
    tensor->init_b = packet_real(packet);
    packet->failed = packet->failed || !tensor->name || !tensor->doc;
  }
  return info->tensors ? 0 : (int)err->code;
}

static int take_scheme(struct packet *packet, struct scheme_info *info, struct error *err) {
  const char **const texts[] = {&info->id,          &info->title,          &info->reference,
                                &info->plugin_name, &info->plugin_version, &info->path};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (take_text(packet, texts[i], err)) {
      return err->code;
    }
    packet->failed = packet->failed || !*texts[i];
  }
  const char *sha256 = packet_text(packet);
  packet->failed = packet->failed || !sha256 || strlen(sha256) >= sizeof info->sha256;
  if (!packet->failed) {
    memcpy(info->sha256, sha256, strlen(sha256) + 1);
  }
  info->changed_fp_state = packet_number(packet) != 0;
  info->version = (uint32_t)packet_number(packet);
  info->sites = (uint32_t)packet_number(packet);
  info->traits = (uint32_t)packet_number(packet);
  int status = take_params(packet, info, err);
  return status ? status : take_tensors(packet, info, err);
}

int packet_scheme(struct packet *packet, struct scheme_info *info, struct error *err) {
  *info = (struct scheme_info){0};
  int status = take_scheme(packet, info, err);
  if (!status && packet->failed) {
    status = error_set(err, ERROR_INTERNAL, "a scheme's description from another process is not whole");
  }
  if (status) {
    scheme_info_clear(info);
  }
  return status;
}
