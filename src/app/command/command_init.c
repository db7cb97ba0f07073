/* isotherm init: write a commented configuration that runs as it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "app/command/commands.h"
#include "base/file.h"
#include "base/log.h"

enum { KIND, FILE_NAME, OPERANDS };

static const char *operands[OPERANDS];

static const struct option option_table[] = {{OPTION_END, NULL, NULL, NULL, NULL}};

static void list_kinds(void)
{
    for (const struct config_template *t = config_templates; t->name != NULL; t++) {
        const int length = (int)strcspn(t->text, "\n");
        log_info("  %-8s %.*s", t->name, length - 2, t->text + 2); /* without "# " */
    }
}

const struct config_template *config_template_find(const struct config_template *list,
                                                   const char *name, char known[256])
{
    known[0] = '\0';
    for (; list->name != NULL; list++) {
        text_add(known, 256, ", ", "%s", list->name);
        if (strcmp(list->name, name) == 0) {
            return list;
        }
    }
    return NULL;
}

static enum status write_new(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FAIL_IF(fd < 0 && errno == EEXIST,
            fail(STATUS_INPUT, "%s exists already; give another name: isotherm init %s FILE", path,
                 operands[KIND]));
    FAIL_IF(fd < 0, fail(STATUS_FILE, "cannot create %s: %s", path, strerror(errno)));
    return file_close(fd, path, file_write(fd, path, text, strlen(text)));
}

static enum status execute(void)
{
    char known[256];
    char name[PATH_BYTES];
    if (operands[KIND] == NULL) {
        list_kinds();
        return STATUS_OK;
    }
    const struct config_template *template =
        config_template_find(config_templates, operands[KIND], known);
    FAIL_IF(template == NULL,
            fail(STATUS_INPUT, "'%s' is not a kind of configuration; valid kinds: %s",
                 operands[KIND], known));
    snprintf(name, sizeof name, "%s.yaml", template->name);
    const char *path = operands[FILE_NAME] != NULL ? operands[FILE_NAME] : name;
    TRY(write_new(path, template->text));
    log_info("wrote %s; next: isotherm run %s", path, path);
    return STATUS_OK;
}

const struct command command_init = {
    .name = "init",
    .summary = "write a configuration to start from",
    .line = {.usage = "isotherm init [KIND [FILE]]",
             .about =
                 "Write a commented configuration to start from, which runs as it is, to FILE\n"
                 "(KIND.yaml). Without KIND: list the kinds. An existing file is never replaced.",
             .example = "  $ isotherm init rod\n"
                        "  $ isotherm run rod.yaml",
             .options = option_table,
             .max_operands = OPERANDS,
             .operands = operands},
    .execute = execute,
};
