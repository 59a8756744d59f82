/* The lists `schemes` and `experiments`: each entry is a name, or a name with its keys and, beside it, a label and the
 * like. */
#ifndef PE_CONFIG_ENTRIES_H
#define PE_CONFIG_ENTRIES_H

#include "base/keys.h"
#include "config/reader.h"

struct entry_list {
  const char *key;                  /* "schemes", "experiments" */
  const char *what;                 /* "scheme", "experiment" */
  const struct key_table *siblings; /* keys that may stand beside the name */
  const char *const *ids;           /* known names, ended by NULL */
};

struct entry {
  const struct node *name;   /* the key that names the scheme or experiment */
  const struct node *keys;   /* what stands below it: a mapping, or NULL */
  const struct node *node;   /* the entry as a whole */
  const struct node *beside; /* mapping of the siblings */
  const char *label;
  const struct node *label_node; /* where the label was written */
  bool unknown;                  /* nothing of that name: the label is not looked at */
  const char *path;              /* for messages: "schemes.rope"; the same for all points of a sweep */
};

/* Turn entries that are a bare name into mappings, so that keys can be added to them. False: no memory. */
bool entries_normalise(struct reader *reader, struct node *root);

/* The key that names the scheme or experiment of a normalised entry: the first that is no sibling. NULL: none. */
const struct node *entry_name(const struct entry_list *list, const struct node *entry);

/* The label of a normalised entry: what `label` says, else the name; NULL where it has neither. */
const char *entry_label(const struct entry_list *list, const struct node *entry);

/* Take an entry apart. False after a report. */
bool entry_read(struct reader *reader, const struct entry_list *list, const struct node *node, size_t index,
                struct entry *out);

/* Check the labels of all entries, alone and against each other. */
void entries_check_labels(struct reader *reader, const struct entry *entries, size_t count, bool of_experiments);

#endif
