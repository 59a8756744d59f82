/* Checks that the same question gets the same bits: again, elsewhere, in another order, cut in another way, from
 * several threads. */
#include "host/check/compute.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Compare with what `first` held; false after a failure or a skip. */
static bool must_equal(struct subject *subject, const struct outputs *first, const struct method *method,
                       const char *claim) {
  struct outputs again = {0};
  char text[400];
  bool computed = compute_or_skip(subject, method, &again, PROBLEM_HOST);
  bool equal = computed && outputs_equal(subject, first, &again, text, sizeof text);
  if (computed && !equal) {
    check_fail(subject->run, "%s: %s", text, claim);
  }
  outputs_free(&again);
  return equal;
}

/* ---- repeat ---- */

static void repeat_each(struct subject *subject) {
  struct outputs first = {0};
  if (compute_or_skip(subject, &(struct method){0}, &first, PROBLEM_HOST)) {
    for (int i = 0; i < 3; i++) {
      if (!must_equal(subject, &first, &(struct method){0}, "the first time against the next")) {
        break;
      }
    }
  }
  /* Another instance, at another address. */
  struct subject other = {0};
  pe_error why;
  if (first.n && !subject->run->variant[0] && !check_failed(subject->run) &&
      subject_open(subject->run, &(struct subject_wish){0}, &other, &why) == PE_OK) {
    must_equal(&other, &first, &(struct method){0}, "one instance against another one");
  }
  if (other.run) {
    subject_close(&other);
  }
  outputs_free(&first);
}

void check_repeat(struct check_run *run) {
  subject_each(run, repeat_each);
}

/* The digest is compared with that of another child, in which everything lies elsewhere. */
void check_addresses(struct check_run *run) {
  struct subject subject;
  if (!subject_require(run, &(struct subject_wish){0}, &subject)) {
    return;
  }
  struct outputs out;
  if (compute_or_skip(&subject, &(struct method){0}, &out, PROBLEM_HOST)) {
    run->verdict->digest = outputs_digest(&out);
  }
  outputs_free(&out);
  subject_close(&subject);
}

/* ---- order ---- */

/* A sequence far away and long, between two equal ones. */
static void order_each(struct subject *subject) {
  struct outputs first = {0}, far = {0};
  struct error err;
  size_t count = subject->n * subject->axes;
  double *pos = memory_new(count, sizeof *pos, "positions", &err);
  double shift = 3000;
  if (subject->domain.max - subject->pos[(subject->n - 1) * subject->axes] < shift) {
    shift = 0; /* then the length alone tells that it is another sequence */
  }
  for (size_t i = 0; pos && i < count; i++) {
    pos[i] = subject->pos[i] + shift;
  }
  const struct method far_away = {.pos = pos, .seq_len = subject->seq_len + 3000};
  if (pos && compute_or_skip(subject, &(struct method){0}, &first, PROBLEM_HOST) &&
      compute_or_skip(subject, &far_away, &far, PROBLEM_HOST)) {
    must_equal(subject, &first, &(struct method){0}, "before against after a longer sequence");
    must_equal(subject, &first, &(struct method){.backwards = true, .rows = 4, .tile_q = 4, .tile_k = 4},
               "in one call against blocks of 4, the last one first");
  }
  outputs_free(&first);
  outputs_free(&far);
  free(pos);
}

void check_order(struct check_run *run) {
  subject_each(run, order_each);
}

/* ---- splits ---- */

/* Blocks of 1, 2, ... rows: the first size that differs is the smallest. */
static void split_rows_each(struct subject *subject) {
  if (!(subject_sites(subject) & (PE_SITE_EMBED | PE_SITE_QK))) {
    check_skip(subject->run, "it has no rows: it acts on scores alone");
    return;
  }
  struct outputs whole = {0};
  if (compute_or_skip(subject, &(struct method){0}, &whole, PROBLEM_HOST)) {
    for (size_t rows = 1; rows < subject->n; rows++) {
      char claim[100];
      snprintf(claim, sizeof claim, "all rows in one call against %zu row%s per call", rows, rows > 1 ? "s" : "");
      if (!must_equal(subject, &whole, &(struct method){.rows = rows}, claim)) {
        break;
      }
    }
  }
  outputs_free(&whole);
}

void check_split_rows(struct check_run *run) {
  subject_each(run, split_rows_each);
}

static void split_heads_each(struct subject *subject) {
  if (!(subject_sites(subject) & PE_SITE_QK)) {
    check_skip(subject->run, "it has no heads: it does not act on q and k");
    return;
  }
  struct outputs whole = {0};
  if (compute_or_skip(subject, &(struct method){0}, &whole, PROBLEM_HOST)) {
    for (size_t heads = 1; heads < subject->shape.n_heads; heads++) {
      char claim[100];
      snprintf(claim, sizeof claim, "all heads in one call against %zu head%s per call", heads, heads > 1 ? "s" : "");
      if (!must_equal(subject, &whole, &(struct method){.heads = heads}, claim)) {
        break;
      }
    }
  }
  outputs_free(&whole);
}

void check_split_heads(struct check_run *run) {
  subject_each(run, split_heads_each);
}

static void split_tiles_each(struct subject *subject) {
  if (!(subject_sites(subject) & PE_SITE_BIAS)) {
    check_skip(subject->run, "it has no tiles: it does not act on scores");
    return;
  }
  struct outputs whole = {0};
  bool equal = compute_or_skip(subject, &(struct method){0}, &whole, PROBLEM_HOST);
  size_t n = subject->n;
  for (size_t i = 0; equal && i < 4 * n; i++) {
    /* 1 x 1, 1 x n, n x 1, then growing blocks. */
    size_t size = 1 + i / 4, kind = i % 4;
    struct method method = {.tile_q = kind == 1 ? n : size, .tile_k = kind == 2 ? n : kind == 3 ? n - size + 1 : size};
    char claim[100];
    snprintf(claim, sizeof claim, "the whole matrix against tiles of %zu queries and %zu keys", method.tile_q,
             method.tile_k);
    equal = must_equal(subject, &whole, &method, claim);
  }
  outputs_free(&whole);
}

void check_split_tiles(struct check_run *run) {
  subject_each(run, split_tiles_each);
}

/* A model that writes token by token asks for one query against all keys, at the length that the full run had. */
static void decode_each(struct subject *subject) {
  struct outputs whole = {0};
  if (compute_or_skip(subject, &(struct method){0}, &whole, PROBLEM_HOST)) {
    must_equal(subject, &whole, &(struct method){.rows = 1, .tile_q = 1, .seq_len = subject->seq_len},
               "the full run against one token at a time");
  }
  outputs_free(&whole);
}

void check_decode(struct check_run *run) {
  subject_each(run, decode_each);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 40 };
static const double SECONDS = 0.2; /* long enough for threads to be interrupted amid their calls */

/* Half of the threads compute the sequence, the other half the same positions in reverse: what one leaves behind for
 * another to find must be another's. */
struct thread_work {
  const struct subject *subject;
  const double *pos;
  const struct outputs *expected;
  size_t number;
  bool failed;
  char text[CHECK_TEXT];
};

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *thread_main(void *context) {
  struct thread_work *work = context;
  double end = seconds_now() + SECONDS;
  for (size_t round = 0; !work->failed && (round < ROUNDS || seconds_now() < end); round++) {
    struct outputs out = {0};
    const struct method method = {
        .plain = true, .pos = work->pos, .rows = 1 + (work->number + round) % 5, .tile_q = 1 + round % 6};
    struct problem problem = compute(work->subject, &method, &out, NULL);
    if (problem.kind != PROBLEM_NONE) {
      snprintf(work->text, sizeof work->text, "%s", problem.text);
      work->failed = true;
    } else {
      work->failed = !outputs_equal(work->subject, work->expected, &out, work->text, sizeof work->text);
    }
    outputs_free(&out);
  }
  return NULL;
}

static void run_threads(struct subject *subject, const double *const pos[2], const struct outputs expected[2]) {
  check_stage(subject->run, "%d threads on one instance", THREADS);
  struct thread_work work[THREADS] = {0};
  pthread_t threads[THREADS];
  size_t started = 0;
  for (; started < THREADS; started++) {
    size_t half = started % 2;
    work[started] =
        (struct thread_work){.subject = subject, .pos = pos[half], .expected = &expected[half], .number = started};
    if (pthread_create(&threads[started], NULL, thread_main, &work[started]) != 0) {
      check_skip(subject->run, "threads cannot be started here");
      break;
    }
  }
  for (size_t i = 0; i < started; i++) {
    pthread_join(threads[i], NULL);
  }
  for (size_t i = 0; i < started; i++) {
    if (work[i].failed) {
      check_fail(subject->run, "%s: one thread alone against %d at once", work[i].text, THREADS);
      break;
    }
  }
}

static void threads_on(struct subject *subject) {
  struct error err;
  size_t n = subject->n, axes = subject->axes;
  double *reversed = memory_new_3d(n, axes, 1, sizeof *reversed, "positions", &err);
  for (size_t i = 0; reversed && i < n; i++) {
    memcpy(reversed + i * axes, subject->pos + (n - 1 - i) * axes, axes * sizeof *reversed);
  }
  struct outputs alone[2] = {0};
  if (reversed && compute_or_skip(subject, &(struct method){0}, &alone[0], PROBLEM_HOST) &&
      compute_or_skip(subject, &(struct method){.pos = reversed}, &alone[1], PROBLEM_HOST)) {
    run_threads(subject, (const double *const[2]){subject->pos, reversed}, alone);
  }
  outputs_free(&alone[0]);
  outputs_free(&alone[1]);
  free(reversed);
}

void check_threads(struct check_run *run) {
  /* With the defaults alone: it takes long, and what the threads share does not depend on parameters. */
  struct subject subject;
  if (subject_require(run, &(struct subject_wish){0}, &subject)) {
    threads_on(&subject);
    subject_close(&subject);
  }
}
