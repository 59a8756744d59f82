/* What one check works with, inside the child that it runs in. */
#ifndef PE_HOST_CHECK_RUN_H
#define PE_HOST_CHECK_RUN_H

#include "base/rng.h"
#include "host/check/check.h"
#include "host/check/guard.h"
#include "pe/plugin.h"

/* Whether this build has sanitizers, which change what some checks measure and how long all of them take. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define CHECK_SANITIZED 1
#endif
#endif
#ifndef CHECK_SANITIZED
#define CHECK_SANITIZED 0
#endif

enum { CHECK_MOST_SUBJECTS = 48 };

/* What a check is run on: a scheme, and for one that works with given tensors alone, which of them is given. */
struct check_spec {
  uint32_t scheme; /* index in the plugin */
  int32_t tensor;  /* index of the tensor that is given; -1: none is */
  pe_dims dims;    /* its shape */
  uint32_t shape;  /* index into the usual shapes of subject.h */
  char label[CHECK_SCHEME];
};

/* Shared between a check and its parent: all that is known of it, however it ends. */
struct check_verdict {
  enum check_outcome outcome;
  char text[CHECK_TEXT];
  volatile uint32_t touched_guard;
  uint64_t digest; /* of results, to compare children with each other */
  /* What the first children find out for all that come after them. */
  uint32_t n_specs;
  struct check_spec specs[CHECK_MOST_SUBJECTS];
};

struct check_run {
  const struct check_options *options;
  const char *path;  /* judged by plugin_file_check, absolute */
  const char *shown; /* as the user knows it */
  struct check_spec spec;
  unsigned attempt;  /* which child of the same check this is */
  char *stage;       /* CHILD_STAGE bytes: what is going on */
  char variant[160]; /* parameters and positions that differ from the usual ones; "" */
  struct check_verdict *verdict;
  struct guard_table *guards;

  /* Set once the plugin is loaded. */
  const pe_entry *entry;
  const pe_scheme *table; /* that of spec.scheme */
  bool load_changed_fp;
};

/* Verdicts: the worst one stands, the first sentence of its kind with it. */
void check_fail(struct check_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_warn(struct check_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_skip(struct check_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool check_failed(const struct check_run *run);

/* Say what comes next, in case it does not come back. */
void check_stage(struct check_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A stream of random numbers for this check and scheme. */
struct rng check_rng(const struct check_run *run, const char *name);

/* One check of the table in check.c. */
struct check {
  const char *id, *proves;
  void (*run)(struct check_run *run);
  enum {
    CHECK_OF_PLUGIN = 1,    /* once, not per scheme */
    CHECK_UNLOADED = 2,     /* loads the plugin itself, or not at all */
    CHECK_TWICE = 4,        /* in two children, whose digests must agree */
    CHECK_NO_SANITIZER = 8, /* measures what sanitizers change */
    CHECK_EXITS = 16        /* ends its process by exit(0) */
  } flags;
  /* What must have held before on the same scheme, or this one says nothing new. */
  enum check_gate { GATE_NONE, GATE_INSTANCE, GATE_BOUNDS, GATE_CALLS, GATE_COUNT } needs;
  enum check_gate opens; /* what it is the gate of */
};

/* The checks, by the file they stand in. */
void check_load(struct check_run *run);
void check_find_subjects(struct check_run *run);
void check_load_environment(struct check_run *run);
void check_symbols(struct check_run *run);
void check_extension(struct check_run *run);

void check_create_defaults(struct check_run *run);
void check_create_bounds(struct check_run *run);
void check_create_random(struct check_run *run);
void check_create_shapes(struct check_run *run);
void check_create_leaks(struct check_run *run);
void check_destroy(struct check_run *run);
void check_tensors(struct check_run *run);

void check_calls(struct check_run *run);
void check_values(struct check_run *run);
void check_written(struct check_run *run);
void check_bounds(struct check_run *run);
void check_additive(struct check_run *run);
void check_empty(struct check_run *run);
void check_scratch(struct check_run *run);

void check_repeat(struct check_run *run);
void check_addresses(struct check_run *run);
void check_order(struct check_run *run);
void check_threads(struct check_run *run);
void check_globals(struct check_run *run);
void check_split_rows(struct check_run *run);
void check_split_heads(struct check_run *run);
void check_split_tiles(struct check_run *run);
void check_in_place(struct check_run *run);
void check_strides(struct check_run *run);
void check_decode(struct check_run *run);

void check_domain(struct check_run *run);
void check_domain_inside(struct check_run *run);
void check_domain_outside(struct check_run *run);

void check_relative(struct check_run *run);
void check_length(struct check_run *run);

void check_derived(struct check_run *run);
void check_derived_pinned(struct check_run *run);

void check_exit(struct check_run *run);
void check_fp_environment(struct check_run *run);
void check_process(struct check_run *run);

void check_gradient_rows(struct check_run *run);
void check_gradient_bias(struct check_run *run);

#endif
