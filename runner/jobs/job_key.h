/* A job's key: SHA-256 over all that decides its result, and nothing else. A result is kept under its key and taken
 * again where a job has the same one.
 *
 * It covers: the model, the scheme and the experiment as resolved (every default filled in; files by their bytes, not
 * by their names), the labels, the seed, the bytes of the scheme's plugin and of that of the scheme that the weights
 * were trained with, the arithmetic (numeric version, --reference) and the format of results. It does not cover: the
 * other schemes and experiments, the title, the output, threads, shards, the machine.
 */
#ifndef PE_JOBS_JOB_KEY_H
#define PE_JOBS_JOB_KEY_H

#include "base/hash.h"
#include "config/plan.h"

struct job_key_setting {
  bool reference; /* float64 attention */
  /* [n_experiments] SHA-256 of the plugin with the scheme that the experiment's weights were trained with, "" : none;
   * NULL: none have any. */
  const char *const *trained;
  const char *const *others; /* [n_schemes] the same of each entry's `layers: scheme`; NULL: none */
};

/* keys[i] = the key of plan->jobs[i]. Reads every input file of the plan, once. 0, ERROR_FILE_READ naming a file, or
 * ERROR_MEMORY, ERROR_INTERNAL. */
int job_keys(const struct plan *plan, const struct job_key_setting *setting, char (*keys)[HASH_TEXT],
             struct error *err);

/* The key of the plan's decision: SHA-256 over the section `decision`, the records that it rests on (digests [n_jobs]),
 * and the bytes of the file with trained models (their digest; "": there is none), whatever it is called and wherever
 * it lies. 0, ERROR_MEMORY or ERROR_INTERNAL. */
int decision_key(const struct plan *plan, char (*digests)[HASH_TEXT], const char *trained, char key[HASH_TEXT],
                 struct error *err);

#endif
