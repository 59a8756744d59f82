/* load_plugin PLUGIN: loads decay.so or ramp.so as the runner does and compares one call with exact values.
 * load_plugin --folder FOLDER: every plugin in an installed folder loads, and there are at least three. */
#include "host/instance.h"

#include <stdio.h>
#include <string.h>

static int fails(const char *text) {
  fprintf(stderr, "load_plugin: %s\n", text);
  return 1;
}

static int check_bias(const struct instance *instance, struct error *err) {
  /* -0.5 log2(1 + distance) for distances 0, 1, 3, 7: 0, -1/2, -1, -3/2. */
  const double query = 7, keys[4] = {7, 6, 4, 0};
  const float expected[4] = {1, 0.5f, 0, -0.5f};
  float s[4] = {1, 1, 1, 1};
  struct bias_tile tile = {.seq_len = 8, .nq = 1, .nk = 4, .mapped_q = &query, .mapped_k = keys, .s = s, .s_stride = 4};
  if (instance_bias(instance, &tile, err)) {
    return fails(err->text);
  }
  return memcmp(s, expected, sizeof s) ? fails("the bias of decay is not what it should be") : 0;
}

static int check_embedding(const struct instance *instance, struct error *err) {
  const double position = 6;
  const float expected[4] = {7, 4, 3, 2.5f};
  float x[4] = {1, 1, 1, 1};
  if (instance_embed(instance, 1, &position, NULL, 7, x, 4, err)) {
    return fails(err->text);
  }
  return memcmp(x, expected, sizeof x) ? fails("the encoding of ramp is not what it should be") : 0;
}

static int check_plugin(struct host *host, const char *path, struct error *err) {
  bool is_decay = strstr(path, "decay.so") != NULL;
  const struct scheme *scheme = host_find(host, is_decay ? "decay" : "ramp", path, err);
  if (!scheme) {
    return fails(err->text);
  }
  struct instance_request request = {
      .scheme = scheme, .shape = {.n_layers = 1, .n_heads = 1, .n_kv_heads = 1, .d_model = 4, .head_dim = 4}};
  struct instance *instance = instance_new(&request, err);
  if (!instance) {
    return fails(err->text);
  }
  int status = is_decay ? check_bias(instance, err) : check_embedding(instance, err);
  instance_free(instance);
  return status;
}

static int check_folder(struct host *host, struct error *err) {
  const struct scheme *const *schemes;
  const char *const *refused;
  size_t count;
  if (host_list(host, &schemes, &count, &refused, err)) {
    return fails(err->text);
  }
  if (refused[0]) {
    return fails(refused[0]);
  }
  return count < 4 ? fails("fewer than three schemes are installed") : 0;
}

int main(int argc, char **argv) {
  bool folder = argc == 3 && !strcmp(argv[1], "--folder");
  if (argc != 2 && !folder) {
    return fails("usage: load_plugin PLUGIN | --folder FOLDER");
  }
  struct error err;
  struct host *host = NULL;
  const char *directory = argv[argc - 1];
  if (host_open(&(struct host_options){.directories = &directory, .n_directories = folder}, &host, &err)) {
    return fails(err.text);
  }
  int status = folder ? check_folder(host, &err) : check_plugin(host, directory, &err);
  host_close(host);
  return status;
}
