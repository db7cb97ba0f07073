/* What the program says of itself: versions, and the words of its command line. */
#include "app/about.h"

#include <ctype.h>
#include <string.h>

#include <mpi.h>

#include "app/build.h"
#include "app/commit.h"
#include "base/version.h"
#include "config/schema/schema.h"
#include "io/hdf5/h5_about.h"
#include "kernels/backends.h"

/* The libraries that CMake looked for, except MPI and HDF5, which report their own versions. */
static const char *const libraries[][2] = {ISOTHERM_LIBRARIES};

static void print_row(FILE *stream, const char *name, const char *value)
{
    fprintf(stream, "%-14s %s\n", name, value);
}

static void print_mpi(FILE *stream)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "unknown";
    int length = 0;
    /* one of the few calls that are valid before MPI_Init */
    if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) {
        snprintf(text, sizeof text, "unknown");
    }
    text[strcspn(text, "\n")] = '\0';
    print_row(stream, "MPI", text);
}

static void print_hdf5(FILE *stream)
{
    const struct h5_about hdf5 = h5_about();
    char text[128];
    /* parallel: CMake takes no other */
    snprintf(text, sizeof text, "%s, parallel (built with %s)", hdf5.version, hdf5.built);
    print_row(stream, "HDF5", text);
}

/* All that users can choose: `isotherm doctor` shows whether they can run here. */
static void print_backends(FILE *stream)
{
    const char *separator = "";
    fprintf(stream, "%-15s", "backends");
    for (int i = 0; i < backend_count(); i++) {
        if (!backend_at(i)->for_tests) {
            fprintf(stream, "%s%s", separator, backend_at(i)->name);
            separator = ", ";
        }
    }
    fprintf(stream, "\n");
}

void about_print(FILE *stream, bool verbose)
{
    fprintf(stream, "isotherm %s\n", ISOTHERM_VERSION);
    if (!verbose) {
        return;
    }
    print_row(stream, "commit", ISOTHERM_COMMIT);
    print_row(stream, "compilers", ISOTHERM_COMPILERS);
    print_row(stream, "flags", ISOTHERM_FLAGS);
    print_backends(stream);
    print_mpi(stream);
    print_hdf5(stream);
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        print_row(stream, libraries[i][0], libraries[i][1]);
    }
}

/* ---- for shell completion ---- */

/* A list of names for a reader: "auto, cpu". */
static void print_names(FILE *stream, const char *names)
{
    for (; *names != '\0'; names++) {
        if (*names != ',') {
            fputc(*names, stream);
        }
    }
}

/* The argument as --help shows it: "FILE", "auto|FILE". Capitals stand for something else. */
static void print_argument(FILE *stream, const char *argument)
{
    static const char *const places[][2] = {
        {"FILE", "<file>"}, {"DIR", "<directory>"}, {"KEY=VALUE", "<set>"}};
    const char *separator = "";
    while (*argument != '\0') {
        const size_t length = strcspn(argument, "|");
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)length, argument);
        const char *value = isupper((unsigned char)word[0]) ? NULL : word;
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            value = strcmp(places[i][0], word) == 0 ? places[i][1] : value;
        }
        if (value != NULL) {
            fprintf(stream, "%s%s", separator, value);
            separator = " ";
        }
        argument += length + (argument[length] == '|');
    }
}

static void print_options(FILE *stream, const char *command, const struct command_line *line)
{
    for (const struct option *o = line->options; o->kind != OPTION_END; o++) {
        if (!options_shown(line, o)) {
            continue;
        }
        fprintf(stream, "%s|%s|", command, o->name);
        if (o->kind == OPTION_NAME) {
            print_names(stream, ((const struct option_name *)o->target)->known());
        } else if (o->kind == OPTION_FLAG) {
            fputc('-', stream);
        } else {
            print_argument(stream, o->argument);
        }
        fprintf(stream, "|%s\n", o->help + strspn(o->help, " "));
    }
    fprintf(stream, "%s|--help|-|show the options\n", command);
}

/* The operands are a configuration, words with pages of their own, or files. */
static void print_operands(FILE *stream, const struct command *command)
{
    const struct command_line *line = &command->line;
    if (line->max_operands == 0) {
        return;
    }
    fprintf(stream, "%s||", command->name);
    if (command->words != NULL) {
        const char *separator = "";
        for (const struct command_word *word = command->words; word->name != NULL; word++) {
            fprintf(stream, "%s%s", separator, word->name);
            separator = " ";
        }
    } else {
        const bool is_config = line->operand != NULL && strcmp(line->operand, "CONFIG") == 0;
        fputs(is_config ? "<config>" : "<file> <directory>", stream);
    }
    fprintf(stream, "|%s\n", line->operand != NULL ? line->operand : "");
}

/* A key as --set takes it: "initial[]..." with the number of its first entry. */
static void print_key(FILE *stream, const char *section, const char *rest,
                      const struct schema_key *key)
{
    fputs("--set|", stream);
    for (int part = 0; part < 2; part++) {
        for (const char *c = part == 0 ? section : rest; *c != '\0'; c++) {
            fputc(*c, stream);
            if (c[0] == '[' && c[1] == ']') {
                fputc('0', stream);
            }
        }
    }
    fputs((key->flags & SCHEMA_OR_AUTO) != 0 ? "|auto" : "|", stream);
    for (const struct schema_choice *c = key->choices; c != NULL && c->name != NULL; c++) {
        const bool is_first = c == key->choices && (key->flags & SCHEMA_OR_AUTO) == 0;
        fprintf(stream, "%s%s", is_first ? "" : " ", c->name);
    }
    fputs("|\n", stream);
}

/* Sections that share their keys, as the six faces do, each have them. */
static void print_keys(FILE *stream)
{
    const struct schema_key *table = schema_table();
    for (const struct schema_key *key = table; key->path != NULL; key++) {
        if (key->type == SCHEMA_SECTION || key->type == SCHEMA_LIST) {
            continue;
        }
        bool is_shared = false;
        for (const struct schema_key *section = table; section->path != NULL; section++) {
            const char *members = section->members;
            const size_t length = members != NULL ? strlen(members) : 0;
            if (section->type == SCHEMA_SECTION && length > 0 &&
                strncmp(key->path, members, length) == 0 && key->path[length] == '.') {
                print_key(stream, section->path, key->path + length, key);
                is_shared = true;
            }
        }
        if (!is_shared) {
            print_key(stream, "", key->path, key);
        }
    }
}

void completion_print(FILE *stream, const struct command *const commands[], int ncommands)
{
    for (int i = 0; i < ncommands; i++) {
        fprintf(stream, "|%s||%s\n", commands[i]->name, commands[i]->summary);
    }
    fputs("|--help|-|show the commands\n|--version|--verbose|show the version\n", stream);
    for (int i = 0; i < ncommands; i++) {
        print_operands(stream, commands[i]);
        print_options(stream, commands[i]->name, &commands[i]->line);
        const struct command_word *word = commands[i]->words;
        for (; word != NULL && word->name != NULL; word++) {
            char name[64];
            snprintf(name, sizeof name, "%s %s", commands[i]->name, word->name);
            print_options(stream, name, &word->page);
        }
    }
    print_keys(stream);
}
