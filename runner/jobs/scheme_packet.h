/* A scheme's description in a message: the tables of a plugin, for processes that do not run it. */
#ifndef PE_JOBS_SCHEME_PACKET_H
#define PE_JOBS_SCHEME_PACKET_H

#include "base/scheme_info.h"
#include "jobs/packet.h"

void packet_put_scheme(struct packet *packet, const struct scheme_info *info);

/* The next description, with memory of its own; released with scheme_info_clear. 0, ERROR_MEMORY, or ERROR_INTERNAL
 * where there is none: then *info is empty. */
int packet_scheme(struct packet *packet, struct scheme_info *info, struct error *err);

#endif
