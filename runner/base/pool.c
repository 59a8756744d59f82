#include "base/pool.h"

#include "base/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct worker {
  struct pool *pool;
  pthread_t handle;
  unsigned thread;
  unsigned long seen; /* the last round it looked at */
};

/* A round is its number and, in the lowest bits, how many threads take part: both are published at once. */
enum { ROUND_THREADS = 1 << 16 };

struct pool {
  unsigned threads;       /* at most */
  unsigned used;          /* take part in a round */
  unsigned started;       /* exist, with the caller */
  struct worker *workers; /* [threads - 1]: threads 1 .. started - 1; the caller of pool_run is thread 0 */

  /* Sleepers hold the lock when they look at `round` and `busy`; who changes these holds it too, or takes it before
   * waking them. */
  pthread_mutex_t lock;
  pthread_cond_t start, finish;
  atomic_ulong round; /* see ROUND_THREADS; published last, so that who sees it sees the task */
  atomic_uint busy;   /* workers still in this round */
  atomic_bool stop;
  size_t failed_unit; /* lowest unit that failed, SIZE_MAX: none; under the lock */
  struct error error; /* its error */

  atomic_size_t next;  /* unit */
  atomic_bool failing; /* start no new unit */
  size_t units;        /* constant during a round */
  pool_task task;
  void *context;
};

/* Waking a sleeping thread takes 50 us and more. Short jobs come one after the other, so threads look out for the next
 * one for a while before they lie down. */
static const double patience = 200e-6;
enum { LOOKS_PER_TIME = 32 };

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void pause_briefly(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

typedef bool (*pool_sign)(struct pool *pool, unsigned long round);

/* Look for a sign until it is there or patience is at an end; whether it is. */
static bool look_out(pool_sign sign, struct pool *pool, unsigned long round) {
  double begin = seconds_now();
  do {
    for (int look = 0; look < LOOKS_PER_TIME; look++) {
      if (sign(pool, round)) {
        return true;
      }
      pause_briefly();
    }
  } while (seconds_now() - begin < patience);
  return sign(pool, round);
}

static void note_failure(struct pool *pool, size_t unit, const struct error *error) {
  atomic_store(&pool->failing, true);
  pthread_mutex_lock(&pool->lock);
  if (unit < pool->failed_unit) {
    pool->failed_unit = unit;
    pool->error = *error;
  }
  pthread_mutex_unlock(&pool->lock);
}

/* Units below a failed one have all been started before it, so the lowest failing unit is the same for any number of
 * threads. */
static void work_off(struct pool *pool, unsigned thread) {
  while (!atomic_load(&pool->failing)) {
    size_t unit = atomic_fetch_add(&pool->next, 1);
    if (unit >= pool->units) {
      return;
    }
    struct error error = {.code = ERROR_NONE};
    if (pool->task(pool->context, unit, thread, &error)) {
      note_failure(pool, unit, &error);
    }
  }
}

static bool next_round_has_begun(struct pool *pool, unsigned long round) {
  return atomic_load(&pool->round) != round || atomic_load(&pool->stop);
}

static void wait_for_round(struct pool *pool, unsigned long round) {
  if (look_out(next_round_has_begun, pool, round)) {
    return;
  }
  pthread_mutex_lock(&pool->lock);
  while (!next_round_has_begun(pool, round)) {
    pthread_cond_wait(&pool->start, &pool->lock);
  }
  pthread_mutex_unlock(&pool->lock);
}

static void *worker_main(void *argument) {
  struct worker *worker = argument;
  struct pool *pool = worker->pool;
  for (;;) {
    wait_for_round(pool, worker->seen);
    if (atomic_load(&pool->stop)) {
      return NULL;
    }
    /* A thread that takes part in a round cannot miss it, since the round waits for it; others may. */
    worker->seen = atomic_load(&pool->round);
    if (worker->thread >= worker->seen % ROUND_THREADS) {
      continue;
    }
    work_off(pool, worker->thread);
    if (atomic_fetch_sub(&pool->busy, 1) == 1) {
      pthread_mutex_lock(&pool->lock);
      pthread_cond_signal(&pool->finish);
      pthread_mutex_unlock(&pool->lock);
    }
  }
}

static bool workers_are_done(struct pool *pool, unsigned long round) {
  (void)round;
  return atomic_load(&pool->busy) == 0;
}

static void wait_for_workers(struct pool *pool) {
  if (look_out(workers_are_done, pool, 0)) {
    return;
  }
  pthread_mutex_lock(&pool->lock);
  while (!workers_are_done(pool, 0)) {
    pthread_cond_wait(&pool->finish, &pool->lock);
  }
  pthread_mutex_unlock(&pool->lock);
}

/* See to it that `threads` of them exist. */
static int start_threads(struct pool *pool, unsigned threads, struct error *err) {
  while (pool->started < threads) {
    struct worker *worker = &pool->workers[pool->started - 1];
    *worker = (struct worker){.pool = pool, .thread = pool->started, .seen = atomic_load(&pool->round)};
    int failure = pthread_create(&worker->handle, NULL, worker_main, worker);
    if (failure) {
      return error_set(err, ERROR_MEMORY, "thread %u of %u cannot be started: %s", pool->started + 1, threads,
                       strerror(failure));
    }
    pool->started++;
  }
  return 0;
}

struct pool *pool_new(unsigned threads, struct error *err) {
  return pool_new_for(threads, threads, err);
}

struct pool *pool_new_for(unsigned threads, unsigned used, struct error *err) {
  assert(used >= 1 && used <= threads && threads < ROUND_THREADS);
  struct pool *pool = memory_new(1, sizeof *pool, "thread pool", err);
  if (!pool) {
    return NULL;
  }
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->start, NULL);
  pthread_cond_init(&pool->finish, NULL);
  atomic_init(&pool->next, 0);
  atomic_init(&pool->failing, false);
  atomic_init(&pool->round, 0);
  atomic_init(&pool->busy, 0);
  atomic_init(&pool->stop, false);
  pool->threads = threads;
  pool->used = used;
  pool->started = 1;
  pool->workers = memory_new(threads, sizeof *pool->workers, "thread pool", err);
  if (!pool->workers || start_threads(pool, used, err)) {
    pool_free(pool);
    return NULL;
  }
  return pool;
}

int pool_use(struct pool *pool, unsigned used, struct error *err) {
  assert(used >= 1 && used <= pool->threads);
  int status = start_threads(pool, used, err);
  pool->used = status ? pool->used : used;
  return status;
}

unsigned pool_threads(const struct pool *pool) {
  return pool ? pool->threads : 1;
}

static int run_in_caller(size_t units, pool_task task, void *context, struct error *err) {
  for (size_t unit = 0; unit < units; unit++) {
    int status = task(context, unit, 0, err);
    if (status) {
      return status;
    }
  }
  return 0;
}

int pool_run(struct pool *pool, size_t units, pool_task task, void *context, struct error *err) {
  if (!pool || pool->used == 1 || units <= 1) {
    return run_in_caller(units, task, context, err);
  }
  pthread_mutex_lock(&pool->lock);
  pool->units = units;
  pool->task = task;
  pool->context = context;
  pool->failed_unit = SIZE_MAX;
  atomic_store(&pool->busy, pool->used - 1);
  atomic_store(&pool->next, 0);
  atomic_store(&pool->failing, false);
  atomic_store(&pool->round, (atomic_load(&pool->round) / ROUND_THREADS + 1) * ROUND_THREADS + pool->used);
  pthread_cond_broadcast(&pool->start);
  pthread_mutex_unlock(&pool->lock);

  work_off(pool, 0);
  wait_for_workers(pool);
  /* Nobody but the caller is left in this round. */
  if (pool->failed_unit == SIZE_MAX) {
    return 0;
  }
  *err = pool->error;
  return (int)err->code;
}

void pool_free(struct pool *pool) {
  if (!pool) {
    return;
  }
  pthread_mutex_lock(&pool->lock);
  atomic_store(&pool->stop, true);
  pthread_cond_broadcast(&pool->start);
  pthread_mutex_unlock(&pool->lock);
  for (unsigned i = 1; i < pool->started; i++) {
    pthread_join(pool->workers[i - 1].handle, NULL);
  }
  pthread_cond_destroy(&pool->finish);
  pthread_cond_destroy(&pool->start);
  pthread_mutex_destroy(&pool->lock);
  free(pool->workers);
  free(pool);
}
