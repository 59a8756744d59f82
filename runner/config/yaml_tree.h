/* YAML text to a tree of nodes that know their places, by libyaml's events (its document API takes quadratic time on
 * deep nesting and lets aliases make cycles).
 *
 * Refused, with line and column: what is not YAML; more than one document; nothing at all; nesting deeper than 64;
 * more than 200000 values, each alias counted as what it stands for; keys that stand twice or are not plain text; merge
 * keys (<<); tags (!x); aliases that are not defined or would contain themselves; NUL in a text. An alias becomes a
 * copy of what it stands for, so changing one place never changes another.
 */
#ifndef PE_CONFIG_YAML_TREE_H
#define PE_CONFIG_YAML_TREE_H

#include "config/reader.h"

enum { TREE_MAX_DEPTH = 64, TREE_MAX_NODES = 200000, TREE_MAX_KEYS = 1000, TREE_MAX_ANCHORS = 1000 };

/* The tree of source->text from byte `start` on, or NULL after a report. Keys that stand twice are reported, the tree
 * then has the first one. */
struct node *tree_parse(struct reader *reader, const struct source *source, size_t start);

#endif
