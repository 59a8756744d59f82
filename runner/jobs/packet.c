#include "jobs/packet.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The mark of a text that is NULL, where others have their length. */
static const uint64_t NO_TEXT = UINT64_MAX;

void packet_put_bytes(struct packet *packet, const void *bytes, size_t count) {
  struct error ignored;
  if (packet->failed) {
    return;
  }
  char *data = memory_grow(packet->data, &packet->capacity, packet->length + count, 1, "a message", &ignored);
  if (!data) {
    packet->failed = true;
    return;
  }
  packet->data = data;
  if (count) {
    memcpy(data + packet->length, bytes, count);
  }
  packet->length += count;
}

void packet_put_number(struct packet *packet, uint64_t number) {
  packet_put_bytes(packet, &number, sizeof number);
}

void packet_put_real(struct packet *packet, double real) {
  packet_put_bytes(packet, &real, sizeof real);
}

void packet_put_text(struct packet *packet, const char *text) {
  packet_put_number(packet, text ? strlen(text) : NO_TEXT);
  if (text) {
    packet_put_bytes(packet, text, strlen(text) + 1);
  }
}

void packet_put_texts(struct packet *packet, const char *const *texts, size_t count) {
  packet_put_number(packet, count);
  for (size_t i = 0; i < count; i++) {
    packet_put_text(packet, texts[i]);
  }
}

void packet_put_error(struct packet *packet, const struct error *err) {
  packet_put_number(packet, (uint64_t)err->code);
  packet_put_text(packet, err->text);
}

const void *packet_bytes(struct packet *packet, size_t count) {
  if (packet->failed || count > packet->length - packet->at) {
    packet->failed = true;
    return NULL;
  }
  const void *bytes = packet->data + packet->at;
  packet->at += count;
  return bytes;
}

uint64_t packet_number(struct packet *packet) {
  uint64_t number = 0;
  const void *bytes = packet_bytes(packet, sizeof number);
  if (bytes) {
    memcpy(&number, bytes, sizeof number);
  }
  return number;
}

double packet_real(struct packet *packet) {
  double real = 0;
  const void *bytes = packet_bytes(packet, sizeof real);
  if (bytes) {
    memcpy(&real, bytes, sizeof real);
  }
  return real;
}

size_t packet_count(struct packet *packet) {
  uint64_t count = packet_number(packet);
  if (count > packet->length - packet->at) {
    packet->failed = true;
    return 0;
  }
  return (size_t)count;
}

const char *packet_text(struct packet *packet) {
  uint64_t length = packet_number(packet);
  if (packet->failed || length == NO_TEXT) {
    return NULL;
  }
  if (length >= packet->length - packet->at) {
    packet->failed = true;
    return NULL;
  }
  const char *text = packet_bytes(packet, (size_t)length + 1);
  if (text && memchr(text, '\0', (size_t)length + 1) != text + length) {
    packet->failed = true;
    return NULL;
  }
  return text;
}

const char **packet_texts(struct packet *packet, size_t *count) {
  struct error ignored;
  *count = packet_count(packet);
  const char **texts = packet->failed ? NULL : memory_new(*count + 1, sizeof *texts, "texts", &ignored);
  for (size_t i = 0; texts && i < *count; i++) {
    texts[i] = packet_text(packet);
    packet->failed = packet->failed || !texts[i];
  }
  if (!texts || packet->failed) {
    free(texts);
    packet->failed = true;
    *count = 0;
    return NULL;
  }
  return texts;
}

void packet_error(struct packet *packet, struct error *err) {
  uint64_t code = packet_number(packet);
  const char *text = packet_text(packet);
  bool sound = !packet->failed && code < ERROR_COUNT;
  err->code = sound ? (enum error_code)code : ERROR_INTERNAL;
  snprintf(err->text, sizeof err->text, "%s", text ? text : "");
}

void packet_free(struct packet *packet) {
  free(packet->data);
  *packet = (struct packet){0};
}
