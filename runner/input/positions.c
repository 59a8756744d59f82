/* Positions of tokens as the config gives them: 0, 1, 2, ..., a line, a grid, or a list. */
#include "input/positions.h"

#include "base/memory.h"
#include "input/tensor_file.h"

#include <stdlib.h>
#include <string.h>

static int read_grid(struct token_positions *positions, const struct key_value *grid) {
  positions->kind = POSITIONS_GRID;
  positions->axes = 2;
  positions->count = (size_t)grid->list[0] * (size_t)grid->list[1];
  positions->columns = (size_t)grid->list[1];
  return 0;
}

static int read_list(struct token_positions *positions, const struct key_value *list, struct error *err) {
  struct tensor_shape shape;
  int status = tensor_shape_of(list, &shape, &positions->from, err);
  if (status) {
    return status;
  }
  if (shape.rank != 1 && shape.rank != 2) {
    return error_set(err, ERROR_FILE_CONTENT,
                     "%s: model.positions has %u axes; needed are [token] or [token, coordinate]", positions->from,
                     shape.rank);
  }
  positions->kind = POSITIONS_LIST;
  positions->count = shape.dim[0];
  positions->axes = shape.rank == 2 ? shape.dim[1] : 1;
  return tensor_doubles(list, &shape, &positions->list, err);
}

int positions_open(struct token_positions *positions, const struct section *section, struct error *err) {
  *positions = (struct token_positions){.kind = POSITIONS_LINE, .axes = 1, .start = 0, .step = 1};
  if (!section) {
    return 0;
  }
  const struct key_value *list = section_get(section, "list"), *grid = section_get(section, "grid"),
                         *start = section_get(section, "start"), *step = section_get(section, "step");
  if (list->given) {
    return read_list(positions, list, err);
  }
  if (grid->given) {
    return read_grid(positions, grid);
  }
  positions->start = start->given ? start->real : 0;
  positions->step = step->given ? step->real : 1;
  return 0;
}

void positions_destroy(struct token_positions *positions) {
  free(positions->list);
  free(positions->from);
  *positions = (struct token_positions){0};
}

static int too_few(const struct token_positions *positions, size_t token, struct error *err) {
  return error_set(err, ERROR_JOB_SETUP, "model.positions: %s gives %zu positions; token %zu has none",
                   positions->kind == POSITIONS_GRID ? "the grid" : positions->from, positions->count, token);
}

int positions_of(const struct token_positions *positions, const struct text_tokens *text, const size_t *index, size_t n,
                 double *out, struct error *err) {
  size_t axes = positions->axes;
  if (positions->kind != POSITIONS_LINE) {
    for (size_t i = 0; i < n; i++) {
      if (index[i] >= positions->count) {
        return too_few(positions, index[i], err);
      }
    }
  }
  /* rank[i] = tokens before i that are not padding; padding counts as no token, wherever it stands. */
  size_t *rank = text->padding ? memory_new(text->count + 1, sizeof *rank, "ranks of tokens", err) : NULL;
  if (text->padding && !rank) {
    return err->code;
  }
  for (size_t i = 0; rank && i < text->count; i++) {
    rank[i + 1] = rank[i] + !text->padding[i];
  }
  for (size_t i = 0; i < n; i++) {
    size_t at = index[i], token = at;
    bool padding = false;
    if (rank) {
      size_t within = at % text->count;
      padding = text->padding[within];
      token = at / text->count * rank[text->count] + rank[within];
    }
    for (size_t axis = 0; axis < axes; axis++) {
      double *position = &out[i * axes + axis];
      if (padding) {
        *position = -1;
      } else if (positions->kind == POSITIONS_LINE) {
        *position = positions->start + positions->step * (double)token;
      } else if (positions->kind == POSITIONS_GRID) {
        *position = (double)(axis ? at % positions->columns : at / positions->columns);
      } else {
        *position = positions->list[at * axes + axis];
      }
    }
  }
  free(rank);
  return 0;
}
