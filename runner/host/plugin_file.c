#include "host/plugin_file.h"

#include "base/memory.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The header of the running program itself, put there by the linker: its class, byte order and machine are the ones
 * that can be loaded. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static const char *machine_name(unsigned machine) {
  static const struct {
    unsigned machine;
    const char *name;
  } NAMES[] = {{EM_X86_64, "x86-64"}, {EM_386, "i386"},        {EM_AARCH64, "AArch64"}, {EM_ARM, "ARM"},
               {EM_RISCV, "RISC-V"},  {EM_PPC64, "PPC64"},     {EM_S390, "S/390"},      {EM_MIPS, "MIPS"},
               {EM_IA_64, "IA-64"},   {EM_SPARCV9, "SPARC V9"}};
  for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
    if (NAMES[i].machine == machine) {
      return NAMES[i].name;
    }
  }
  return "an unknown machine";
}

static const char *kind_name(mode_t mode) {
  switch (mode & S_IFMT) {
  case S_IFDIR:
    return "a folder";
  case S_IFIFO:
    return "a FIFO";
  case S_IFCHR:
  case S_IFBLK:
    return "a device";
  case S_IFSOCK:
    return "a socket";
  default:
    return "of an unknown kind";
  }
}

/* ---- who can write there ---- */

/* folder: what `status` is of, or NULL for the plugin's file itself. */
static int judge_writers(const char *path, const char *folder, const struct stat *status, struct error *err) {
  static const char HINT[] = "move it, or trust the folder with --trust-plugin-dir";
  const char *what = folder ? "folder " : "file", *which = folder ? folder : "";
  if (status->st_uid != 0 && status->st_uid != geteuid()) {
    return error_set(err, ERROR_PLUGIN_UNTRUSTED, "%s: the %s%s belongs to another user (uid %lu); %s", path, what,
                     which, (unsigned long)status->st_uid, HINT);
  }
  bool sticky_folder = S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX);
  if ((status->st_mode & S_IWOTH) && !sticky_folder) {
    return error_set(err, ERROR_PLUGIN_UNTRUSTED, "%s: everyone can write the %s%s (mode %04o); %s", path, what, which,
                     (unsigned)(status->st_mode & 07777), HINT);
  }
  return 0;
}

/* The folder that holds `path`, as a new string. */
static char *folder_of(const char *path, struct error *err) {
  char *folder = memory_copy_text(path, err);
  if (!folder) {
    return NULL;
  }
  char *slash = strrchr(folder, '/');
  if (!slash) {
    free(folder);
    return memory_copy_text(".", err);
  }
  slash[slash == folder] = '\0';
  return folder;
}

/* place: the path itself, or what it leads to. */
static int judge_folder_of(const char *path, const char *place, struct error *err) {
  char *folder = folder_of(place, err);
  if (!folder) {
    return (int)err->code;
  }
  struct stat status;
  int result = stat(folder, &status) == 0
                   ? judge_writers(path, folder, &status, err)
                   : error_set(err, ERROR_PLUGIN_NOT_FOUND, "%s: %s: %s", path, folder, strerror(errno));
  free(folder);
  return result;
}

static int judge_inside(const char *path, const char *real, const char *searched, struct error *err) {
  char *folder = realpath(searched, NULL);
  if (!folder) {
    return error_set(err, ERROR_PLUGIN_NOT_FOUND, "%s: %s: %s", path, searched, strerror(errno));
  }
  size_t length = strlen(folder);
  bool inside = !strncmp(real, folder, length) && (real[length] == '/' || (length == 1 && folder[0] == '/'));
  free(folder);
  if (!inside) {
    return error_set(err, ERROR_PLUGIN_UNTRUSTED,
                     "%s: a link that leads out of the plugin folder, to %s; name that file with plugin:, or trust the "
                     "folder with --trust-plugin-dir",
                     path, real);
  }
  return 0;
}

/* ---- the ELF header ---- */

/* Whether [offset, offset + bytes) lies inside a file of `size` bytes. */
static bool lies_inside(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

static int read_exactly(int descriptor, const char *path, void *bytes, size_t count, uint64_t offset,
                        struct error *err) {
  size_t done = 0;
  while (done < count) {
    ssize_t got = pread(descriptor, (char *)bytes + done, count - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return error_set(err, ERROR_PLUGIN_LOAD, "%s: cannot be read: %s", path,
                       got < 0 ? strerror(errno) : "it ends too early");
    }
    done += (size_t)got;
  }
  return 0;
}

static int damaged(const char *path, uint64_t size, const char *part, struct error *err) {
  return error_set(err, ERROR_PLUGIN_NOT_ELF,
                   "%s: damaged: the file ends after %llu bytes, before the end of its %s; copy or build it again",
                   path, (unsigned long long)size, part);
}

static int judge_identity(const char *path, const ElfW(Ehdr) * header, struct error *err) {
  const ElfW(Ehdr) *own = &__ehdr_start;
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return error_set(err, ERROR_PLUGIN_NOT_ELF, "%s: not a shared object (no ELF file)", path);
  }
  if (header->e_ident[EI_CLASS] != own->e_ident[EI_CLASS]) {
    return error_set(err, ERROR_PLUGIN_NOT_ELF, "%s: built for %s bits, this pe-run for %s", path,
                     header->e_ident[EI_CLASS] == ELFCLASS32   ? "32"
                     : header->e_ident[EI_CLASS] == ELFCLASS64 ? "64"
                                                               : "an unknown number of",
                     own->e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32");
  }
  if (header->e_ident[EI_DATA] != own->e_ident[EI_DATA]) {
    return error_set(err, ERROR_PLUGIN_NOT_ELF, "%s: built for the other byte order", path);
  }
  if (header->e_machine != own->e_machine) {
    return error_set(err, ERROR_PLUGIN_NOT_ELF, "%s: built for %s (machine %u), this pe-run for %s", path,
                     machine_name(header->e_machine), header->e_machine, machine_name(own->e_machine));
  }
  if (header->e_type != ET_DYN) {
    return error_set(err, ERROR_PLUGIN_NOT_ELF, "%s: not a shared object but %s; link it with -shared", path,
                     header->e_type == ET_REL    ? "an object file (.o)"
                     : header->e_type == ET_EXEC ? "a program"
                                                 : "another kind of ELF file");
  }
  return 0;
}

/* The linker maps what the headers say and reads it: beyond the file's end that is a bus error. */
static int judge_extent(int descriptor, const char *path, const ElfW(Ehdr) * header, uint64_t size, struct error *err) {
  if (header->e_phnum == 0 || header->e_phentsize != sizeof(ElfW(Phdr))) {
    return error_set(err, ERROR_PLUGIN_NOT_ELF, "%s: damaged: its program headers make no sense", path);
  }
  if (!lies_inside(header->e_phoff, (uint64_t)header->e_phnum * sizeof(ElfW(Phdr)), size)) {
    return damaged(path, size, "program headers", err);
  }
  if (header->e_shoff != 0 && !lies_inside(header->e_shoff, (uint64_t)header->e_shnum * header->e_shentsize, size)) {
    return damaged(path, size, "section headers", err);
  }
  for (unsigned i = 0; i < header->e_phnum; i++) {
    ElfW(Phdr) segment;
    int status = read_exactly(descriptor, path, &segment, sizeof segment, header->e_phoff + i * sizeof segment, err);
    if (status) {
      return status;
    }
    if (segment.p_type == PT_LOAD && !lies_inside(segment.p_offset, segment.p_filesz, size)) {
      return damaged(path, size, "segments", err);
    }
  }
  return 0;
}

static int judge_elf(int descriptor, const char *path, uint64_t size, struct error *err) {
  if (size == 0) {
    return error_set(err, ERROR_PLUGIN_NOT_ELF, "%s: the file is empty", path);
  }
  ElfW(Ehdr) header = {0};
  size_t count = size < sizeof header ? (size_t)size : sizeof header;
  int status = read_exactly(descriptor, path, &header, count, 0, err);
  if (!status && count < sizeof header && !memcmp(header.e_ident, ELFMAG, SELFMAG)) {
    status = damaged(path, size, "header", err);
  }
  if (!status) {
    status = judge_identity(path, &header, err);
  }
  return status ? status : judge_extent(descriptor, path, &header, size, err);
}

/* ---- the file ---- */

static int not_found(const char *path, int reason, struct error *err) {
  struct stat link;
  if (reason == ENOENT && lstat(path, &link) == 0 && S_ISLNK(link.st_mode)) {
    return error_set(err, ERROR_PLUGIN_NOT_FOUND, "%s: a symbolic link to a file that does not exist", path);
  }
  return error_set(err, ERROR_PLUGIN_NOT_FOUND, "%s: %s", path, strerror(reason));
}

static int judge_opened(int descriptor, const char *path, const char *real, const char *searched, bool trust,
                        struct error *err) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) {
    return error_set(err, ERROR_PLUGIN_LOAD, "%s: cannot be read: %s", path, strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return error_set(err, ERROR_PLUGIN_NOT_A_FILE, "%s: not a regular file but %s", path, kind_name(status.st_mode));
  }
  int result = trust ? 0 : judge_writers(path, NULL, &status, err);
  if (!result && !trust) {
    result = judge_folder_of(path, path, err);
  }
  if (!result && !trust) {
    result = judge_folder_of(path, real, err);
  }
  if (!result && !trust && searched) {
    result = judge_inside(path, real, searched, err);
  }
  return result ? result : judge_elf(descriptor, path, (uint64_t)status.st_size, err);
}

int plugin_file_check(const char *path, const char *searched, bool trust, struct plugin_file *out, struct error *err) {
  if (path[0] == '\0') {
    return error_set(err, ERROR_PLUGIN_NOT_FOUND, "plugin: \"\" names no file");
  }
  struct stat status;
  if (stat(path, &status) != 0) {
    return not_found(path, errno, err);
  }
  /* Before opening: to open a device or a FIFO can do something already. */
  if (!S_ISREG(status.st_mode)) {
    return error_set(err, ERROR_PLUGIN_NOT_A_FILE, "%s: not a regular file but %s", path, kind_name(status.st_mode));
  }
  struct plugin_file file = {.path = realpath(path, NULL)};
  if (!file.path) {
    return not_found(path, errno, err);
  }
  int result;
  int descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    result = error_set(err, ERROR_PLUGIN_LOAD, "%s: cannot be read: %s", path, strerror(errno));
    goto free_path;
  }
  result = judge_opened(descriptor, path, file.path, searched, trust, err);
  close(descriptor);
  if (!result) {
    result = hash_file(file.path, file.sha256, err);
  }
  if (!result) {
    *out = file;
    return 0;
  }
free_path:
  plugin_file_clear(&file);
  return result;
}

void plugin_file_clear(struct plugin_file *file) {
  free(file->path);
  *file = (struct plugin_file){0};
}
