/* What the measurements of pe-bench share: settings from the command line, repeated timing, results as text or JSON.
 *
 *     pe-bench scan scheme=rope length=8192 heads=8 head_dim=64 threads=2 --json
 *
 * A benchmark is one file and one row of the table in pe_bench.c.
 */
#ifndef PE_BENCH_BENCH_H
#define PE_BENCH_BENCH_H

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>

struct bench_setting {
  const char *key;
  const char *doc;
  const char *text; /* the default, then what was given */
};

enum { BENCH_SETTINGS = 11 };

struct bench {
  const char *name;
  const char *doc;
  /* 0 or an error code; fills `result` with "seconds" and what else was measured. */
  int (*run)(const struct bench *bench, json_t *result, struct error *err);
  struct bench_setting settings[BENCH_SETTINGS]; /* ended by a NULL key */
  char **command;                                /* what stands after --, ended by NULL */
};

/* Value of a setting; a key that the table does not have is a programmer's error. The number must be whole, min .. max.
 */
const char *bench_text(const struct bench *bench, const char *key);
int bench_number(const struct bench *bench, const char *key, size_t min, size_t max, size_t *out, struct error *err);

/* Seconds of a monotonic clock. */
double bench_now(void);

/* Of `count` times, which it sorts. */
double bench_median(double *seconds, size_t count);

/* "seconds" (median), "seconds_min", "seconds_max", "repeats" of `count` times, which it sorts. */
void bench_put_spread(json_t *result, double *seconds, size_t count);

/* Call `work` once to warm up and then `repeats` times; "seconds" (median), "seconds_min", "seconds_max", "repeats". */
int bench_repeat(size_t repeats, int (*work)(void *context, struct error *err), void *context, json_t *result,
                 struct error *err);

/* Call `work` (short) in loops of a few milliseconds, which other work on the machine seldom hits, `repeats` times:
 * best seconds per call. */
double bench_best(size_t repeats, void (*work)(void *context), void *context);

/* result[key] = value */
void bench_put(json_t *result, const char *key, double value);
void bench_put_text(json_t *result, const char *key, const char *value);

/* "peak_mib" of this process. */
void bench_put_peak(json_t *result);

/* x [n]: normal numbers, the same for the same name. */
void bench_fill(float *x, size_t n, const char *name);

int bench_scan(const struct bench *bench, json_t *result, struct error *err);
int bench_ceilings(const struct bench *bench, json_t *result, struct error *err);
int bench_exponential(const struct bench *bench, json_t *result, struct error *err);
int bench_scheme(const struct bench *bench, json_t *result, struct error *err);
int bench_train(const struct bench *bench, json_t *result, struct error *err);
int bench_write(const struct bench *bench, json_t *result, struct error *err);
int bench_start(const struct bench *bench, json_t *result, struct error *err);
int bench_config(const struct bench *bench, json_t *result, struct error *err);
int bench_process(const struct bench *bench, json_t *result, struct error *err);

#endif
