/* Checks of the file and of what it exports. */
#include "host/check/run.h"

#include "host/check/subject.h"
#include "host/plugin_load.h"
#include "host/plugin_tables.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void check_load(struct check_run *run) {
  struct error err;
  check_stage(run, "loading");
  bool changed;
  const pe_entry *entry;
  if (plugin_load(run->path, run->shown, &entry, &changed, &err)) {
    check_fail(run, "%s", err.text);
  }
}

void check_load_environment(struct check_run *run) {
  if (run->load_changed_fp) {
    check_fail(run, "loading it changed the floating-point environment of the process: an object in it was built or "
                    "linked with -ffast-math");
  }
}

/* ---- symbols ---- */

struct image {
  const unsigned char *bytes;
  size_t size;
};

/* Row `index` of a table in the file, or NULL where it lies outside. */
static const void *row_of(const struct image *image, uint64_t offset, uint64_t index, size_t row) {
  uint64_t start;
  if (__builtin_mul_overflow(index, (uint64_t)row, &start) || __builtin_add_overflow(start, offset, &start) ||
      start > image->size || row > image->size - start || start % sizeof(uint32_t)) {
    return NULL;
  }
  return image->bytes + start;
}

static const char *name_in(const struct image *image, const ElfW(Shdr) * strings, uint64_t at) {
  const char *name = row_of(image, strings->sh_offset, 0, 1);
  if (!name || at >= strings->sh_size || strings->sh_size > image->size - strings->sh_offset ||
      !memchr(name + at, '\0', strings->sh_size - at)) {
    return "?";
  }
  return name + at;
}

static void judge_symbols(struct check_run *run, const struct image *image, const ElfW(Shdr) * symbols,
                          const ElfW(Shdr) * strings) {
  for (uint64_t i = 1; i < symbols->sh_size / sizeof(ElfW(Sym)); i++) {
    const ElfW(Sym) *symbol = row_of(image, symbols->sh_offset, i, sizeof *symbol);
    if (!symbol) {
      check_fail(run, "its symbol table lies outside of the file");
      return;
    }
    unsigned binding = symbol->st_info >> 4, visibility = symbol->st_other & 3;
    const char *name = name_in(image, strings, symbol->st_name);
    bool exported = symbol->st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK) &&
                    (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
    if (exported && strcmp(name, PE_ENTRY_SYMBOL) != 0) {
      check_fail(run, "exports %s beside " PE_ENTRY_SYMBOL "; pe_add_plugin, or -fvisibility=hidden, hides it", name);
      return;
    }
  }
}

static void judge_sections(struct check_run *run, const struct image *image) {
  const ElfW(Ehdr) *header = row_of(image, 0, 0, sizeof *header);
  for (unsigned i = 0; header && i < header->e_shnum; i++) {
    const ElfW(Shdr) *section = row_of(image, header->e_shoff, i, sizeof *section);
    const ElfW(Shdr) *strings = section && section->sh_type == SHT_DYNSYM
                                    ? row_of(image, header->e_shoff, section->sh_link, sizeof *strings)
                                    : NULL;
    if (strings) {
      judge_symbols(run, image, section, strings);
      return;
    }
  }
  check_skip(run, "it has no section headers to read its symbols by");
}

void check_symbols(struct check_run *run) {
  int file = open(run->path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) {
    check_skip(run, "%s: %s", run->path, strerror(errno));
  } else {
    size_t size = (size_t)status.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
      check_skip(run, "%s: %s", run->path, strerror(errno));
    } else {
      judge_sections(run, &(struct image){.bytes = bytes, .size = size});
      munmap(bytes, size);
    }
  }
  if (file >= 0) {
    close(file);
  }
}

/* ---- extensions ---- */

void check_extension(struct check_run *run) {
  if (!PE_HAS(run->table, pe_scheme, extension)) {
    return;
  }
  static const char *const UNKNOWN[] = {"pe.nothing/1", "", "pe.vjp", "pe.vjp/1x", "pe.vjp/99"};
  for (size_t i = 0; i < sizeof UNKNOWN / sizeof UNKNOWN[0]; i++) {
    check_stage(run, "extension(\"%s\")", UNKNOWN[i]);
    if (run->table->extension(UNKNOWN[i])) {
      check_fail(run, "extension(\"%s\") is not NULL: there is no such extension", UNKNOWN[i]);
    }
  }
}

/* ---- what the other checks are run on ---- */

struct spec_list {
  struct check_spec specs[CHECK_MOST_SUBJECTS];
  uint32_t count;
};

static void add_spec(const pe_scheme *table, const struct check_spec *spec, struct spec_list *list) {
  if (list->count == CHECK_MOST_SUBJECTS) {
    return;
  }
  struct check_spec *to = &list->specs[list->count++];
  *to = *spec;
  if (spec->tensor < 0) {
    snprintf(to->label, sizeof to->label, "%s", table->id);
  } else {
    snprintf(to->label, sizeof to->label, "%.40s with %.24s", table->id,
             plugin_tensor(table, (size_t)spec->tensor)->name);
  }
}

static bool can_be_made(struct check_run *run, const struct check_spec *spec) {
  run->spec = *spec;
  struct subject subject;
  pe_error why;
  pe_status status = subject_open(run, &(struct subject_wish){0}, &subject, &why);
  subject_close(&subject);
  return status == PE_OK;
}

/* The first usual model that it can be made for. */
static bool find_shape(struct check_run *run, struct check_spec *spec) {
  for (spec->shape = 0; subject_usual_shape(spec->shape); spec->shape++) {
    if (can_be_made(run, spec)) {
      return true;
    }
  }
  spec->shape = 0;
  return false;
}

/* Shapes that given tensors usually have. */
static bool find_given(struct check_run *run, struct check_spec *spec) {
  for (uint32_t shape = 0; subject_usual_shape(shape); shape++) {
    const pe_shape *model = subject_usual_shape(shape);
    const pe_dims candidates[] = {
        {.rank = 1, .dim = {model->n_heads}},         {.rank = 1, .dim = {model->head_dim / 2}},
        {.rank = 1, .dim = {model->d_model}},         {.rank = 1, .dim = {64}},
        {.rank = 2, .dim = {64, model->d_model}},     {.rank = 2, .dim = {model->n_heads, 64}},
        {.rank = 2, .dim = {64, model->n_heads}},     {.rank = 2, .dim = {64, model->head_dim}},
        {.rank = 3, .dim = {model->n_heads, 64, 64}}, {.rank = 3, .dim = {model->n_layers, model->n_heads, 64}}};
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
      spec->shape = shape;
      spec->dims = candidates[i];
      if (can_be_made(run, spec)) {
        return true;
      }
    }
  }
  return false;
}

static void find_subjects_of(struct check_run *run, uint32_t scheme, struct spec_list *list) {
  run->table = run->entry->schemes[scheme];
  struct check_spec plain = {.scheme = scheme, .tensor = -1};
  if (find_shape(run, &plain)) {
    add_spec(run->table, &plain, list);
    return;
  }
  uint32_t before = list->count;
  for (uint32_t tensor = 0; tensor < run->table->n_tensors; tensor++) {
    struct check_spec with = {.scheme = scheme, .tensor = (int32_t)tensor};
    if (find_given(run, &with)) {
      add_spec(run->table, &with, list);
    }
  }
  if (list->count == before) {
    add_spec(run->table, &plain, list);
  }
}

/* One subject per scheme; for a scheme that cannot do without a given tensor, one per tensor that is enough. It fails
 * nothing itself: what it cannot make is left to the checks. */
void check_find_subjects(struct check_run *run) {
  struct check_verdict *verdict = run->verdict;
  struct spec_list list = {.count = 0};
  /* Should it die on the way, every scheme is there with the first usual model. */
  for (uint32_t scheme = 0; scheme < run->entry->n_schemes; scheme++) {
    add_spec(run->entry->schemes[scheme], &(struct check_spec){.scheme = scheme, .tensor = -1}, &list);
  }
  memcpy(verdict->specs, list.specs, sizeof verdict->specs);
  verdict->n_specs = list.count;
  list.count = 0;
  for (uint32_t scheme = 0; scheme < run->entry->n_schemes; scheme++) {
    find_subjects_of(run, scheme, &list);
  }
  memcpy(verdict->specs, list.specs, sizeof verdict->specs);
  verdict->n_specs = list.count;
  verdict->outcome = CHECK_PASS;
  verdict->text[0] = '\0';
}
