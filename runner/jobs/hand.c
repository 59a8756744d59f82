#include "jobs/hand.h"

#include <string.h>

int hand_start(struct hand *hand, const struct process_setting *setting, const struct packet *plugins,
               const struct packet *plan, struct error *err) {
  int status = process_start(setting, &hand->process, err);
  status = status ? status : hand_ask(hand, ASK_PLUGINS, plugins, err);
  status = status ? status : hand_ask(hand, ASK_PLAN, plan, err);
  if (status) {
    hand_dismiss(hand);
  }
  return status;
}

int hand_ask(struct hand *hand, enum ask type, const struct packet *body, struct error *err) {
  if (hand->n_pending == MOST_PENDING) {
    return error_set(err, ERROR_INTERNAL, "a worker is asked more than it can answer");
  }
  hand->pending[hand->n_pending++] = type;
  hand->answered = false;
  hand->failure = (struct error){0};
  return channel_send(&hand->process.channel, type, body, err);
}

bool hand_is_busy(const struct hand *hand) {
  for (size_t i = 0; i < hand->n_pending; i++) {
    if (hand->pending[i] > ASK_PLAN) {
      return true;
    }
  }
  return false;
}

enum ask hand_answers(struct hand *hand) {
  enum ask first = hand->n_pending ? hand->pending[0] : (enum ask)0;
  if (hand->n_pending) {
    hand->n_pending--;
    memmove(hand->pending, hand->pending + 1, hand->n_pending * sizeof *hand->pending);
  }
  return first;
}

void hand_dismiss(struct hand *hand) {
  process_close(&hand->process);
  packet_free(&hand->answer);
  *hand = (struct hand){.process = {.channel = {.socket = -1}}};
}
