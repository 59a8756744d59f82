/* Messages over a socket: a head of a mark, a type and a length, then a packet. */
#ifndef PE_JOBS_CHANNEL_H
#define PE_JOBS_CHANNEL_H

#include "jobs/packet.h"

struct channel {
  int socket;
  struct packet in; /* bytes that came and were not taken yet */
};

struct message {
  uint32_t type; /* never 0 */
  struct packet body;
};

/* Send a message whole; body may be NULL. 0, ERROR_MEMORY where the packet is not whole, or ERROR_INTERNAL where the
 * other side is gone or does not read. */
int channel_send(struct channel *channel, uint32_t type, const struct packet *body, struct error *err);

enum channel_news { CHANNEL_NOTHING, CHANNEL_MESSAGE, CHANNEL_CLOSED, CHANNEL_SPOILT };

/* The next message, whose body is the caller's to free. `wait`: until one is there; else CHANNEL_NOTHING where none is
 * whole yet. CHANNEL_CLOSED: the other side is gone. CHANNEL_SPOILT: these are no messages, or there is no memory for
 * them. */
enum channel_news channel_receive(struct channel *channel, bool wait, struct message *message);

/* Close the socket, where it is open (>= 0), and forget what came. */
void channel_close(struct channel *channel);

#endif
