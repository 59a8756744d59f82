/* The gradient of a rotation turns forward instead of back. */
#include "sound.h"

static pe_status bias_vjp(const pe_instance *self, const pe_tile *ds, float *dq, size_t dq_stride, float *dk,
                          size_t dk_stride, float *const *dw, void *scratch, pe_error *err) {
  (void)dq, (void)dq_stride, (void)dk, (void)dk_stride, (void)scratch, (void)err;
  for (size_t r = 0; dw && dw[0] && r < ds->nq; r++) {
    for (size_t c = 0; c < ds->nk; c++) {
      double distance = fabs(ds->pos_q[r] - ds->pos_k[c]);
      dw[0][ds->head] += (float)(-self->slope * distance * ds->s[r * ds->s_stride + c]);
    }
  }
  return PE_OK;
}

static pe_status rows_vjp(const pe_instance *self, const pe_rows *x, const pe_rows *g, float *const *dw, void *scratch,
                          pe_error *err) {
  (void)dw;
  /* The transpose of a rotation is the rotation back. */
  pe_rows back = *g;
  double *negated = (double *)malloc((x->n ? x->n : 1) * sizeof *negated);
  if (!negated) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory");
  }
  for (size_t r = 0; r < x->n; r++) {
    negated[r] = x->pos[r];
  }
  back.pos = negated;
  pe_status status = sound_qk_apply(self, &back, scratch, err);
  free(negated);
  return status;
}

static const void *extension(const char *id) {
  static const pe_ext_vjp VJP = {.struct_size = sizeof(pe_ext_vjp), .rows_vjp = rows_vjp, .bias_vjp = bias_vjp};
  return strcmp(id, PE_EXT_VJP) == 0 ? &VJP : NULL;
}

static const pe_scheme scheme = {SOUND, .extension = extension};
SOUND_ENTRY(&scheme)
