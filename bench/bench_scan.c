/* The work that a sweep over lengths does for one scheme and length: q and k at their positions, then attention with
 * row entropy, log-sum-exp, largest logit and mass by distance. */
#include "bench_instance.h"

#include "attention/attention.h"
#include "attention/product.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct scan {
  struct bench_instance scheme;
  struct pool *pool;                    /* of the work inside a call; NULL: none */
  const struct product_method *product; /* NULL: whichever attention_run takes */
  size_t calls;
  size_t width;               /* of q and k rows at their positions */
  float *q, *k;               /* as projected */
  float *q_placed, *k_placed; /* q and k themselves unless the scheme widens them */
  float *bias_row;            /* [heads][2 length - 1] for schemes that depend on distance alone */
  struct attention_input input;
  struct attention_output output;
};

static int add_bias(void *context, size_t head, size_t row, size_t nq, size_t column, size_t nk, float *s,
                    size_t s_stride, struct error *err) {
  const struct scan *scan = context;
  size_t axes = instance_domain(scan->scheme.instance).pos_axes;
  struct bias_tile tile = {
      .head = (unsigned)head,
      .seq_len = scan->scheme.seq_len,
      .nq = nq,
      .nk = nk,
      .mapped_q = scan->scheme.mapped + row * axes,
      .mapped_k = scan->scheme.mapped + column * axes,
      .q = scan->input.q + (head * scan->input.nq + row) * scan->width,
      .k =
          scan->input.k + (head * scan->input.n_kv_heads / scan->input.n_heads * scan->input.nk + column) * scan->width,
      .q_stride = scan->width,
      .k_stride = scan->width,
      .s = s,
      .s_stride = s_stride};
  return instance_bias(scan->scheme.instance, &tile, err);
}

/* All distances of a head from its last and its first query. */
static int fill_bias_row(struct scan *scan, struct error *err) {
  size_t n = scan->scheme.length;
  float *row = memory_new(n, sizeof *row, "bias by distance", err);
  int status = row ? 0 : ERROR_MEMORY;
  for (size_t head = 0; head < scan->scheme.n_heads && !status; head++) {
    float *by_distance = scan->bias_row + head * (2 * n - 1);
    for (size_t query = 0; query < n && !status; query += n > 1 ? n - 1 : 1) {
      memset(row, 0, n * sizeof *row);
      status = add_bias(scan, head, query, 1, 0, n, row, n, err);
      for (size_t j = 0; j < n && !status; j++) {
        by_distance[query + n - 1 - j] = row[j];
      }
    }
  }
  free(row);
  return status;
}

static int scan_once(struct scan *scan, struct error *err) {
  const struct bench_instance *scheme = &scan->scheme;
  int status = 0;
  if (instance_sites(scheme->instance) & PE_SITE_QK) {
    status = bench_instance_rotate(scheme, PE_ROLE_QUERY, scheme->n_heads, scan->q, scan->q_placed, scan->pool, err);
    status = status ? status
                    : bench_instance_rotate(scheme, PE_ROLE_KEY, scheme->n_kv_heads, scan->k, scan->k_placed,
                                            scan->pool, err);
  }
  if (!status && scan->bias_row) {
    status = fill_bias_row(scan, err);
  }
  if (status) {
    return status;
  }
  return scan->product ? attention_run_by(scan->product, &scan->input, &scan->output, scan->pool, err)
                       : attention_run(&scan->input, &scan->output, scan->pool, err);
}

/* One scan with threads inside each call, or one per thread that makes its share of the calls alone. */
struct scans {
  struct scan *each;
  size_t count;
  struct pool *pool;
};

static int scan_calls(void *context, size_t unit, unsigned thread, struct error *err) {
  const struct scans *scans = context;
  struct scan *scan = &scans->each[unit];
  int status = 0;
  (void)thread;
  for (size_t i = unit; i < scan->calls && !status; i += scans->count) {
    status = scan_once(scan, err);
  }
  return status;
}

static int scan_all(void *context, struct error *err) {
  struct scans *scans = context;
  return pool_run(scans->count > 1 ? scans->pool : NULL, scans->count, scan_calls, scans, err);
}

static int make_inputs(struct scan *scan, struct error *err) {
  const struct bench_instance *s = &scan->scheme;
  size_t q_size = s->n_heads * s->length, k_size = s->n_kv_heads * s->length;
  uint32_t sites = instance_sites(s->instance);
  scan->width = instance_qk_width(s->instance);
  scan->q = memory_new(q_size, s->head_dim * sizeof(float), "queries", err);
  scan->k = memory_new(k_size, s->head_dim * sizeof(float), "keys", err);
  if (!scan->q || !scan->k) {
    return ERROR_MEMORY;
  }
  bench_fill(scan->q, q_size * s->head_dim, "q");
  bench_fill(scan->k, k_size * s->head_dim, "k");
  /* Logits of deviation 1 for every scheme: T5's are not divided by sqrt(head_dim), its queries come smaller instead
   * (Raffel et al. 2020, initialisation of q). */
  double usual = 1.0 / sqrt((double)s->head_dim);
  scan->input.scale = instance_score_scale(s->instance, usual);
  for (size_t i = 0; i < q_size * s->head_dim; i++) {
    scan->q[i] *= (float)(usual / scan->input.scale);
  }
  scan->q_placed = scan->q;
  scan->k_placed = scan->k;
  if (scan->width != s->head_dim) {
    scan->q_placed = memory_new(q_size, scan->width * sizeof(float), "queries", err);
    scan->k_placed = memory_new(k_size, scan->width * sizeof(float), "keys", err);
  }
  bool by_distance = (sites & PE_SITE_BIAS) && (instance_traits(s->instance) & PE_TRAIT_RELATIVE);
  if (by_distance) {
    scan->bias_row = memory_new(s->n_heads, (2 * s->length - 1) * sizeof(float), "bias by distance", err);
  }
  if (!scan->q_placed || !scan->k_placed || (by_distance && !scan->bias_row)) {
    return ERROR_MEMORY;
  }
  scan->input.bias_by_distance = scan->bias_row;
  scan->input.bias = (sites & PE_SITE_BIAS) && !by_distance ? add_bias : NULL;
  scan->input.bias_context = scan;
  return 0;
}

static int make_outputs(struct scan *scan, struct error *err) {
  size_t rows = scan->scheme.n_heads * scan->scheme.length;
  scan->output = (struct attention_output){.entropy = memory_new(rows, sizeof(double), "entropy", err),
                                           .log_sum_exp = memory_new(rows, sizeof(double), "log-sum-exp", err),
                                           .max_logit = memory_new(rows, sizeof(double), "largest logits", err),
                                           .mass_by_distance = memory_new(rows, sizeof(double), "mass", err)};
  const struct attention_output *out = &scan->output;
  return out->entropy && out->log_sum_exp && out->max_logit && out->mass_by_distance ? 0 : ERROR_MEMORY;
}

static int read_settings(const struct bench *bench, struct scan *scan, struct scans *scans, size_t *repeats,
                         struct error *err) {
  struct bench_instance *s = &scan->scheme;
  size_t causal, threads, jobs;
  int status = bench_number(bench, "length", 1, (size_t)1 << 24, &s->length, err);
  status = status ? status : bench_number(bench, "heads", 1, 1024, &s->n_heads, err);
  status = status ? status : bench_number(bench, "kv_heads", 0, 1024, &s->n_kv_heads, err);
  status = status ? status : bench_number(bench, "head_dim", 1, 4096, &s->head_dim, err);
  status = status ? status : bench_number(bench, "causal", 0, 1, &causal, err);
  status = status ? status : bench_number(bench, "threads", 0, 1024, &threads, err);
  status = status ? status : bench_number(bench, "repeats", 1, 1000, repeats, err);
  status = status ? status : bench_number(bench, "calls", 1, 1000000, &scan->calls, err);
  status = status ? status : bench_number(bench, "jobs", 0, 1, &jobs, err);
  if (status) {
    return status;
  }
  s->n_kv_heads = s->n_kv_heads ? s->n_kv_heads : s->n_heads;
  if (s->n_heads % s->n_kv_heads) {
    return error_set(err, ERROR_USAGE, "kv_heads=%zu does not divide heads=%zu", s->n_kv_heads, s->n_heads);
  }
  scan->input.causal = causal == 1;
  const char *product = bench_text(bench, "product");
  bool best = strcmp(product, "best") == 0;
  if (!best && strcmp(product, "float32") != 0) {
    return error_set(err, ERROR_USAGE, "product=%s: best or float32", product);
  }
  scan->product = best ? NULL : product_float32();
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  scans->pool = pool_new(threads ? (unsigned)threads : cores > 0 ? (unsigned)cores : 1, err);
  scan->pool = jobs ? NULL : scans->pool;
  scans->count = jobs ? pool_threads(scans->pool) : 1;
  scans->each = scans->pool ? memory_new(scans->count, sizeof *scans->each, "scans", err) : NULL;
  return scans->each ? 0 : (int)err->code;
}

static void put_means(const struct scan *scan, json_t *result) {
  size_t rows = scan->scheme.n_heads * scan->scheme.length;
  double entropy = 0.0, mass = 0.0;
  for (size_t i = 0; i < rows; i++) {
    entropy += scan->output.entropy[i] / (double)rows;
    mass += scan->output.mass_by_distance[i] / (double)scan->scheme.n_heads;
  }
  bench_put(result, "entropy_mean", entropy);
  bench_put(result, "mass_sum", mass);
}

static int open_scan(const struct bench *bench, struct scan *scan, struct error *err) {
  int status = bench_instance_open(&scan->scheme, bench_text(bench, "scheme"), err);
  status = status ? status : make_inputs(scan, err);
  status = status ? status : make_outputs(scan, err);
  if (status) {
    return status;
  }
  const struct bench_instance *s = &scan->scheme;
  struct attention_input *in = &scan->input;
  in->n_heads = s->n_heads;
  in->n_kv_heads = s->n_kv_heads;
  in->nq = in->nk = s->length;
  in->width = scan->width;
  in->q = scan->q_placed;
  in->k = scan->k_placed;
  return 0;
}

static void close_scan(struct scan *scan) {
  if (scan->q_placed != scan->q) {
    free(scan->q_placed);
  }
  if (scan->k_placed != scan->k) {
    free(scan->k_placed);
  }
  free(scan->q);
  free(scan->k);
  free(scan->bias_row);
  free(scan->output.entropy);
  free(scan->output.log_sum_exp);
  free(scan->output.max_logit);
  free(scan->output.mass_by_distance);
  bench_instance_close(&scan->scheme);
}

static int run_scans(const struct bench *bench, struct scans *scans, json_t *result, struct error *err) {
  struct scan settings = {.pool = NULL};
  size_t repeats;
  int status = read_settings(bench, &settings, scans, &repeats, err);
  for (size_t i = 0; i < scans->count && !status; i++) {
    scans->each[i] = settings;
    status = open_scan(bench, &scans->each[i], err);
  }
  /* Every run moves what the one before left: other numbers, the same work. */
  status = status ? status : bench_repeat(repeats, scan_all, scans, result, err);
  if (!status) {
    const struct bench_instance *s = &scans->each->scheme;
    double bytes = (double)(s->n_heads + s->n_kv_heads) * (double)s->length * (double)s->head_dim * sizeof(float);
    bench_put(result, "threads_used", (double)pool_threads(scans->pool));
    bench_put(result, "qk_mib", bytes / 1048576.0);
    bench_put_peak(result);
    bench_put_text(result, "kernel", attention_kernel_name());
    put_means(scans->each, result);
  }
  return status;
}

int bench_scan(const struct bench *bench, json_t *result, struct error *err) {
  struct scans scans = {.count = 0};
  int status = run_scans(bench, &scans, result, err);
  for (size_t i = 0; scans.each && i < scans.count; i++) {
    close_scan(&scans.each[i]);
  }
  free(scans.each);
  pool_free(scans.pool);
  return status;
}
