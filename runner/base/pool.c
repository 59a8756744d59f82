#include "base/pool.h"

#include "base/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct worker {
  struct pool *pool;
  pthread_t handle;
  unsigned thread;
};

struct pool {
  unsigned threads;
  struct worker *workers; /* [threads - 1]: threads 1 .. threads - 1; the caller of pool_run is thread 0 */

  pthread_mutex_t lock; /* guards what follows, up to the blank line */
  pthread_cond_t start, finish;
  unsigned long round; /* counts pool_run calls */
  unsigned busy;       /* workers still in this round */
  bool stop;
  size_t failed_unit; /* lowest unit that failed, SIZE_MAX: none */
  struct error error; /* its error */

  atomic_size_t next;  /* unit */
  atomic_bool failing; /* start no new unit */
  size_t units;        /* constant during a round */
  pool_task task;
  void *context;
};

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

static void *worker_main(void *argument) {
  struct worker *worker = argument;
  struct pool *pool = worker->pool;
  unsigned long seen = 0;
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    while (pool->round == seen && !pool->stop) {
      pthread_cond_wait(&pool->start, &pool->lock);
    }
    if (pool->stop) {
      break;
    }
    seen = pool->round;
    pthread_mutex_unlock(&pool->lock);
    work_off(pool, worker->thread);
    pthread_mutex_lock(&pool->lock);
    if (--pool->busy == 0) {
      pthread_cond_signal(&pool->finish);
    }
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

struct pool *pool_new(unsigned threads, struct error *err) {
  assert(threads >= 1);
  struct pool *pool = memory_new(1, sizeof *pool, "thread pool", err);
  if (!pool) {
    return NULL;
  }
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->start, NULL);
  pthread_cond_init(&pool->finish, NULL);
  atomic_init(&pool->next, 0);
  atomic_init(&pool->failing, false);
  pool->threads = 1;
  pool->workers = memory_new(threads, sizeof *pool->workers, "thread pool", err);
  if (!pool->workers) {
    pool_free(pool);
    return NULL;
  }
  while (pool->threads < threads) {
    struct worker *worker = &pool->workers[pool->threads - 1];
    *worker = (struct worker){.pool = pool, .thread = pool->threads};
    int failure = pthread_create(&worker->handle, NULL, worker_main, worker);
    if (failure) {
      error_set(err, ERROR_MEMORY, "thread %u of %u cannot be started: %s", pool->threads + 1, threads,
                strerror(failure));
      pool_free(pool);
      return NULL;
    }
    pool->threads++;
  }
  return pool;
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
  if (pool_threads(pool) == 1 || units <= 1) {
    return run_in_caller(units, task, context, err);
  }
  pthread_mutex_lock(&pool->lock);
  pool->units = units;
  pool->task = task;
  pool->context = context;
  pool->failed_unit = SIZE_MAX;
  pool->busy = pool->threads - 1;
  atomic_store(&pool->next, 0);
  atomic_store(&pool->failing, false);
  pool->round++;
  pthread_cond_broadcast(&pool->start);
  pthread_mutex_unlock(&pool->lock);

  work_off(pool, 0);

  pthread_mutex_lock(&pool->lock);
  while (pool->busy > 0) {
    pthread_cond_wait(&pool->finish, &pool->lock);
  }
  bool failed = pool->failed_unit != SIZE_MAX;
  if (failed) {
    *err = pool->error;
  }
  pthread_mutex_unlock(&pool->lock);
  return failed ? (int)err->code : 0;
}

void pool_free(struct pool *pool) {
  if (!pool) {
    return;
  }
  pthread_mutex_lock(&pool->lock);
  pool->stop = true;
  pthread_cond_broadcast(&pool->start);
  pthread_mutex_unlock(&pool->lock);
  for (unsigned i = 1; i < pool->threads; i++) {
    pthread_join(pool->workers[i - 1].handle, NULL);
  }
  pthread_cond_destroy(&pool->finish);
  pthread_cond_destroy(&pool->start);
  pthread_mutex_destroy(&pool->lock);
  free(pool->workers);
  free(pool);
}
