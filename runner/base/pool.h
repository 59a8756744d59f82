/* A fixed pool of POSIX threads that works off numbered units. Which thread takes which unit is not fixed; what a unit
 * computes must not depend on it. Give each unit its own output, and reduce in the order of units afterwards.
 */
#ifndef PE_BASE_POOL_H
#define PE_BASE_POOL_H

#include "base/error.h"

#include <stddef.h>

struct pool;

/* Make a pool of `threads` (>= 1) workers; the caller of pool_run is one of them. NULL with ERROR_MEMORY. */
struct pool *pool_new(unsigned threads, struct error *err);

/* The same, of which only `used` (1 .. threads < 2^16) work for now; the others are started when they are needed. */
struct pool *pool_new_for(unsigned threads, unsigned used, struct error *err);

/* From the next pool_run on, `used` (1 .. pool_threads) threads work. Call it between rounds. 0, or ERROR_MEMORY where
 * a thread cannot be started, and nothing changes. */
int pool_use(struct pool *pool, unsigned used, struct error *err);

/* As many as may ever work at once: what has a place for each thread needs so many. 1 for NULL. */
unsigned pool_threads(const struct pool *pool);

/* Run task(context, unit, thread, err) for every unit in 0 .. units - 1, thread in 0 .. threads - 1; return when all
 * are done. A task returns 0 or an error code, with *err filled; units start in ascending order, and after an error no
 * new one is started. Returns the error of the lowest unit that failed. Not re-entrant: one pool_run at a time per
 * pool. pool may be NULL: everything runs in the caller. */
typedef int (*pool_task)(void *context, size_t unit, unsigned thread, struct error *err);
int pool_run(struct pool *pool, size_t units, pool_task task, void *context, struct error *err);

/* End the threads; NULL is allowed. */
void pool_free(struct pool *pool);

#endif
