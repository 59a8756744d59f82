/* pe-run new: a folder with a plugin that keeps the contract, for people to put their formula into. The files stand in
 * templates/ of the source tree and are part of the program, so that it has them wherever it is installed. */
#include "base/text.h"
#include "commands/commands.h"
#include "commands/new_files.h"
#include "commands/session.h"
#include "commands/usage.h"
#include "config/labels.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name in the templates, in their texts and in the names of their files. */
static const char placeholder[] = "my_scheme";

enum { OPTION_SITE = 's', OPTION_LANGUAGE = 'l' };

struct arguments {
  struct session_options session;
  const char *name, *site, *language; /* language: the folder in templates */
};

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->session;
    return 0;
  case OPTION_SITE:
    if (strcmp(argument, "embed") != 0 && strcmp(argument, "qk") != 0 && strcmp(argument, "bias") != 0) {
      argp_error(state, "--site: '%s' is none of embed, qk, bias", argument);
    }
    a->site = argument;
    return 0;
  case OPTION_LANGUAGE:
    if (strcmp(argument, "c") != 0 && strcmp(argument, "c++") != 0) {
      argp_error(state, "--lang: '%s' is none of c, c++", argument);
    }
    a->language = strcmp(argument, "c") == 0 ? "c" : "cxx";
    return 0;
  case ARGP_KEY_ARG:
    if (a->name) {
      argp_error(state, "one name at a time: '%s' and '%s' are given", a->name, argument);
    }
    a->name = argument;
    return 0;
  case ARGP_KEY_NO_ARGS:
    argp_error(state, "no name is given");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"site", OPTION_SITE, "SITE", 0, "where the scheme acts: embed, qk or bias (default)", 0},
    {"lang", OPTION_LANGUAGE, "LANGUAGE", 0, "the language of the source: c (default) or c++", 0},
    {0}};
static const struct argp_child children[] = {{&session_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "NAME",
    .doc = "Write the folder NAME with a plugin that builds, keeps the contract and runs as it is: the source with one "
           "worked formula and the places to change marked, a CMakeLists.txt with its tests, a config that runs it "
           "beside rope and none, and a README to fill in. NAME becomes the scheme's id.",
    .children = children,
};

/* ---- the name ---- */

/* CMake keeps these names of targets for itself; the plugin's target bears the scheme's id. */
static const char *const cmake_targets[] = {
    "all",  "ALL_BUILD", "help",    "install",        "INSTALL",   "preinstall", "clean",
    "test", "package",   "PACKAGE", "package_source", "RUN_TESTS", "ZERO_CHECK", NULL};

static int check_name(const struct arguments *a, const struct session *session, struct error *err) {
  const char *reason = label_refusal(a->name, false);
  if (reason) {
    return error_set(err, ERROR_USAGE, "'%.80s' cannot be the id of a scheme: %s", a->name, reason);
  }
  for (size_t i = 0; cmake_targets[i]; i++) {
    if (!strcmp(a->name, cmake_targets[i])) {
      return error_set(err, ERROR_USAGE, "'%s' cannot be the id of this scheme: CMake has a target of that name",
                       a->name);
    }
  }
  for (size_t i = 0; session->ids[i]; i++) {
    if (!strcmp(a->name, session->ids[i])) {
      return error_set(err, ERROR_USAGE, "there is a scheme '%s' already: choose another name", a->name);
    }
  }
  return 0;
}

/* ---- the files ---- */

struct target {
  int folder;       /* descriptor */
  const char *name; /* of the scheme */
  const char *made[8];
  size_t n_made;
};

/* `text` with the placeholder replaced; to be freed, or NULL with *err. */
static char *filled_in(const char *text, const char *name, struct error *err) {
  struct text out = {0};
  const char *found;
  for (; (found = strstr(text, placeholder)) != NULL; text = found + strlen(placeholder)) {
    text_append_bytes(&out, text, (size_t)(found - text));
    text_append(&out, name);
  }
  text_append(&out, text);
  return text_take(&out, err);
}

static int write_all(int file, const char *text) {
  size_t left = strlen(text);
  while (left > 0) {
    ssize_t written = write(file, text, left);
    if (written < 0 && errno != EINTR) {
      return -1;
    }
    text += written > 0 ? written : 0;
    left -= written > 0 ? (size_t)written : 0;
  }
  return 0;
}

/* Write one template, whose path is FOLDER/FILE or FILE, into the target. */
static int write_file(struct target *target, size_t which, struct error *err) {
  const char *slash = strrchr(PE_FILES[which].path, '/');
  char *file_name = filled_in(slash ? slash + 1 : PE_FILES[which].path, target->name, err);
  char *text = file_name ? filled_in(PE_FILES[which].text, target->name, err) : NULL;
  int status = text ? 0 : (int)err->code;
  if (!status) {
    int file = openat(target->folder, file_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool written = file >= 0 && write_all(file, text) == 0;
    int number = errno;
    if (file >= 0) {
      target->made[target->n_made++] = PE_FILES[which].path;
      if (close(file) != 0 && written) {
        written = false;
        number = errno;
      }
    }
    if (!written) {
      status =
          error_set(err, ERROR_FILE_WRITE, "%s/%s cannot be written: %s", target->name, file_name, strerror(number));
    }
  }
  free(file_name);
  free(text);
  return status;
}

/* A template belongs to a site, to a language, to both (a source of the language in the site's folder), or to all. */
static bool is_wanted(const struct arguments *a, const char *path) {
  const char *slash = strchr(path, '/');
  if (!slash) {
    return true;
  }
  size_t length = (size_t)(slash - path);
  if (!strncmp(path, a->language, length) && a->language[length] == '\0') {
    return true;
  }
  const char *extension = strrchr(path, '.');
  bool other_language = strcmp(extension, strcmp(a->language, "c") == 0 ? ".cpp" : ".c") == 0;
  return !strncmp(path, a->site, length) && a->site[length] == '\0' && !other_language;
}

/* Nothing half-done: what was made is taken away again. */
static void take_back(struct target *target) {
  struct error ignored;
  for (size_t i = 0; i < target->n_made; i++) {
    const char *slash = strrchr(target->made[i], '/');
    char *file_name = filled_in(slash ? slash + 1 : target->made[i], target->name, &ignored);
    if (file_name) {
      (void)unlinkat(target->folder, file_name, 0);
    }
    free(file_name);
  }
  (void)rmdir(target->name);
}

static int write_folder(const struct arguments *a, struct error *err) {
  if (mkdir(a->name, 0777) != 0) {
    return errno == EEXIST ? error_set(err, ERROR_FILE_WRITE, "%s is there already: nothing was written", a->name)
                           : error_set(err, ERROR_FILE_WRITE, "%s cannot be made: %s", a->name, strerror(errno));
  }
  struct target target = {.name = a->name, .folder = open(a->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (target.folder < 0) {
    int number = errno;
    (void)rmdir(a->name);
    return error_set(err, ERROR_FILE_WRITE, "%s cannot be opened: %s", a->name, strerror(number));
  }
  int status = 0;
  for (size_t i = 0; !status && i < sizeof PE_FILES / sizeof *PE_FILES; i++) {
    status = is_wanted(a, PE_FILES[i].path) ? write_file(&target, i, err) : 0;
  }
  if (status) {
    take_back(&target);
  }
  close(target.folder);
  return status;
}

int command_new(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {.site = "bias", .language = "c"};
  command_parse(&argp, argc, argv, &a);
  struct session session;
  int code = session_open(&a.session, &session);
  if (code) {
    return code;
  }
  int status = check_name(&a, &session, &err);
  session_close(&session);
  status = status ? status : write_folder(&a, &err);
  if (status) {
    return command_fail(&err);
  }
  const char *extension = strcmp(a.language, "c") == 0 ? "c" : "cpp";
  printf("%s/ is written. Build it, check it, run it:\n"
         "  cmake -S %s -B %s/build && cmake --build %s/build\n"
         "  pe-run check %s/build/%s.so\n"
         "  pe-run %s/%s.yaml\n"
         "Then put your formula where %s/%s.%s says CHANGE.\n",
         a.name, a.name, a.name, a.name, a.name, a.name, a.name, a.name, a.name, a.name, extension);
  return 0;
}
