#include "jobs/provenance.h"

#include "attention/attention.h"
#include "base/blas.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"

#include <gnu/libc-version.h>
#include <hdf5.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The config's lines without the top-level key `output`, whose value must not change the file's bytes. */
static char *config_without_output(const char *config, struct error *err) {
  struct text text = {0};
  bool dropping = false;
  for (const char *line = config; *line;) {
    size_t length = strcspn(line, "\n");
    length += line[length] == '\n';
    bool starts_key = *line != ' ' && *line != '\n' && *line != '#' && *line != '-';
    if (starts_key) {
      dropping = !strncmp(line, "output:", 7);
    }
    if (!dropping) {
      text_append_bytes(&text, line, length);
    }
    line += length;
  }
  return text_take(&text, err);
}

/* The processor's name, "" where the system does not say. */
static void cpu_name(char *out, size_t size) {
  out[0] = '\0';
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (colon && !strncmp(line, "model name", 10)) {
      line[strcspn(line, "\n")] = '\0';
      snprintf(out, size, "%s", colon + 2);
      break;
    }
  }
  if (file) {
    fclose(file);
  }
}

/* A JSON value as text, consumed; NULL with ERROR_MEMORY. */
static char *dump(json_t *json, struct error *err) {
  char *text = json_to_text(json, JSON_INDENT(2), err);
  json_decref(json);
  if (!text) {
    error_set(err, ERROR_MEMORY, "provenance: memory is not to be had");
  }
  return text;
}

char *provenance_environment(struct error *err) {
  if (blas_open(err)) {
    return NULL;
  }
  unsigned major;
  unsigned minor;
  unsigned release;
  char hdf5[32] = "";
  char cpu[200];
  if (H5get_libversion(&major, &minor, &release) >= 0) {
    snprintf(hdf5, sizeof hdf5, "%u.%u.%u", major, minor, release);
  }
  cpu_name(cpu, sizeof cpu);
  return dump(json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "pe_run", pe_run_version(), "compiler", __VERSION__,
                        "cpu", cpu, "kernel", attention_kernel_name(), "libxsmm", small_kernel_target(), "openblas",
                        blas_build(), "hdf5", hdf5, "glibc", gnu_get_libc_version()),
              err);
}

static char *plugins_json(const struct plan *plan, struct error *err) {
  json_t *list = json_array();
  for (size_t i = 0; list && i < plan->n_schemes; i++) {
    const struct scheme_info *info = plan->schemes[i].info;
    json_t *item =
        json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:b}", "label", plan->schemes[i].label, "scheme", info->id,
                  "scheme_version", (int)info->version, "plugin", info->plugin_name, "plugin_version",
                  info->plugin_version, "sha256", info->sha256, "changed_floating_point_state", info->changed_fp_state);
    if (!item || json_array_append_new(list, item)) {
      json_decref(list);
      list = NULL;
    }
  }
  return dump(list, err);
}

int provenance_collect(const struct plan *plan, const char *environment, struct provenance *out, struct error *err) {
  static const struct {
    const char *name;
    bool json;
  } texts[PROVENANCE_TEXTS] = {{"config", false}, {"plan", false}, {"environment", true}, {"plugins", true}};
  *out = (struct provenance){0};
  out->owned[0] = config_without_output(plan->config_text, err);
  out->owned[1] = out->owned[0] ? plan_print(plan, false, err) : NULL;
  out->owned[2] = out->owned[1] ? memory_copy_text(environment, err) : NULL;
  out->owned[3] = out->owned[2] ? plugins_json(plan, err) : NULL;
  if (!out->owned[3]) {
    provenance_free(out);
    return err->code;
  }
  for (size_t i = 0; i < PROVENANCE_TEXTS; i++) {
    out->texts[i] = (struct results_text){texts[i].name, out->owned[i], texts[i].json};
  }
  out->count = PROVENANCE_TEXTS;
  return 0;
}

void provenance_free(struct provenance *provenance) {
  for (size_t i = 0; i < PROVENANCE_TEXTS; i++) {
    free(provenance->owned[i]);
  }
  *provenance = (struct provenance){0};
}
