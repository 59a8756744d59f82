/* Numbers as a config spells them, read the same under every locale: YAML 1.2 core (whole numbers, also 0x and 0o;
 * decimals; exponents with or without a point: 1e-4, .5, -1E-3). */
#ifndef PE_CONFIG_NUMBER_H
#define PE_CONFIG_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

enum number_status {
  NUMBER_OK,
  NUMBER_NOT,          /* another text */
  NUMBER_LEADING_ZERO, /* 010: octal to some readers, ten to others */
  NUMBER_NOT_FINITE,   /* .inf, nan and their like */
  NUMBER_TOO_LARGE,    /* beyond the doubles */
  NUMBER_TOO_SMALL     /* not zero, but the nearest double is */
};

struct number {
  double real;     /* nearest double */
  bool whole;      /* it is a whole number that fits into `integer` */
  bool whole_form; /* written as a whole number, whether it fits or not */
  int64_t integer;
};

/* *out is set where NUMBER_OK comes back. [any thread, any locale] */
enum number_status number_parse(const char *text, struct number *out);

#endif
