#include <math.h>
#include <pe/plugin.h>

static double distance(const pe_tile *t, size_t i) {
  return fabs(t->pos_q[i / t->nk] - t->pos_k[i % t->nk]);
}
/* s [query][key] -= sqrt |m - n|; everything is checked before anything is written. */
static pe_status bias_add(const pe_instance *self, const pe_tile *t, void *scratch, pe_error *err) {
  (void)self, (void)scratch;
  for (size_t i = 0; i < t->nq * t->nk; i++) {
    if (!isfinite(distance(t, i))) {
      return pe_fail(err, PE_ERR_POS_RANGE, -1, "positions must be finite");
    }
  }
  for (size_t i = 0; i < t->nq * t->nk; i++) {
    t->s[i / t->nk * t->s_stride + i % t->nk] -= (float)sqrt(distance(t, i));
  }
  return PE_OK;
}
static pe_status create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                        pe_error *err) {
  (void)host, (void)shape, (void)values, (void)err;
  *out = (pe_instance *)&pe_plugin_entry; /* no state: any address will do */
  return PE_OK;
}
static void destroy(pe_instance *self) {
  (void)self;
}
static const pe_scheme scheme = {.struct_size = sizeof scheme,
                                 .version = 1,
                                 .id = "root_bias",
                                 .title = "minus the root of the distance",
                                 .reference = "an example",
                                 .sites = PE_SITE_BIAS,
                                 .traits = PE_TRAIT_RELATIVE,
                                 .create = create,
                                 .destroy = destroy,
                                 .bias_add = bias_add};
static const pe_scheme *const schemes[] = {&scheme};
const pe_entry pe_plugin_entry = {
    PE_ABI_MAGIC, sizeof(pe_entry), PE_ABI_MAJOR, PE_ABI_MINOR, "root_bias", "1.0", schemes, 1, 0};
