/* Prints the words for shell completion, which the build puts into scripts (manual.cmake): a line
 * `command|word|values|help` per command, option, operand and key.
 * command: "" for the commands themselves, "run", "bench halo"; "--set" for keys.
 * values: the words that can follow, and <file>, <directory>, <config>, <set> for what a shell must
 * look up; "-" for an option that takes no value. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "app/command/commands.h"
#include "bench/bench.h"
#include "config/schema/schema.h"
#include "doctor/doctor.h"
#include "plot/plot.h"

static const struct command *const commands[] = {COMMANDS};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

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

int main(void)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        fprintf(stdout, "|%s||%s\n", commands[i]->name, commands[i]->summary);
    }
    fputs("|--help|-|show the commands\n|--version|--verbose|show the version\n", stdout);
    for (int i = 0; i < COMMAND_COUNT; i++) {
        print_operands(stdout, commands[i]);
        print_options(stdout, commands[i]->name, &commands[i]->line);
        const struct command_word *word = commands[i]->words;
        for (; word != NULL && word->name != NULL; word++) {
            char name[64];
            snprintf(name, sizeof name, "%s %s", commands[i]->name, word->name);
            print_options(stdout, name, &word->page);
        }
    }
    print_keys(stdout);
    return 0;
}
