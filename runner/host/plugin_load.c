#include "host/plugin_load.h"

#include "host/fp_environment.h"
#include "host/plugin_tables.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/* The linker's sentence without the path at its front, which ours begins with already. */
static const char *linker_reason(const char *path) {
  const char *reason = dlerror();
  if (!reason) {
    return "no reason given";
  }
  size_t length = strlen(path);
  return !strncmp(reason, path, length) && !strncmp(reason + length, ": ", 2) ? reason + length + 2 : reason;
}

/* dlsym looks into the libraries that the plugin needs, too: the entry must be the plugin's own, and data. */
static int judge_entry(void *library, const void *entry, const char *shown, struct error *err) {
  void *own = NULL, *found = NULL, *symbol_found = NULL;
  Dl_info info;
  if (dlinfo(library, RTLD_DI_LINKMAP, &own) != 0 || !dladdr1(entry, &info, &found, RTLD_DL_LINKMAP) || own != found) {
    return error_set(err, ERROR_PLUGIN_NO_ENTRY, "%s: exports no %s of its own", shown, PE_ENTRY_SYMBOL);
  }
  if (!dladdr1(entry, &info, &symbol_found, RTLD_DL_SYMENT) || !symbol_found) {
    return 0; /* without a symbol table the entry's own members must do */
  }
  const ElfW(Sym) *symbol = symbol_found;
  if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT) {
    return error_set(err, ERROR_PLUGIN_NO_ENTRY, "%s: %s is no data; it must be a constant pe_entry", shown,
                     PE_ENTRY_SYMBOL);
  }
  size_t first_four = offsetof(pe_entry, abi_minor) + sizeof(uint32_t);
  if (symbol->st_size < first_four) {
    return error_set(err, ERROR_PLUGIN_ABI, "%s: %s takes %zu bytes, a pe_entry at least %zu", shown, PE_ENTRY_SYMBOL,
                     (size_t)symbol->st_size, first_four);
  }
  return 0;
}

int plugin_load(const char *path, const char *shown, const pe_entry **entry, bool *changed_fp_state,
                struct error *err) {
  struct fp_environment before = fp_environment_get();
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  *changed_fp_state = fp_environment_restore(&before);
  if (!library) {
    return error_set(err, ERROR_PLUGIN_LOAD, "%s: cannot be loaded: %s", shown, linker_reason(path));
  }
  const pe_entry *found = dlsym(library, PE_ENTRY_SYMBOL);
  if (!found) {
    return error_set(err, ERROR_PLUGIN_NO_ENTRY, "%s: exports no %s; is it a pe-run plugin?", shown, PE_ENTRY_SYMBOL);
  }
  int status = judge_entry(library, found, shown, err);
  if (!status) {
    status = plugin_tables_check(shown, found, err);
  }
  if (!status) {
    *entry = found;
  }
  return status;
}
