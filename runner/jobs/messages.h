/* What the parent process and its workers say to each other. A worker answers every question but ASK_THREADS with one
 * TELL_DONE (and what stands behind it) or one TELL_ERROR; before that it may tell more. */
#ifndef PE_JOBS_MESSAGES_H
#define PE_JOBS_MESSAGES_H

enum ask {
  ASK_PLUGINS = 1, /* trust, texts: directories; number: refused, each: text path, error */
  ASK_LIST,        /* -> schemes: number, each: scheme; texts: refused */
  ASK_FIND,        /* text id, text plugin or NULL -> scheme */
  ASK_PLAN,        /* see worker_brief_put */
  ASK_KEYS,        /* -> bytes: n_jobs times HASH_TEXT */
  ASK_ESTIMATES,   /* -> n_jobs times: real operations, real bytes */
  ASK_TAKE,        /* text output, number look_only, bytes: n_jobs keys -> bytes: n_jobs flags: held */
  ASK_JOB,         /* number job, text key, number enum job_wish, number threads -> see job_outcome */
  ASK_JOIN,        /* see join.h -> see join.h */
  ASK_THREADS      /* number threads of the job that runs; not answered */
};

enum tell {
  TELL_DONE = 100,
  TELL_ERROR,    /* error: what keeps the whole run from going on */
  TELL_LOADING,  /* text path: a plugin's file is about to be loaded */
  TELL_STARTED,  /* the job's own work begins: what happens now is its doing */
  TELL_PROGRESS, /* real, 0 to 1, of the job; text: where it stands, in words, or NULL */
  TELL_NOTE      /* text: for people */
};

#endif
