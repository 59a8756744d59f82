#include "host/gradients.h"

#include "base/memory.h"
#include "host/instance_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const pe_ext_vjp *extension_of(const struct instance *instance) {
  const pe_scheme *table = instance->scheme->table;
  if (!table || !table->extension) {
    return NULL;
  }
  struct fp_environment before = call_begin();
  const pe_ext_vjp *vjp = table->extension(PE_EXT_VJP);
  call_end(instance, &before);
  return vjp;
}

int instance_need_gradients(const struct instance *instance, struct error *err) {
  uint32_t sites = instance_sites(instance);
  const pe_ext_vjp *vjp = extension_of(instance);
  const char *lacks = NULL;
  if (!vjp) {
    lacks = "the extension";
  } else if ((sites & (PE_SITE_EMBED | PE_SITE_QK)) && !PE_HAS(vjp, pe_ext_vjp, rows_vjp)) {
    lacks = "its rows_vjp, for a scheme that acts on rows,";
  } else if ((sites & PE_SITE_BIAS) && !PE_HAS(vjp, pe_ext_vjp, bias_vjp)) {
    lacks = "its bias_vjp, for a scheme that acts on scores,";
  }
  if (!sites || !lacks) {
    return 0;
  }
  return error_set(err, ERROR_SCHEME_REFUSED,
                   "%s: cannot be trained with: %s " PE_EXT_VJP " (gradients) is missing from its plugin",
                   instance->scheme->info.id, lacks);
}

/* The first tensor whose gradient is not finite: named, so that its author finds it. */
static int check_tensor_gradients(const struct instance *instance, const char *call, float *const *dw,
                                  struct error *err) {
  for (size_t which = 0; dw && which < instance->n_tensors; which++) {
    size_t count = instance->tensors[which] ? 1 : 0;
    for (unsigned axis = 0; axis < instance->dims[which].rank; axis++) {
      count *= instance->dims[which].dim[axis];
    }
    size_t bad = dw[which] ? first_not_finite(dw[which], count) : count;
    if (bad < count) {
      return error_set(err, ERROR_SCHEME_VALUE, "%s: %s gave %g as gradient of %s (element %zu)",
                       instance->scheme->info.id, call, (double)dw[which][bad],
                       instance->scheme->info.tensors[which].name, bad);
    }
  }
  return 0;
}

static int rows_vjp(const struct instance *instance, const pe_rows *x, const pe_rows *g, float *const *dw,
                    struct error *err) {
  struct scratch scratch;
  void *memory;
  int status = domain_check_rows(instance, "position", x->n, x->pos, 0, err);
  status = status ? status : scratch_lend(instance, x->n, 0, &scratch, &memory, err);
  if (status) {
    return status;
  }
  const pe_ext_vjp *vjp = extension_of(instance);
  assert(vjp && vjp->rows_vjp);
  pe_error why = call_error();
  struct fp_environment before = call_begin();
  pe_status said = vjp->rows_vjp(instance->plugin, x, g, dw, memory, &why);
  call_end(instance, &before);
  free(scratch.large);
  if (said == PE_ERR_POS_RANGE || said == PE_ERR_POS_KIND) {
    return rows_undefined(instance, x, &why, err);
  }
  return said == PE_OK ? check_tensor_gradients(instance, "rows_vjp", dw, err)
                       : call_failed(instance, "rows_vjp", said, &why, err);
}

int instance_embed_vjp(const struct instance *instance, size_t n, const double *mapped, double seq_len, const float *g,
                       size_t stride, float *const *dw, struct error *err) {
  if (!(instance_sites(instance) & PE_SITE_EMBED) || n == 0) {
    return 0;
  }
  pe_rows x = {.struct_size = sizeof x, .role = PE_ROLE_EMBED, .n_heads = 1, .seq_len = seq_len, .n = n, .pos = mapped};
  pe_rows gradient = x;
  gradient.in = g;
  gradient.in_stride = stride;
  return rows_vjp(instance, &x, &gradient, dw, err);
}

int instance_rotate_vjp(const struct instance *instance, int role, unsigned layer, unsigned head, unsigned n_heads,
                        size_t n, const double *mapped, double seq_len, const float *in, const float *dout, float *din,
                        float *const *dw, struct error *err) {
  size_t head_dim = instance->shape.head_dim, width = instance->qk_width;
  assert(din != dout || width == head_dim);
  if (!(instance_sites(instance) & PE_SITE_QK)) {
    for (size_t row = 0; row < n_heads * n && din != dout; row++) {
      memcpy(din + row * head_dim, dout + row * width, head_dim * sizeof *din);
    }
    return 0;
  }
  if (n == 0) {
    return 0;
  }
  pe_rows x = {.struct_size = sizeof x,
               .role = role,
               .layer = layer,
               .head = head,
               .n_heads = n_heads,
               .seq_len = seq_len,
               .n = n,
               .pos = mapped,
               .in = in,
               .in_stride = head_dim,
               .in_head_stride = n * head_dim};
  pe_rows gradient = x;
  gradient.in = dout;
  gradient.in_stride = width;
  gradient.in_head_stride = n * width;
  gradient.out = din;
  gradient.out_stride = head_dim;
  gradient.out_head_stride = n * head_dim;
  int status = rows_vjp(instance, &x, &gradient, dw, err);
  size_t bad = status ? 0 : first_not_finite(din, n_heads * n * head_dim);
  if (!status && bad < n_heads * n * head_dim) {
    status = error_set(err, ERROR_SCHEME_VALUE, "%s: rows_vjp gave %g as gradient of %s head %zu at position %.17g",
                       instance->scheme->info.id, (double)din[bad], role == PE_ROLE_QUERY ? "query" : "key",
                       head + bad / (n * head_dim), mapped[bad / head_dim % n * instance->domain.pos_axes]);
  }
  return status;
}

int instance_bias_vjp(const struct instance *instance, const struct bias_tile *tile, float *dq, size_t dq_stride,
                      float *dk, size_t dk_stride, float *const *dw, struct error *err) {
  assert(!tile->padding_q && !tile->padding_k);
  if (!(instance_sites(instance) & PE_SITE_BIAS) || tile->nq == 0 || tile->nk == 0) {
    return 0;
  }
  bool content = instance->traits & PE_TRAIT_CONTENT;
  pe_tile ds = {.struct_size = sizeof ds,
                .layer = tile->layer,
                .head = tile->head,
                .seq_len = tile->seq_len,
                .nq = tile->nq,
                .nk = tile->nk,
                .pos_q = tile->mapped_q,
                .pos_k = tile->mapped_k,
                .q = content ? tile->q : NULL,
                .k = content ? tile->k : NULL,
                .q_stride = tile->q_stride,
                .k_stride = tile->k_stride,
                .s = tile->s,
                .s_stride = tile->s_stride};
  struct scratch scratch;
  void *memory;
  int status = domain_check_rows(instance, "query position", ds.nq, ds.pos_q, 0, err);
  status = status ? status : domain_check_rows(instance, "key position", ds.nk, ds.pos_k, 0, err);
  status = status ? status : scratch_lend(instance, ds.nq, ds.nk, &scratch, &memory, err);
  if (status) {
    return status;
  }
  const pe_ext_vjp *vjp = extension_of(instance);
  assert(vjp && vjp->bias_vjp);
  pe_error why = call_error();
  struct fp_environment before = call_begin();
  pe_status said = vjp->bias_vjp(instance->plugin, &ds, content ? dq : NULL, dq_stride, content ? dk : NULL, dk_stride,
                                 dw, memory, &why);
  call_end(instance, &before);
  free(scratch.large);
  if (said == PE_ERR_POS_RANGE || said == PE_ERR_POS_KIND) {
    return tile_undefined(instance, &ds, &why, err);
  }
  return said == PE_OK ? check_tensor_gradients(instance, "bias_vjp", dw, err)
                       : call_failed(instance, "bias_vjp", said, &why, err);
}

void instance_set_tensor(struct instance *instance, size_t which, const float *values) {
  assert(which < instance->n_tensors && instance->tensors[which]);
  size_t count = 1;
  for (unsigned axis = 0; axis < instance->dims[which].rank; axis++) {
    count *= instance->dims[which].dim[axis];
  }
  memcpy(instance->tensors[which], values, count * sizeof *values);
}
