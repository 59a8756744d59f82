/* Files that are no plugins, and plugins that are refused when they are loaded: each with its code and its sentence. */
#include "host/host.h"

#include <elf.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/pe-run-plugins-XXXXXX";

static const char *at(const char *name) {
  static char path[2][512];
  static int turn;
  turn = !turn;
  snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
  return path[turn];
}

static const char *bad(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s.so", TEST_BAD_PLUGIN_DIR, name);
  return path;
}

static unsigned char *read_plugin(const char *name, size_t *size) {
  FILE *file = fopen(bad(name), "rb");
  assert_non_null(file);
  unsigned char *bytes = malloc(1 << 20);
  assert_non_null(bytes);
  *size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

static void write_file(const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(at(name), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

static struct host *open_host(const char *directory, bool trust) {
  struct host *host = NULL;
  struct error err;
  struct host_options options = {
      .directories = &directory, .n_directories = directory ? 1 : 0, .trust_directories = trust};
  assert_int_equal(host_open(&options, &host, &err), 0);
  return host;
}

static void must_refuse(const char *path, enum error_code code, const char *phrase) {
  struct host *host = open_host(NULL, false);
  struct error err = {0};
  const struct scheme *scheme = host_find(host, "spoiled", path, &err);
  if (scheme || err.code != code || !strstr(err.text, phrase) || (path[0] && !strstr(err.text, path))) {
    fail_msg("%s: expected %s with \"%s\", got %s: %s", path, error_id(code), phrase,
             scheme ? "a scheme" : error_id(err.code), scheme ? "" : err.text);
  }
  assert_int_equal(error_exit_code(err.code), 3);
  host_close(host);
}

static void must_load(const char *path, const char *id) {
  struct host *host = open_host(NULL, false);
  struct error err = {0};
  const struct scheme *scheme = host_find(host, id, path, &err);
  if (!scheme) {
    fail_msg("%s: refused: %s", path, err.text);
  }
  host_close(host);
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

/* ---- no regular file ---- */

static void test_no_file(void **state) {
  (void)state;
  must_refuse("", ERROR_PLUGIN_NOT_FOUND, "names no file");
  must_refuse(at("missing.so"), ERROR_PLUGIN_NOT_FOUND, "No such file");
  must_refuse("no_slash.so", ERROR_PLUGIN_NOT_FOUND, "No such file");
  assert_int_equal(symlink("/nowhere/x.so", at("dangling.so")), 0);
  must_refuse(at("dangling.so"), ERROR_PLUGIN_NOT_FOUND, "a symbolic link to a file that does not exist");
  assert_int_equal(symlink("loop.so", at("loop.so")), 0);
  must_refuse(at("loop.so"), ERROR_PLUGIN_NOT_FOUND, "Too many levels of symbolic links");
}

static void test_not_regular(void **state) {
  (void)state;
  assert_int_equal(mkdir(at("folder.so"), 0755), 0);
  must_refuse(at("folder.so"), ERROR_PLUGIN_NOT_A_FILE, "not a regular file but a folder");
  assert_int_equal(mkfifo(at("fifo.so"), 0600), 0);
  must_refuse(at("fifo.so"), ERROR_PLUGIN_NOT_A_FILE, "not a regular file but a FIFO");
  must_refuse("/dev/zero", ERROR_PLUGIN_NOT_A_FILE, "not a regular file but a device");
}

/* ---- no shared object for this machine ---- */

static void test_no_shared_object(void **state) {
  (void)state;
  write_file("text.so", "#!/bin/sh\nexit 0\n", 17);
  must_refuse(at("text.so"), ERROR_PLUGIN_NOT_ELF, "not a shared object (no ELF file)");
  write_file("empty.so", "", 0);
  must_refuse(at("empty.so"), ERROR_PLUGIN_NOT_ELF, "the file is empty");
  write_file("magic.so", ELFMAG, SELFMAG);
  must_refuse(at("magic.so"), ERROR_PLUGIN_NOT_ELF, "the file ends after 4 bytes, before the end of its header");
}

static void test_truncated(void **state) {
  (void)state;
  size_t size;
  unsigned char *bytes = read_plugin("sound", &size);
  /* Cut anywhere: refused, never a bus error. The section headers stand at the end, so every cut is seen. */
  for (size_t cut = 1; cut < size; cut += cut < 600 ? 1 : 97) {
    write_file("cut.so", bytes, cut);
    struct host *host = open_host(NULL, false);
    struct error err = {0};
    assert_null(host_find(host, "sound", at("cut.so"), &err));
    assert_int_equal(err.code, ERROR_PLUGIN_NOT_ELF);
    host_close(host);
  }
  write_file("cut300.so", bytes, 300);
  must_refuse(at("cut300.so"), ERROR_PLUGIN_NOT_ELF, "damaged: the file ends after 300 bytes");
  write_file("cut9000.so", bytes, 9000);
  must_refuse(at("cut9000.so"), ERROR_PLUGIN_NOT_ELF, "damaged: the file ends after 9000 bytes");
  free(bytes);
}

static void patched(const char *name, size_t offset, unsigned char value, const char *phrase) {
  size_t size;
  unsigned char *bytes = read_plugin("sound", &size);
  bytes[offset] = value;
  write_file(name, bytes, size);
  free(bytes);
  must_refuse(at(name), ERROR_PLUGIN_NOT_ELF, phrase);
}

static void test_other_machine(void **state) {
  (void)state;
  patched("class.so", EI_CLASS, ELFCLASS32, "built for 32 bits, this pe-run for 64");
  patched("order.so", EI_DATA, ELFDATA2MSB, "built for the other byte order");
  patched("machine.so", offsetof(Elf64_Ehdr, e_machine), EM_S390, "built for S/390 (machine 22), this pe-run for ");
  patched("object.so", offsetof(Elf64_Ehdr, e_type), ET_REL, "not a shared object but an object file (.o)");
  patched("program.so", offsetof(Elf64_Ehdr, e_type), ET_EXEC, "not a shared object but a program");
  patched("headers.so", offsetof(Elf64_Ehdr, e_phnum), 0, "its program headers make no sense");
}

/* ---- loading ---- */

static void test_loading(void **state) {
  (void)state;
  /* P03 */
  must_refuse(bad("undefined_symbol"), ERROR_PLUGIN_LOAD, "undefined symbol: missing_fn");
  must_refuse(bad("no_entry"), ERROR_PLUGIN_NO_ENTRY, "exports no pe_plugin_entry");
  must_refuse(bad("entry_is_function"), ERROR_PLUGIN_NO_ENTRY, "pe_plugin_entry is no data");
  must_refuse(bad("entry_too_small"), ERROR_PLUGIN_ABI, "pe_plugin_entry takes 4 bytes");
  /* The contract's own library is no plugin, and no entry is borrowed from another object. */
  must_refuse("/proc/self/exe", ERROR_PLUGIN_LOAD, "");
}

/* P05 */
static void test_version(void **state) {
  (void)state;
  char both[200];
  must_refuse(bad("wrong_magic"), ERROR_PLUGIN_ABI, "the magic of pe_plugin_entry is 0x12345678");
  snprintf(both, sizeof both, "built for version %u.3 of the plugin contract, this pe-run has %u.%u", PE_ABI_MAJOR + 99,
           PE_ABI_MAJOR, PE_ABI_MINOR);
  must_refuse(bad("newer_major"), ERROR_PLUGIN_ABI, both);
  snprintf(both, sizeof both, "is 40 (built for version %u.0 of the plugin contract); this pe-run, with version %u.%u",
           PE_ABI_MAJOR, PE_ABI_MAJOR, PE_ABI_MINOR);
  must_refuse(bad("older_layout"), ERROR_PLUGIN_ABI, both);
  must_load(bad("newer_minor"), "newer_minor");
}

static void test_tables(void **state) {
  (void)state;
  must_refuse(bad("null_member"), ERROR_PLUGIN_TABLE, "scheme spoiled: sites names PE_SITE_BIAS, but bias_add is NULL");
  must_refuse(bad("null_create"), ERROR_PLUGIN_TABLE, "scheme spoiled: create is NULL");
  must_refuse(bad("null_schemes"), ERROR_PLUGIN_TABLE, "schemes is NULL, n_schemes is 1");
  must_refuse(bad("id_with_slash"), ERROR_PLUGIN_TABLE, "its id does not match");
  must_refuse(bad("ids_twice"), ERROR_PLUGIN_TABLE, "the id stands twice");
  must_refuse(bad("default_out_of_range"), ERROR_PLUGIN_TABLE, "parameter base: the default 11 is not in [1, 10]");
}

/* ---- where others can write ---- */

static void test_trust(void **state) {
  (void)state;
  size_t size;
  unsigned char *bytes = read_plugin("sound", &size);
  assert_int_equal(mkdir(at("open"), 0755), 0);
  write_file("open/sound.so", bytes, size);
  must_load(at("open/sound.so"), "sound");
  assert_int_equal(chmod(at("open/sound.so"), 0666), 0);
  must_refuse(at("open/sound.so"), ERROR_PLUGIN_UNTRUSTED, "everyone can write the file (mode 0666)");
  assert_int_equal(chmod(at("open/sound.so"), 0644), 0);
  assert_int_equal(chmod(at("open"), 0777), 0);
  must_refuse(at("open/sound.so"), ERROR_PLUGIN_UNTRUSTED, "/open (mode 0777); move it");
  assert_int_equal(chmod(at("open"), 01777), 0);
  must_load(at("open/sound.so"), "sound");
  assert_int_equal(chmod(at("open"), 0777), 0);

  /* The folder of the link counts, and that of the file it leads to. */
  assert_int_equal(symlink("open/sound.so", at("link.so")), 0);
  struct host *host = open_host(NULL, false);
  struct error err = {0};
  assert_null(host_find(host, "sound", at("link.so"), &err));
  assert_int_equal(err.code, ERROR_PLUGIN_UNTRUSTED);
  host_close(host);

  /* Trusted: all of these load. */
  host = open_host(NULL, true);
  assert_non_null(host_find(host, "sound", at("link.so"), &err));
  assert_non_null(host_find(host, "sound", at("open/sound.so"), &err));
  host_close(host);

  if (geteuid() == 0) {
    assert_int_equal(chmod(at("open"), 0755), 0);
    assert_int_equal(chown(at("open/sound.so"), 12345, 12345), 0);
    must_refuse(at("open/sound.so"), ERROR_PLUGIN_UNTRUSTED, "the file belongs to another user (uid 12345)");
    assert_int_equal(chown(at("open/sound.so"), 0, 0), 0);
    assert_int_equal(chown(at("open"), 12345, 12345), 0);
    must_refuse(at("open/sound.so"), ERROR_PLUGIN_UNTRUSTED, "/open belongs to another user (uid 12345)");
  }
  free(bytes);
}

/* In a searched folder a link must stay inside; named by its path it may lead anywhere that is trusted. */
static void test_link_out(void **state) {
  (void)state;
  assert_int_equal(mkdir(at("searched"), 0755), 0);
  assert_int_equal(symlink(bad("sound"), at("searched/sound.so")), 0);
  struct error err = {0};
  struct host *host = open_host(at("searched"), false);
  assert_null(host_find(host, "sound", NULL, &err));
  assert_int_equal(err.code, ERROR_PLUGIN_UNTRUSTED);
  assert_non_null(strstr(err.text, "a link that leads out of the plugin folder"));
  host_close(host);
  must_load(at("searched/sound.so"), "sound");
  host = open_host(at("searched"), true);
  assert_non_null(host_find(host, "sound", NULL, &err));
  host_close(host);
}

/* ---- finding ---- */

static void test_P07_relative_paths(void **state) {
  (void)state;
  char *here = getcwd(NULL, 0);
  assert_non_null(here);
  assert_int_equal(chdir(TEST_BAD_PLUGIN_DIR), 0);
  /* A bare name is a file of the current folder, not one of the system's. */
  must_load("sound.so", "sound");
  must_load("./sound.so", "sound");
  assert_int_equal(chdir(folder), 0);
  setenv("LD_LIBRARY_PATH", TEST_BAD_PLUGIN_DIR, 1);
  must_refuse("sound.so", ERROR_PLUGIN_NOT_FOUND, "No such file");
  must_refuse("libm.so.6", ERROR_PLUGIN_NOT_FOUND, "No such file");
  assert_int_equal(chdir(here), 0);
  free(here);
}

static void test_search(void **state) {
  (void)state;
  struct error err = {0};
  struct host *host = open_host(TEST_BAD_PLUGIN_DIR, false);
  assert_ptr_equal(host_find(host, "none", NULL, &err), host_none());
  const struct scheme *sound = host_find(host, "sound", NULL, &err);
  assert_non_null(sound);
  assert_string_equal(sound->info.id, "sound");
  assert_ptr_equal(host_find(host, "sound", NULL, &err), sound);
  /* A scheme whose file has another name. */
  const struct scheme *embed = host_find(host, "sound_embed", NULL, &err);
  assert_non_null(embed);
  assert_string_equal(embed->info.path, sound->info.path);

  assert_null(host_find(host, "soun", NULL, &err));
  assert_int_equal(err.code, ERROR_CONFIG_NAME);
  assert_non_null(strstr(err.text, "no scheme is called soun; did you mean sound; there are none, "));
  assert_null(host_find(host, "../bad_plugins/sound", NULL, &err));
  assert_int_equal(err.code, ERROR_CONFIG_NAME);
  /* A file with that name which is refused is no reason to look elsewhere. */
  assert_null(host_find(host, "null_member", NULL, &err));
  assert_int_equal(err.code, ERROR_PLUGIN_TABLE);

  assert_null(host_find(host, "other", bad("sound"), &err));
  assert_int_equal(err.code, ERROR_CONFIG_NAME);
  assert_non_null(strstr(err.text, "has no scheme other; it has sound, sound_embed"));
  host_close(host);
}

static void test_list(void **state) {
  (void)state;
  struct error err = {0};
  struct host *host = open_host(TEST_BAD_PLUGIN_DIR, false);
  const struct scheme *const *schemes;
  const char *const *refused;
  size_t count;
  assert_int_equal(host_list(host, &schemes, &count, &refused, &err), 0);
  assert_ptr_equal(schemes[0], host_none());
  size_t sound = 0;
  for (size_t i = 1; i < count; i++) {
    sound += !strcmp(schemes[i]->info.id, "sound");
    assert_true(i == 1 || strcmp(schemes[i - 1]->info.id, schemes[i]->info.id) < 0);
  }
  assert_int_equal(sound, 1);
  size_t magic = 0, n_refused = 0;
  for (; refused[n_refused]; n_refused++) {
    magic += strstr(refused[n_refused], "wrong_magic.so: the magic of") != NULL;
  }
  assert_int_equal(magic, 1);
  assert_true(n_refused >= 10);
  host_close(host);

  /* Folders that are not there are passed over, those that cannot be read are named. */
  const char *directories[] = {at("not_there"), TEST_BAD_PLUGIN_DIR "/sound.so", TEST_BAD_PLUGIN_DIR,
                               TEST_BAD_PLUGIN_DIR};
  struct host_options options = {.directories = directories, .n_directories = 4};
  assert_int_equal(host_open(&options, &host, &err), 0);
  size_t again;
  assert_int_equal(host_list(host, &schemes, &again, &refused, &err), 0);
  assert_int_equal(again, count);
  assert_non_null(strstr(refused[0], "sound.so: the plugin folder cannot be read: Not a directory"));
  host_close(host);
}

static void test_default_directories(void **state) {
  (void)state;
  struct error err;
  char *directories[HOST_DEFAULT_DIRECTORIES];
  assert_int_equal(host_default_directories(directories, &err), 0);
  assert_string_equal(directories[0], TEST_BAD_PLUGIN_DIR "/plugins");
  assert_int_equal(strncmp(directories[1], TEST_BAD_PLUGIN_DIR "/../", strlen(TEST_BAD_PLUGIN_DIR "/../")), 0);
  assert_non_null(strstr(directories[1], "/pe-run/plugins"));
  for (size_t i = 0; i < HOST_DEFAULT_DIRECTORIES; i++) {
    free(directories[i]);
  }
}

/* ---- what a plugin does to the process ---- */

static float helper_value(const char *name) {
  struct host *host = open_host(TEST_BAD_PLUGIN_DIR, false);
  struct error err;
  const struct scheme *scheme = host_find(host, name, NULL, &err);
  assert_non_null(scheme);
  pe_value values[2] = {{.r = 10000, .given = 1}, {.r = 1, .given = 1}};
  pe_shape shape = {.struct_size = sizeof shape, .n_layers = 1, .n_heads = 1, .n_kv_heads = 1, .d_model = 1};
  pe_instance *instance = NULL;
  pe_error why = {.struct_size = sizeof why};
  assert_int_equal(scheme->table->create(NULL, &shape, values, &instance, &why), PE_OK);
  double position = 0;
  float out = 0;
  pe_rows rows = {.struct_size = sizeof rows, .n_heads = 1, .seq_len = 1, .n = 1, .pos = &position, .out = &out};
  assert_int_equal(scheme->table->embed_add(instance, &rows, NULL, &why), PE_OK);
  scheme->table->destroy(instance);
  host_close(host);
  return out;
}

static void test_P01_symbols_are_apart(void **state) {
  (void)state;
  assert_true(helper_value("helper_1") == 1);
  assert_true(helper_value("helper_2") == 2);
  assert_true(helper_value("helper_1") == 1);
}

static void *use_in_thread(void *unused) {
  (void)unused;
  helper_value("thread_destructor");
  return NULL;
}

static void test_P09_thread_destructor(void **state) {
  (void)state;
  /* The host is closed before the thread ends; its destructor must still be there. */
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, use_in_thread, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_P11_fast_math(void **state) {
  (void)state;
  struct host *host = open_host(TEST_BAD_PLUGIN_DIR, false);
  struct error err;
  const struct scheme *scheme = host_find(host, "fast_math", NULL, &err);
  assert_non_null(scheme);
#if defined(__x86_64__) && defined(__GNUC__) && (defined(__clang__) || __GNUC__ < 13)
  assert_true(scheme->info.changed_fp_state);
#endif
  volatile double smallest = DBL_MIN;
  assert_true(smallest / 4 == 5.56268464626800345e-309);
  assert_false(host_find(host, "sound", NULL, &err)->info.changed_fp_state);
  host_close(host);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_P11_fast_math), /* first: only the first loading in a process changes anything */
      cmocka_unit_test(test_no_file),
      cmocka_unit_test(test_not_regular),
      cmocka_unit_test(test_no_shared_object),
      cmocka_unit_test(test_truncated),
      cmocka_unit_test(test_other_machine),
      cmocka_unit_test(test_loading),
      cmocka_unit_test(test_version),
      cmocka_unit_test(test_tables),
      cmocka_unit_test(test_trust),
      cmocka_unit_test(test_link_out),
      cmocka_unit_test(test_P07_relative_paths),
      cmocka_unit_test(test_search),
      cmocka_unit_test(test_list),
      cmocka_unit_test(test_default_directories),
      cmocka_unit_test(test_P01_symbols_are_apart),
      cmocka_unit_test(test_P09_thread_destructor),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
