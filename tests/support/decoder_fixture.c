#include "decoder_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "config/section_text.h"
#include "host/gradients.h"

static void require(bool held, const struct error *err) {
  if (!held) {
    fail_msg("%s: %s", error_id(err->code), err->text);
  }
}

void decoder_fixture_open(decoder_fixture *fixture, const char *scheme, const char *params,
                          const struct decoder_shape *shape, double train_length, size_t sequences, size_t length,
                          unsigned threads) {
  decoder_fixture_open_with(fixture, scheme, params, NULL, shape, train_length, sequences, length, threads);
}

void decoder_fixture_open_with(decoder_fixture *fixture, const char *scheme, const char *params,
                               const struct tensor_source *tensors, const struct decoder_shape *shape,
                               double train_length, size_t sequences, size_t length, unsigned threads) {
  static const char *const directories[] = {TEST_PLUGIN_DIR};
  struct error err = {0};
  *fixture = (decoder_fixture){0};
  struct host_options options = {.directories = directories, .n_directories = 1, .trust_directories = true};
  require(!host_open(&options, &fixture->host, &err), &err);
  const struct scheme *found = host_find(fixture->host, scheme, NULL, &err);
  require(found, &err);
  struct section *section = config_section_from_text(&found->info.params, params, "parameters", &err);
  require(section, &err);
  struct instance_request request = {.scheme = found,
                                     .shape = {.struct_size = sizeof(pe_shape),
                                               .n_layers = (uint32_t)shape->layers,
                                               .n_heads = (uint32_t)shape->heads,
                                               .n_kv_heads = (uint32_t)shape->heads,
                                               .d_model = (uint32_t)shape->d_model,
                                               .head_dim = (uint32_t)(shape->d_model / shape->heads),
                                               .train_len = train_length},
                                     .params = section,
                                     .tensors = tensors,
                                     .seed = 7};
  fixture->scheme = instance_new(&request, &err);
  section_free(section);
  require(fixture->scheme, &err);
  require(!instance_need_gradients(fixture->scheme, &err), &err);
  fixture->stack = (struct stack){.scheme = fixture->scheme};
  require(!parameters_init(&fixture->layout, shape, fixture->scheme, &err), &err);
  fixture->pool = threads > 1 ? pool_new(threads, &err) : NULL;
  fixture->decoder = decoder_new(&fixture->layout, &fixture->stack, sequences, length, threads, &err);
  require(fixture->decoder, &err);
  fixture->parameters = parameters_block(&fixture->layout, &err);
  fixture->gradient = parameters_block(&fixture->layout, &err);
  fixture->first = parameters_block(&fixture->layout, &err);
  fixture->second = parameters_block(&fixture->layout, &err);
  require(fixture->parameters && fixture->gradient && fixture->first && fixture->second, &err);
  parameters_seed(&fixture->layout, 5, fixture->scheme, fixture->parameters);
}

void decoder_fixture_close(decoder_fixture *fixture) {
  free(fixture->parameters);
  free(fixture->gradient);
  free(fixture->first);
  free(fixture->second);
  decoder_free(fixture->decoder);
  parameters_destroy(&fixture->layout);
  pool_free(fixture->pool);
  instance_free(fixture->scheme);
  host_close(fixture->host);
}

double decoder_fixture_loss(decoder_fixture *fixture, const struct batch *batch, bool with_gradient) {
  struct error err = {0};
  double loss = 0;
  parameters_to_scheme(&fixture->layout, fixture->parameters, fixture->scheme);
  require(!decoder_gradient(fixture->decoder, fixture->parameters, batch, fixture->pool, &loss,
                            with_gradient ? fixture->gradient : NULL, &err),
          &err);
  return loss;
}
