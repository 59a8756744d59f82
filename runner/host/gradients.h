/* Gradients of a scheme: the extension pe.vjp/1, behind the same checks as the forward calls of instance.h (the
 * floating-point environment, the plugin's answer, finite output). Shapes as there; training has no padding.
 *
 * dw [n_tensors of the scheme]: where the gradient of each tensor is added to, NULL elements where it is not wanted;
 * dw itself is NULL for a scheme without tensors. The blocks belong to the caller's unit of work.
 */
#ifndef PE_HOST_GRADIENTS_H
#define PE_HOST_GRADIENTS_H

#include "host/instance.h"

/* 0, or ERROR_SCHEME_REFUSED where the scheme acts somewhere and does not offer pe.vjp/1 with the functions of its
 * sites. The control has nothing to differentiate. */
int instance_need_gradients(const struct instance *instance, struct error *err);

/* dw += d loss / d tensors for rows [n][stride] that instance_embed added to, given g [n][stride] = d loss / d rows
 * (which is also the gradient of what they were before). Nothing where the scheme has no EMBED site. [any] */
int instance_embed_vjp(const struct instance *instance, size_t n, const double *mapped, double seq_len, const float *g,
                       size_t stride, float *const *dw, struct error *err);

/* din [n_heads][n][head_dim] = d loss / d in and dw += d loss / d tensors for an instance_rotate of the same arguments,
 * given dout [n_heads][n][qk_width]. din may be dout where the widths are equal. Without a QK site dout is copied
 * (narrowed). [any] */
int instance_rotate_vjp(const struct instance *instance, int role, unsigned layer, unsigned head, unsigned n_heads,
                        size_t n, const double *mapped, double seq_len, const float *in, const float *dout, float *din,
                        float *const *dw, struct error *err);

/* Given tile->s = d loss / d scores (read only): dw += d loss / d tensors and, for PE_TRAIT_CONTENT schemes, dq
 * [nq][dq_stride] and dk [nk][dk_stride] += d loss / d q, k as they entered the product; both NULL for the others. The
 * tile has no padding. Nothing where the scheme has no BIAS site. [any] */
int instance_bias_vjp(const struct instance *instance, const struct bias_tile *tile, float *dq, size_t dq_stride,
                      float *dk, size_t dk_stride, float *const *dw, struct error *err);

/* Overwrite tensor `which` with `values`, as many as it has; it must be present. [serial] */
void instance_set_tensor(struct instance *instance, size_t which, const float *values);

#endif
