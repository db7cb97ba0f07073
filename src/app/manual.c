#include "app/manual.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/version.h"

/* A page in the language of man(7): \ is its escape, and - ' ` ^ ~ are typographic signs. */
static void print_character(FILE *page, char c)
{
    static const struct {
        char character;
        const char *escape;
    } escapes[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                   {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        if (escapes[i].character == c) {
            fputs(escapes[i].escape, page);
            return;
        }
    }
    fputc(c, page);
}

static void print_words(FILE *page, const char *text)
{
    if (text[0] == '.') {
        fputs("\\&", page); /* otherwise a request */
    }
    for (; *text != '\0'; text++) {
        print_character(page, *text);
    }
}

/* Lines that begin with a blank are a table or an example and keep their form. */
static void print_lines(FILE *page, const char *text)
{
    bool verbatim = false;
    for (bool is_first = true; *text != '\0'; is_first = false) {
        const size_t length = strcspn(text, "\n");
        char line[256];
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        if (verbatim != (line[0] == ' ')) {
            verbatim = !verbatim;
            fputs(verbatim ? (is_first ? ".nf\n" : ".PP\n.nf\n") : ".fi\n.PP\n", page);
        }
        print_words(page, line);
        fputc('\n', page);
        text += length + (text[length] == '\n');
    }
    if (verbatim) {
        fputs(".fi\n", page);
    }
}

static void print_options(FILE *page, const struct command_line *line)
{
    for (const struct option *o = line->options; o->kind != OPTION_END; o++) {
        if (!options_shown(line, o)) {
            continue;
        }
        fputs(".TP\n\\fB", page);
        print_words(page, o->name);
        fputs("\\fR", page);
        if (o->argument[0] != '\0') {
            fputs(" \\fI", page);
            print_words(page, o->argument);
            fputs("\\fR", page);
        }
        fputc('\n', page);
        if (o->kind == OPTION_NAME) {
            print_words(page, ((const struct option_name *)o->target)->known());
        }
        /* a text that continues the list of names begins with a blank */
        print_words(page, o->help);
        fputc('\n', page);
    }
    fputs(".TP\n\\fB\\-\\-help\\fR\nshow the options\n", page);
}

static void print_heading(FILE *page, const char *title, const char *summary)
{
    char upper[64];
    snprintf(upper, sizeof upper, "%s", title);
    for (char *c = upper; *c != '\0'; c++) {
        *c = (char)toupper((unsigned char)*c);
    }
    fputs(".TH ", page);
    print_words(page, upper);
    fprintf(page, " 1 \"\" \"isotherm %s\" \"Isotherm\"\n.SH NAME\n", ISOTHERM_VERSION);
    print_words(page, title);
    fputs(" \\- ", page);
    print_words(page, summary);
    fputs("\n.SH SYNOPSIS\n", page);
}

/* The parts of one table. `level`: SH for a command, SS for a word such as `bench halo`. */
static void print_table(FILE *page, const struct command_line *line)
{
    fputs(".nf\n", page);
    print_words(page, line->usage);
    fputs("\n.fi\n.PP\n", page);
    print_lines(page, line->about);
    print_options(page, line);
    fputs(".PP\nExample:\n.PP\n", page);
    print_lines(page, line->example);
}

static void print_command(FILE *page, const struct command *command)
{
    char title[64];
    snprintf(title, sizeof title, "isotherm-%s", command->name);
    print_heading(page, title, command->summary);
    fputs(".nf\n", page);
    print_words(page, command->line->usage);
    fputs("\n.fi\n.SH DESCRIPTION\n", page);
    print_lines(page, command->line->about);
    fputs(".SH OPTIONS\n", page);
    print_options(page, command->line);
    fputs(".SH EXAMPLES\n", page);
    print_lines(page, command->line->example);
    for (const struct command_word *word = command->words; word != NULL && word->name != NULL;
         word++) {
        fprintf(page, ".SH \"isotherm %s %s\"\n", command->name, word->name);
        print_table(page, word->page);
    }
    fputs(".SH SEE ALSO\n.BR isotherm (1)\n", page);
}

static void print_exit_codes(FILE *page)
{
    static const struct {
        int code;
        const char *meaning;
    } codes[] = {
#define STATUS_ROW(name, exit_code, meaning) {exit_code, meaning},
        STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
    };
    fputs(".SH EXIT STATUS\n", page);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (i == 0 || codes[i].code != codes[i - 1].code) {
            fprintf(page, ".TP\n%d\n", codes[i].code);
        } else {
            fputs("or ", page);
        }
        print_words(page, codes[i].meaning);
        fputc('\n', page);
    }
}

static void print_overview(FILE *page, const struct command *const commands[], int ncommands)
{
    print_heading(page, "isotherm", "heat and diffusion on structured grids, on many ranks");
    fputs(
        "\\fBisotherm\\fR \\fICOMMAND\\fR ...\n.br\n"
        "\\fBmpirun \\-n\\fR \\fIN\\fR \\fBisotherm run\\fR \\fICONFIG\\fR\n"
        ".SH DESCRIPTION\n"
        "Isotherm solves the heat equation on structured grids in one, two and three dimensions,\n"
        "on one core or on many GPUs with MPI.\n"
        ".SH COMMANDS\n",
        page);
    for (int i = 0; i < ncommands; i++) {
        fprintf(page, ".TP\n.BR isotherm\\-%s (1)\n", commands[i]->name);
        print_words(page, commands[i]->summary);
        fputc('\n', page);
    }
    fputs(".SH OPTIONS\n.TP\n\\fB\\-\\-help\\fR\nshow the commands; after a command, its options\n"
          ".TP\n\\fB\\-\\-version\\fR [\\fB\\-\\-verbose\\fR]\n"
          "show the version; also the commit, compilers, backends and libraries\n",
          page);
    print_exit_codes(page);
}

/* Pages are printed to memory: one place notices that writing failed. */
struct page {
    FILE *stream;
    char *text;
    size_t nbytes;
};

static enum status page_open(struct page *page)
{
    *page = (struct page){.text = NULL};
    page->stream = open_memstream(&page->text, &page->nbytes);
    return CHECK_MEMORY(page->stream != NULL, "no memory for a man page");
}

static enum status page_save(struct page *page, const char *folder, const char *name)
{
    char path[PATH_BYTES];
    enum status status =
        CHECK_MEMORY(fclose(page->stream) == 0 && page->text != NULL, "no memory for %s", name);
    if (status == STATUS_OK) {
        status = path_join(folder, name, path);
    }
    if (status == STATUS_OK) {
        status = file_create(path, page->text, page->nbytes);
    }
    free(page->text);
    return status;
}

enum status manual_write(const struct command *const commands[], int ncommands, const char *folder)
{
    struct page page;
    TRY(page_open(&page));
    print_overview(page.stream, commands, ncommands);
    TRY(page_save(&page, folder, "isotherm.1"));
    for (int i = 0; i < ncommands; i++) {
        char name[64];
        snprintf(name, sizeof name, "isotherm-%s.1", commands[i]->name);
        TRY(page_open(&page));
        print_command(page.stream, commands[i]);
        TRY(page_save(&page, folder, name));
    }
    TRY(page_open(&page));
    manual_print_words(page.stream, commands, ncommands);
    return page_save(&page, folder, "completion.txt");
}
