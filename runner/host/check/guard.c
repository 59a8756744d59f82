#include "host/check/guard.h"

#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 16, EXIT_TOUCHED = 70, CHILD_TEXT = 400 };

/* What the handler works with. It lies at the low end of the stack that the handler runs on, where the handler finds it
 * without a global. */
struct watch {
  const struct guard_table *table;
  char *stage;
  size_t stage_bytes;
  volatile uint32_t *touched;
};

static size_t page_bytes(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- memory ---- */

static void fill_pattern(unsigned char *memory, size_t bytes) {
  const uint32_t pattern = GUARD_PATTERN;
  for (size_t i = 0; i < bytes; i += sizeof pattern) {
    memcpy(memory + i, &pattern, sizeof pattern);
  }
}

bool guard_is_pattern(const float *element) {
  uint32_t bits;
  memcpy(&bits, element, sizeof bits);
  return bits == GUARD_PATTERN;
}

static struct guard_entry *free_entry(struct guard_table *table) {
  for (size_t i = 0; i < GUARD_MOST; i++) {
    if (!table->entries[i].map) {
      return &table->entries[i];
    }
  }
  return NULL;
}

/* [guard][data pages][guard] */
int guard_new(struct guard_table *table, const char *name, size_t bytes, size_t alignment, enum guard_side side,
              struct guarded *out, struct error *err) {
  size_t page = page_bytes();
  *out = (struct guarded){0};
  struct guard_entry *entry = free_entry(table);
  if (!entry || bytes > SIZE_MAX / 4) {
    return error_set(err, ERROR_MEMORY, "%s: %zu bytes of guarded memory are not to be had", name, bytes);
  }
  size_t inside = (bytes / page + 1) * page, total = inside + 2 * page;
  unsigned char *map = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    return error_set(err, ERROR_MEMORY, "%s: %zu bytes of memory are not to be had: %s", name, total, strerror(errno));
  }
  unsigned char *pages = map + page;
  if (mprotect(pages, inside, PROT_READ | PROT_WRITE) != 0) {
    int reason = errno;
    munmap(map, total);
    return error_set(err, ERROR_MEMORY, "%s: %zu bytes of memory are not to be had: %s", name, total, strerror(reason));
  }
  fill_pattern(pages, inside);
  unsigned char *data = side == GUARD_BEFORE ? pages : pages + (inside - bytes) / alignment * alignment;
  *out = (struct guarded){.name = name, .data = data, .bytes = bytes, .map = map, .map_bytes = total};
  *entry = (struct guard_entry){.data = (uintptr_t)data, .map = (uintptr_t)map, .bytes = bytes, .map_bytes = total};
  snprintf(entry->name, sizeof entry->name, "%s", name);
  return 0;
}

void guard_free(struct guard_table *table, struct guarded *memory) {
  for (size_t i = 0; memory->map && i < GUARD_MOST; i++) {
    if (table->entries[i].map == (uintptr_t)memory->map) {
      table->entries[i].map = 0;
    }
  }
  if (memory->map) {
    munmap(memory->map, memory->map_bytes);
  }
  *memory = (struct guarded){0};
}

void guard_read_only(const struct guarded *memory) {
  size_t page = page_bytes();
  mprotect(memory->map + page, memory->map_bytes - 2 * page, PROT_READ);
}

bool guard_intact(const struct guarded *memory, char *text, size_t size) {
  const unsigned char *data = memory->data, *first = memory->map + page_bytes(),
                      *end = memory->map + memory->map_bytes - page_bytes();
  const uint32_t pattern = GUARD_PATTERN;
  unsigned char bytes[sizeof pattern];
  memcpy(bytes, &pattern, sizeof bytes);
  for (const unsigned char *at = data; at-- > first;) {
    if (*at != bytes[(size_t)(at - first) % sizeof bytes]) {
      snprintf(text, size, "wrote %zu bytes before the beginning of %s", (size_t)(data - at), memory->name);
      return false;
    }
  }
  for (const unsigned char *at = data + memory->bytes; at < end; at++) {
    if (*at != bytes[(size_t)(at - first) % sizeof bytes]) {
      snprintf(text, size, "wrote %zu bytes beyond the end of %s", (size_t)(at - data) - memory->bytes, memory->name);
      return false;
    }
  }
  return true;
}

/* ---- faults ---- */

static const struct guard_entry *entry_of(const struct guard_table *table, uintptr_t address) {
  for (size_t i = 0; i < GUARD_MOST; i++) {
    const struct guard_entry *entry = &table->entries[i];
    if (entry->map && address >= entry->map && address < entry->map + entry->map_bytes) {
      return entry;
    }
  }
  return NULL;
}

static const char *access_name(const ucontext_t *context) {
#if defined(__x86_64__)
  return context->uc_mcontext.gregs[REG_ERR] & 2 ? "wrote" : "read";
#else
  (void)context;
  return "touched";
#endif
}

static void describe(const struct guard_entry *entry, uintptr_t address, const char *access, char *text, size_t size) {
  if (address >= entry->data && address < entry->data + entry->bytes) {
    snprintf(text, size, "%s %s, which is read-only, at byte %zu", access, entry->name,
             (size_t)(address - entry->data));
  } else if (address < entry->data) {
    snprintf(text, size, "%s %zu bytes before the beginning of %s", access, (size_t)(entry->data - address),
             entry->name);
  } else {
    snprintf(text, size, "%s %zu bytes beyond the end of %s", access,
             (size_t)(address - entry->data - entry->bytes) + 1, entry->name);
  }
}

/* The process ends here either way, so snprintf may be used although it is not promised to work in handlers. */
static void on_fault(int number, siginfo_t *info, void *uncast) {
  const ucontext_t *context = uncast;
  const struct watch *watch = context->uc_stack.ss_sp;
  uintptr_t address = (uintptr_t)info->si_addr;
  const struct guard_entry *entry = watch ? entry_of(watch->table, address) : NULL;
  if (!entry) {
    signal(number, SIG_DFL); /* to die of it once this handler returns and it happens again */
    return;
  }
  char text[CHILD_TEXT], before[CHILD_TEXT];
  snprintf(before, sizeof before, "%s", watch->stage);
  describe(entry, address, access_name(context), text, sizeof text);
  snprintf(watch->stage, watch->stage_bytes, "%s: %s", text, before);
  *watch->touched = 1;
  _exit(EXIT_TOUCHED);
}

int guard_watch(const struct guard_table *table, char *stage, size_t bytes, volatile uint32_t *touched,
                struct error *err) {
  unsigned char *stack = memory_new(STACK_BYTES, 1, "a signal stack", err);
  if (!stack) {
    return ERROR_MEMORY;
  }
  *(struct watch *)(void *)stack =
      (struct watch){.table = table, .stage = stage, .stage_bytes = bytes, .touched = touched};
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  if (sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = STACK_BYTES}, NULL) != 0 ||
      sigaction(SIGSEGV, &action, NULL) != 0 || sigaction(SIGBUS, &action, NULL) != 0) {
    int reason = errno;
    free(stack);
    return error_set(err, ERROR_INTERNAL, "faults cannot be watched: %s", strerror(reason));
  }
  return 0; /* the stack is in use as long as the process lives */
}
