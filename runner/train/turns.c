#include "train/turns.h"

#include "base/memory.h"
#include "base/rng.h"
#include "train/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROLES = 2 };

/* Two roundings of float32 each way, and room for a factor. */
static const double TOLERANCE = 1e-5;

static size_t role_index(int role) {
  return role == PE_ROLE_KEY;
}

/* Coefficients of one row: own [width], then other [width]. */
static float *row_of(const struct turns *turns, size_t role, size_t head, size_t t) {
  return turns->table + ((role * turns->heads + head) * turns->length + t) * 2 * turns->width;
}

/* Rows of all heads of a role that hold the same values, moved. */
struct probe {
  const struct instance *scheme;
  unsigned layer;
  const double *mapped;
  double seq_len;
  float *in, *out; /* [heads][length][width] */
};

static int move(const struct turns *turns, const struct probe *probe, size_t role, struct error *err) {
  return instance_rotate(probe->scheme, role ? PE_ROLE_KEY : PE_ROLE_QUERY, probe->layer, 0, (unsigned)turns->heads,
                         turns->length, probe->mapped, NULL, probe->seq_len, probe->in, probe->out, err);
}

/* 1 in the first channels of pairs and in unpaired ones, 0 in the second; or the other way round. */
static int read_coefficients(struct turns *turns, const struct probe *probe, size_t role, bool second,
                             struct error *err) {
  size_t rows = turns->heads * turns->length, width = turns->width;
  for (size_t i = 0; i < rows * width; i++) {
    size_t c = i % width;
    bool is_second = turns->partner[c] < c;
    probe->in[i] = is_second == second ? 1.0f : 0.0f;
  }
  int status = move(turns, probe, role, err);
  for (size_t row = 0; !status && row < rows; row++) {
    float *own = row_of(turns, role, row / turns->length, row % turns->length), *other = own + width;
    for (size_t c = 0; c < width; c++) {
      bool is_second = turns->partner[c] < c;
      *(is_second == second ? &own[c] : &other[c]) = probe->out[row * width + c];
    }
    /* An unpaired channel hears the pairs' second channels not at all. */
    for (size_t c = 0; second && c < width; c++) {
      other[c] = turns->partner[c] == c ? 0.0f : other[c];
    }
  }
  return status;
}

/* Whether random rows come out of the table as out of the scheme. */
static int try_random(const struct turns *turns, const struct probe *probe, size_t role, bool *agrees,
                      struct error *err) {
  size_t rows = turns->heads * turns->length, width = turns->width;
  struct rng rng = rng_stream(role, "turns");
  for (size_t i = 0; i < rows * width; i++) {
    probe->in[i] = (float)rng_normal(&rng, i);
  }
  int status = move(turns, probe, role, err);
  for (size_t row = 0; !status && row < rows; row++) {
    const float *own = row_of(turns, role, row / turns->length, row % turns->length), *in = probe->in + row * width;
    for (size_t c = 0; c < width; c++) {
      double a = (double)own[c] * (double)in[c], b = (double)own[width + c] * (double)in[turns->partner[c]];
      double error = fabs(a + b - (double)probe->out[row * width + c]);
      *agrees = *agrees && error <= TOLERANCE * (fabs(a) + fabs(b) + 1e-30);
    }
  }
  return status;
}

/* Partners from the pairs that the scheme reports; false where it reports none. */
static int read_partners(struct turns *turns, const struct instance *scheme, double seq_len, bool *found,
                         struct error *err) {
  pe_derived pairs;
  double *channel = NULL;
  int status = instance_derived_named(scheme, seq_len, "pairs", &pairs, &channel, err);
  *found = !status && channel;
  for (size_t c = 0; *found && c < turns->width; c++) {
    turns->partner[c] = (uint32_t)c;
  }
  for (size_t i = 0; *found && i < pairs.dim[0]; i++) {
    double a = channel[2 * i], b = channel[2 * i + 1], width = (double)turns->width;
    *found = a >= 0 && b >= 0 && a < width && b < width;
    if (*found) {
      turns->partner[(size_t)a] = (uint32_t)b;
      turns->partner[(size_t)b] = (uint32_t)a;
    }
  }
  free(channel);
  return status;
}

static int fill(struct turns *turns, const struct probe *probe, bool *agrees, struct error *err) {
  int status = 0;
  for (size_t role = 0; !status && role < ROLES; role++) {
    status = read_coefficients(turns, probe, role, false, err);
    status = status ? status : read_coefficients(turns, probe, role, true, err);
    status = status ? status : try_random(turns, probe, role, agrees, err);
  }
  return status;
}

int turns_init(struct turns *turns, const struct instance *scheme, unsigned layer, size_t heads, size_t head_dim,
               size_t n, const double *mapped, double seq_len, struct error *err) {
  *turns = (struct turns){.heads = heads, .length = n, .width = head_dim};
  if (!(instance_sites(scheme) & PE_SITE_QK) || instance_qk_width(scheme) != head_dim ||
      instance_scheme(scheme)->info.n_tensors) {
    return 0;
  }
  turns->partner = memory_new(head_dim, sizeof *turns->partner, "turns", err);
  bool agrees = false;
  int status = turns->partner ? read_partners(turns, scheme, seq_len, &agrees, err) : ERROR_MEMORY;
  if (status || !agrees) {
    return status;
  }
  turns->table = memory_new_3d(ROLES * heads * n, 2, head_dim, sizeof *turns->table, "turns", err);
  float *rows = turns->table ? memory_new_3d(2 * heads, n, head_dim, sizeof *rows, "turns", err) : NULL;
  struct probe probe = {scheme, layer, mapped, seq_len, rows, rows ? rows + heads * n * head_dim : NULL};
  status = rows ? fill(turns, &probe, &agrees, err) : ERROR_MEMORY;
  free(rows);
  if (!status && !agrees) {
    free(turns->table);
    turns->table = NULL;
  }
  return status;
}

void turns_destroy(struct turns *turns) {
  free(turns->partner);
  free(turns->table);
  *turns = (struct turns){0};
}

void turns_apply(const struct turns *turns, int role, size_t head, const float *in, size_t in_stride, float *out) {
  size_t width = turns->width;
  for (size_t t = 0; t < turns->length; t++) {
    const float *own = row_of(turns, role_index(role), head, t);
    train_kernels()->turn(width, own, own + width, turns->partner, in + t * in_stride, out + t * width);
  }
}

void turns_back(const struct turns *turns, int role, size_t head, const float *dout, float *din, size_t din_stride) {
  size_t width = turns->width;
  for (size_t t = 0; t < turns->length; t++) {
    const float *own = row_of(turns, role_index(role), head, t);
    train_kernels()->turn_back(width, own, own + width, turns->partner, dout + t * width, din + t * din_stride);
  }
}
