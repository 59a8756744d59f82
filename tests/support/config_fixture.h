/* Schemes and experiments for tests of the config: tables alone, no code behind them. */
#ifndef PE_TESTS_CONFIG_FIXTURE_H
#define PE_TESTS_CONFIG_FIXTURE_H

#include "config/plan.h"

/* A request for a config's text with the fixture's schemes (none, sinusoidal, rope, learned, and rope from
 * plugins/own.so) and experiments (extrapolation, attention, equivariance). */
struct plan_request config_fixture_request(const char *text, const char *const *overrides, size_t n_overrides);

/* What loading gives: the printed plan, or the printed diagnostics. To be freed. */
char *config_fixture_outcome(const struct plan_request *request);

/* Abort unless loading is refused, or gives a plan that is the same when it is printed and read again. */
void config_fixture_check(const struct plan_request *request);

#endif
