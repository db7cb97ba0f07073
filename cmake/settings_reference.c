/* The reference page, from the schema and the texts of an earlier page. */
#include "cmake/settings_reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/expression.h"
#include "config/schema/schema.h"
#include "config/settings.h"

static void write_cell(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|') {
            fputc('\\', out);
        }
        fputc(*text, out);
    }
}

/* Write what follows `mark`, up to the end of the line or to `end`, at its place number `nth` in
 * the earlier page; "?" if there is none. */
static void write_earlier(FILE *out, const char *page, const char *mark, int nth, const char *end)
{
    const char *text = strstr(page, mark);
    for (; text != NULL && nth > 0; nth--) {
        text = strstr(text + 1, mark);
    }
    if (text == NULL) {
        fputc('?', out);
        return;
    }
    text += strlen(mark);
    size_t length = strcspn(text, "\n");
    if (length >= strlen(end) && strncmp(text + length - strlen(end), end, strlen(end)) == 0) {
        length -= strlen(end);
    }
    if (mark[1] == '|') { /* a row: its last cell */
        const char *cell = text + length;
        while (cell[-1] != '|' || cell[-2] == '\\') {
            cell--;
        }
        length -= (size_t)(cell + 1 - text);
        text = cell + 1;
    }
    fwrite(text, 1, length, out);
}

static void write_row(FILE *out, const struct schema_key *key, const char *page)
{
    int nth = 0; /* a key may have several rows */
    char mark[SCHEMA_TEXT_BYTES];
    for (const struct schema_key *before = schema_table(); before < key; before++) {
        nth += strcmp(before->path, key->path) == 0;
    }
    char expected[SCHEMA_TEXT_BYTES];
    const bool required = (key->flags & SCHEMA_REQUIRED) != 0;
    fprintf(out, "| `%s` | ", key->path);
    write_cell(out, schema_expectation(key, expected));
    if (key->example != NULL) {
        fputs(", such as `", out);
        write_cell(out, key->example);
        fputc('`', out);
    }
    if (key->fallback != NULL) {
        fprintf(out, " | `%s`", key->fallback);
    } else {
        fputs(required ? " | required" : " |", out);
        if (required && key->rival != NULL) {
            fprintf(out, ", or `%s`", key->rival);
        }
    }
    fputs(" | ", out);
    write_cell(out, key->unit != NULL ? key->unit->name : "");
    fputs(key->unit != NULL ? " | " : "| ", out);
    snprintf(mark, sizeof mark, "\n| `%s` |", key->path);
    write_earlier(out, page, mark, nth, " |");
    fputs(" |\n", out);
}

/* Is the key below the section, at any depth? */
static bool is_below(const struct schema_key *key, const struct schema_key *section)
{
    const size_t length = strlen(section->path);
    return strncmp(key->path, section->path, length) == 0 &&
           (key->path[length] == '.' || key->path[length] == '[');
}

static void write_section(FILE *out, const struct schema_key *section, const char *page)
{
    char mark[SCHEMA_TEXT_BYTES];
    char required[SCHEMA_TEXT_BYTES] = "";
    if ((section->flags & SCHEMA_REQUIRED) != 0) {
        snprintf(required, sizeof required,
                 section->rival != NULL ? " Required, or `%s`." : " Required.", section->rival);
    }
    snprintf(mark, sizeof mark, "\n## %s\n\n", section->path);
    fputs(mark, out);
    write_earlier(out, page, mark, 0, required);
    fprintf(out, "%s\n\n", required);
    bool listed = false;
    for (const struct schema_key *key = schema_table(); key->path != NULL; key++) {
        /* the page shows the six faces as one section, boundary.* */
        if (is_below(key, section) && key->type == SCHEMA_SECTION && key->members == NULL) {
            snprintf(mark, sizeof mark, "\n- `%s`: ", key->path);
            fputs(mark + 1, out);
            write_earlier(out, page, mark, 0, "");
            fputc('\n', out);
            listed = true;
        }
    }
    fputs(listed ? "\n" : "", out);
    fputs("| key | value | default | unit | meaning |\n|---|---|---|---|---|\n", out);
    for (const struct schema_key *key = schema_table(); key->path != NULL; key++) {
        if (is_below(key, section) && key->type != SCHEMA_SECTION) {
            write_row(out, key, page);
        }
    }
}

/* One line: the keys with this answer; a section as `time.*` where all its keys have it. */
static void write_restart_keys(FILE *out, enum schema_restart restart, const char *meaning)
{
    const struct schema_key *table = schema_table();
    const char *before = "";
    fputs("| ", out);
    for (const struct schema_key *key = table; key->path != NULL; key++) {
        const size_t top = strcspn(key->path, ".[");
        bool whole = true;
        bool first = true; /* of its section with this answer */
        for (const struct schema_key *other = table; other->path != NULL; other++) {
            const bool same_section = strncmp(other->path, key->path, top) == 0 &&
                                      strcspn(other->path, ".[") == top &&
                                      other->restart != SCHEMA_RESTART_UNSAID;
            whole = whole && (!same_section || other->restart == restart);
            first = first && !(same_section && other < key && other->restart == restart);
        }
        const bool twice = key > table && strcmp(key[-1].path, key->path) == 0;
        if (key->restart != restart || twice || (whole && !first)) {
            continue;
        }
        fprintf(out, "%s`%.*s%s`", before, whole ? (int)top : (int)strlen(key->path), key->path,
                whole && key->path[top] != '\0' ? ".*" : "");
        before = ", ";
    }
    fprintf(out, " | %s |\n", meaning);
}

static void write_restart(FILE *out)
{
    fputs("\n## A restart with another configuration\n\n"
          "A checkpoint holds the configuration that it was written with. `--restart` compares the "
          "effective values\n"
          "key by key and reports every change; `report.json` lists them.\n\n"
          "| keys | a change |\n|---|---|\n",
          out);
    write_restart_keys(out, SCHEMA_RESTART_IDLE,
                       "is reported; it has no effect, since the checkpoint holds the state");
    write_restart_keys(out, SCHEMA_RESTART_WARN,
                       "is reported as a warning: the following steps use the new value");
    write_restart_keys(out, SCHEMA_RESTART_ASK,
                       "is refused with exit code 2, unless `--restart-changed` is given");
    write_restart_keys(out, SCHEMA_RESTART_NEVER, "is always refused");
    fputs("| all others | is reported |\n", out);
}

/* Each unit once. */
static void write_units(FILE *out)
{
    const struct schema_key *table = schema_table();
    fputs("\n## Units\n\n"
          "A number is in the unit of its key, or it names another one of the same kind, as in "
          "`[5 mm, 1 cm]`, by\n"
          "[UDUNITS-2](https://docs.unidata.ucar.edu/udunits/current/). A build without it refuses "
          "such values. Formulas, and\n"
          "the configuration that a run stores, have plain numbers.\n\n"
          "A factor that is a power of ten moves the decimal point: `5 mm` has the same bits as "
          "`0.005`. Other factors and\n"
          "zero points are applied in extended precision, and the result is rounded once.\n\n"
          "`20 degC` is 293.15 K. With `run.watch.temperature: difference` units that have a zero "
          "point of their own are\n"
          "refused. In a compound such as `W/(m^2 degC)` degC means K.\n\n"
          "| value | unit | such as |\n|---|---|---|\n",
          out);
    for (const struct schema_key *key = table; key->path != NULL; key++) {
        const struct schema_unit *unit = key->unit;
        bool first = unit != NULL && unit->quantity != NULL;
        for (const struct schema_key *before = table; before < key; before++) {
            first = first && before->unit != unit;
        }
        if (first) {
            fprintf(out, "| %s | %s | `%s` |\n", unit->quantity, unit->name, unit->example);
        }
    }
}

static void write_reference(FILE *out, const char *page)
{
    const struct schema_key *table = schema_table();
    fputs("# Configuration\n\n"
          "A run is described by one YAML file. Lengths are in m, times in s, temperatures in K, "
          "heat in J, unless a value\n"
          "names its unit, as in `3 min` or `20 degC` ([Units](#units)).\n"
          "Any key can be set on the command line, as `--set key.path=value`; the value is also "
          "YAML.\n"
          "Entries of a list are numbered from 0: `--set initial[1].sphere.radius=0.1`.\n"
          "Setting `time.steps` replaces `time.end`, and vice versa.\n\n"
          "The largest magnitude of a number is 1e30, of an integer 2^53 (9007199254740992); "
          "temperatures are below 1e12 K. Strings have at most 4000 bytes.\n"
          "A list of one value may be given without brackets (`cells: 400`), and an integer as "
          "`4e2` or `400.0`.\n\n"
          "Formulas may use `" EXPRESSION_OPERATORS
          "`, the constants pi and e, and the functions\n" EXPRESSION_FUNCTIONS
          ".\nlog is the natural logarithm, as is ln.\n\n"
          "`required`: if its section is given. Keys without a default that are not required may "
          "be left out.\n\n"
          "<!-- The texts are written here, all else from src/config/schema: cmake --build "
          "build/cpu --target configuration_page -->\n\n"
          "| key | value | default | unit | meaning |\n|---|---|---|---|---|\n",
          out);
    for (int part = 0; part < 2; part++) { /* keys at the top, then sections and lists */
        for (const struct schema_key *key = table; key->path != NULL; key++) {
            const bool has_keys = key->type == SCHEMA_SECTION || key->type == SCHEMA_LIST;
            if (strchr(key->path, '.') == NULL && has_keys == (part == 1)) {
                (has_keys ? write_section : write_row)(out, key, page);
            }
        }
    }
    write_units(out);
    write_restart(out);
}

char *settings_reference(const char *page)
{
    char *text = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    if (out == NULL) {
        return NULL;
    }
    write_reference(out, page);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
