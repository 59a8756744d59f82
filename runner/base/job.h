/* A job: the unit of work, of isolation, of resuming and of spreading over machines. */
#ifndef PE_BASE_JOB_H
#define PE_BASE_JOB_H

#include <stddef.h>
#include <stdint.h>

struct job {
  size_t experiment; /* index into plan->experiments */
  size_t scheme;     /* index into plan->schemes */
  uint64_t seed;     /* of this job's random numbers */
};

#endif
