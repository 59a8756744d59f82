/* pe-bench: how fast the parts of pe-run are on this machine. bench/run.py compares them with what people would write
 * instead. */
#include "bench.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct bench benches[] = {
    {"scan",
     "attention of one layer: positions, scores, softmax; row entropy, log-sum-exp, largest logit, mass by distance",
     bench_scan,
     {{"scheme", "id of a scheme, with its defaults", "rope"},
      {"length", "T", "8192"},
      {"heads", "query heads", "8"},
      {"kv_heads", "key heads; 0: as many", "0"},
      {"head_dim", "width of a head", "64"},
      {"causal", "1 or 0", "1"},
      {"threads", "0: one per core", "0"},
      {"repeats", "timed runs", "5"},
      {"calls", "runs in each timed one, for short T", "1"},
      {"jobs", "1: the calls are jobs, each on one of the threads, as a run spreads them", "0"},
      {"product", "best, or float32: without the processor's tile registers", "best"}},
     NULL},
    {"ceilings",
     "what the machine gives to one thread: best product of tiles, exponentials, copying",
     bench_ceilings,
     {{"head_dim", "width of a head", "64"}, {"repeats", "timed loops; the best counts", "20"}},
     NULL},
    {"exponential",
     "e^x of float32 values that lie in the first-level cache, by each kernel that the machine has, in one thread",
     bench_exponential,
     {{"count", "values of a call", "4096"}, {"repeats", "timed loops; the best counts", "20"}},
     NULL},
    {"scheme",
     "a scheme alone: rows embedded, rows of all heads rotated, cells of bias added, in one thread",
     bench_scheme,
     {{"scheme", "id of a scheme, with its defaults", "rope"},
      {"length", "T", "4096"},
      {"heads", "heads", "8"},
      {"head_dim", "width of a head", "64"},
      {"repeats", "timed runs", "5"}},
     NULL},
    {"train",
     "a step of training of a decoder: batch, forward, backward, clipping, AdamW (feed-forward 4 d_model, 256 tokens)",
     bench_train,
     {{"scheme", "id of a scheme, with its defaults", "none"},
      {"layers", "layers", "2"},
      {"d_model", "width", "128"},
      {"heads", "heads", "4"},
      {"length", "tokens of a sequence", "64"},
      {"batch", "sequences of a step", "16"},
      {"threads", "0: one per core", "0"},
      {"steps", "timed steps; the median counts", "100"}},
     NULL},
    {"write",
     "a results file with one float32 tensor of attention weights, put in place; then read, and joined into another",
     bench_write,
     {{"megabytes", "of the tensor", "64"},
      {"threads", "that compress; 0: one per core", "0"},
      {"folder", "to write into; empty: a new one for temporary files", ""},
      {"repeats", "timed runs", "3"}},
     NULL},
    {"start",
     "from the start of `pe-run CONFIG` to its first job: planning, looking into plugins, starting a worker",
     bench_start,
     {{"repeats", "timed runs", "20"}},
     NULL},
    {"config",
     "a whole config, from the start of `pe-run CONFIG` to its end; cpu_seconds are those of all its processes",
     bench_config,
     {{"path", "of the config", ""},
      {"threads", "of all workers together; 0: one per core", "0"},
      {"repeats", "timed runs", "1"}},
     NULL},
    {"process",
     "any command from its start to its end: pe-bench process -- COMMAND ...",
     bench_process,
     {{"repeats", "timed runs", "5"}},
     NULL},
};

enum { N_BENCHES = sizeof benches / sizeof benches[0] };

/* Of one benchmark, or of all: NULL. */
static void print_usage(const struct bench *only, FILE *to) {
  fputs("usage: pe-bench NAME [key=value ...] [--json]\n", to);
  for (size_t i = 0; i < N_BENCHES; i++) {
    if (only && only != &benches[i]) {
      continue;
    }
    fprintf(to, "\n%s: %s\n", benches[i].name, benches[i].doc);
    for (size_t s = 0; s < BENCH_SETTINGS && benches[i].settings[s].key; s++) {
      const struct bench_setting *setting = &benches[i].settings[s];
      fprintf(to, "  %s=%s  %s\n", setting->key, setting->text, setting->doc);
    }
  }
}

static int no_bench(const char *name) {
  if (name) {
    fprintf(stderr, "pe-bench: nothing is called '%s'; there are", name);
    for (size_t i = 0; i < N_BENCHES; i++) {
      fprintf(stderr, "%s %s", i ? "," : "", benches[i].name);
    }
    fputs(" (pe-bench --help)\n", stderr);
  } else {
    print_usage(NULL, stderr);
  }
  return 2;
}

static int set(struct bench *bench, const char *argument, struct error *err) {
  const char *equals = strchr(argument, '=');
  for (size_t s = 0; equals && s < BENCH_SETTINGS && bench->settings[s].key; s++) {
    size_t length = strlen(bench->settings[s].key);
    if (length == (size_t)(equals - argument) && strncmp(argument, bench->settings[s].key, length) == 0) {
      bench->settings[s].text = equals + 1;
      return 0;
    }
  }
  return error_set(err, ERROR_USAGE, "%s: no setting of %s (pe-bench --help lists them)", argument, bench->name);
}

static void print_text(json_t *result) {
  const char *key;
  json_t *value;
  json_object_foreach(result, key, value) {
    if (json_is_string(value)) {
      printf("%-24s %s\n", key, json_string_value(value));
    } else {
      printf("%-24s %.6g\n", key, json_number_value(value));
    }
  }
}

static int run(struct bench *bench, bool as_json, struct error *err) {
  json_t *result = json_object();
  if (!result) {
    return error_set(err, ERROR_MEMORY, "no memory for the result");
  }
  bench_put_text(result, "bench", bench->name);
  for (size_t s = 0; s < BENCH_SETTINGS && bench->settings[s].key; s++) {
    bench_put_text(result, bench->settings[s].key, bench->settings[s].text);
  }
  int status = bench->run(bench, result, err);
  if (!status && as_json) {
    json_dumpf(result, stdout, JSON_INDENT(2));
    putchar('\n');
  } else if (!status) {
    print_text(result);
  }
  json_decref(result);
  return status;
}

int main(int argc, char **argv) {
  struct bench *bench = NULL;
  for (size_t i = 0; argc > 1 && i < N_BENCHES; i++) {
    bench = strcmp(argv[1], benches[i].name) == 0 ? &benches[i] : bench;
  }
  if (argc == 2 && strcmp(argv[1], "--help") == 0) {
    print_usage(NULL, stdout);
    return 0;
  }
  if (!bench) {
    return no_bench(argc > 1 ? argv[1] : NULL);
  }
  struct error err = {.code = ERROR_NONE};
  bool as_json = false;
  int status = 0;
  for (int i = 2; i < argc && !status; i++) {
    if (strcmp(argv[i], "--") == 0) {
      bench->command = argv + i + 1;
      break;
    }
    if (strcmp(argv[i], "--help") == 0) {
      print_usage(bench, stdout);
      return 0;
    }
    if (strcmp(argv[i], "--json") == 0) {
      as_json = true;
    } else {
      status = set(bench, argv[i], &err);
    }
  }
  status = status ? status : run(bench, as_json, &err);
  if (status) {
    fprintf(stderr, "pe-bench %s: %s\n", bench->name, err.text);
    return error_exit_code((enum error_code)status);
  }
  return 0;
}
