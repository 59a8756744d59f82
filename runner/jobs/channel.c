#include "jobs/channel.h"

#include "base/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* "peru" in memory: bytes that a plugin wrote to a descriptor that is not its own do not look like this. */
enum { MARK = 0x75726570, PIECE = 1 << 16, MOST_BYTES = 1 << 28 };

struct head {
  uint32_t mark, type;
  uint64_t length;
};

static int send_all(int socket, const void *bytes, size_t count, struct error *err) {
  const char *next = bytes;
  while (count) {
    ssize_t sent = send(socket, next, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent < 0) {
      return error_set(err, ERROR_INTERNAL, "a process of pe-run cannot be reached: %s", strerror(errno));
    }
    next += sent;
    count -= (size_t)sent;
  }
  return 0;
}

int channel_send(struct channel *channel, uint32_t type, const struct packet *body, struct error *err) {
  if (body && (body->failed || body->length > MOST_BYTES)) {
    return error_set(err, ERROR_MEMORY, "a message to a process of pe-run: memory is not to be had");
  }
  struct head head = {MARK, type, body ? body->length : 0};
  int status = send_all(channel->socket, &head, sizeof head, err);
  return status || !body ? status : send_all(channel->socket, body->data, body->length, err);
}

/* Take the first message out of what came. */
static enum channel_news take(struct channel *channel, struct message *message) {
  struct head head;
  struct packet *in = &channel->in;
  if (in->length < sizeof head) {
    return CHANNEL_NOTHING;
  }
  memcpy(&head, in->data, sizeof head);
  if (head.mark != MARK || !head.type || head.length > MOST_BYTES) {
    return CHANNEL_SPOILT;
  }
  size_t whole = sizeof head + (size_t)head.length;
  if (in->length < whole) {
    return CHANNEL_NOTHING;
  }
  *message = (struct message){.type = head.type};
  packet_put_bytes(&message->body, in->data + sizeof head, (size_t)head.length);
  if (message->body.failed) {
    packet_free(&message->body);
    return CHANNEL_SPOILT;
  }
  memmove(in->data, in->data + whole, in->length - whole);
  in->length -= whole;
  return CHANNEL_MESSAGE;
}

enum channel_news channel_receive(struct channel *channel, bool wait, struct message *message) {
  for (;;) {
    enum channel_news news = take(channel, message);
    if (news != CHANNEL_NOTHING) {
      return news;
    }
    char piece[PIECE];
    ssize_t got = recv(channel->socket, piece, sizeof piece, wait ? 0 : MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return errno == EAGAIN || errno == EWOULDBLOCK ? CHANNEL_NOTHING : CHANNEL_CLOSED;
    }
    if (got == 0) {
      return CHANNEL_CLOSED;
    }
    packet_put_bytes(&channel->in, piece, (size_t)got);
    if (channel->in.failed) {
      return CHANNEL_SPOILT;
    }
  }
}

void channel_close(struct channel *channel) {
  if (channel->socket >= 0) {
    close(channel->socket);
  }
  channel->socket = -1;
  packet_free(&channel->in);
}
