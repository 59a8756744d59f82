/* Values in a row of bytes, for messages between processes of one machine and one binary. What is taken out may come
 * from a process that a plugin has spoilt: nothing is read past the end and nothing is believed. */
#ifndef PE_JOBS_PACKET_H
#define PE_JOBS_PACKET_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as {0}. */
struct packet {
  char *data;
  size_t length, capacity;
  size_t at;   /* how far it has been read */
  bool failed; /* no memory to put more, or what was asked for is not there: everything after it is 0, "" or NULL */
};

void packet_put_number(struct packet *packet, uint64_t number);
void packet_put_real(struct packet *packet, double real);
void packet_put_bytes(struct packet *packet, const void *bytes, size_t count);
void packet_put_text(struct packet *packet, const char *text); /* NULL is kept as such */
void packet_put_texts(struct packet *packet, const char *const *texts, size_t count);
void packet_put_error(struct packet *packet, const struct error *err);

uint64_t packet_number(struct packet *packet);
double packet_real(struct packet *packet);

/* A number of things of at least one byte each that are still to come: never more than there are bytes left. */
size_t packet_count(struct packet *packet);

/* The next `count` bytes, or NULL; and a text, NULL where NULL was put. They live as long as the packet. */
const void *packet_bytes(struct packet *packet, size_t count);
const char *packet_text(struct packet *packet);

/* Texts as they were put: an array ended by NULL, whose texts live as long as the packet; the array is to be freed.
 * NULL with failed set. */
const char **packet_texts(struct packet *packet, size_t *count);

void packet_error(struct packet *packet, struct error *err);

void packet_free(struct packet *packet);

#endif
