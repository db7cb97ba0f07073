#include "model/field/quantity.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char note_begin[] = "# quantity,";
static const struct quantity_setting temperature = {
    .name = "temperature", .symbol = "T", .unit = "K", .content_unit = "J"};
static const struct quantity_setting *used = &temperature;

static const char *per = ""; /* of sums over the volume */

void quantity_use(const struct settings *settings)
{
    static const char *const lengths[] = {"", "/m", "/m^2", ""};
    int free_axes = 0;
    for (int a = AXIS_X; a < AXIS_COUNT; a++) {
        const bool has_default = settings->grid.lower[a] == 0 && settings->grid.upper[a] == 1;
        const bool has_length = settings->grid.geometry == GEOMETRY_CARTESIAN ||
                                (settings->grid.geometry == GEOMETRY_AXISYMMETRIC && a == AXIS_Y);
        free_axes += settings->grid.cells[a] == 1 && has_default && has_length ? 1 : 0;
    }
    per = lengths[free_axes];
    used = settings->quantity.given ? &settings->quantity : &temperature;
}

const struct quantity_setting *quantity_used(void)
{
    return used;
}

const char *quantity_unit(const char *unit, char text[SCHEMA_UNIT_BYTES])
{
    char whole[SCHEMA_UNIT_BYTES];
    if (strcmp(unit, "K/W") == 0 && per[0] != '\0') {
        snprintf(text, SCHEMA_UNIT_BYTES, "K/(W%s)", per);
        return text;
    }
    const bool is_sum =
        strcmp(unit, "J") == 0 || strcmp(unit, "W") == 0 || strcmp(unit, "m^3") == 0;
    schema_unit_for(unit, used->unit, used->content_unit, whole);
    snprintf(text, SCHEMA_UNIT_BYTES, "%.290s%s", used->given && strlen(unit) == 1 ? whole : unit,
             is_sum ? per : "");
    return text;
}

const char *quantity_note(char note[QUANTITY_NOTE_BYTES])
{
    note[0] = '\0';
    if (used->given) {
        snprintf(note, QUANTITY_NOTE_BYTES, "%s%.100s,%.100s,%.100s,%.100s\n", note_begin,
                 used->name, used->symbol, used->unit, used->content_unit);
    }
    return note;
}

void quantity_use_note(const char *text)
{
    static struct quantity_setting noted;
    static char note[QUANTITY_NOTE_BYTES];
    char **const parts[] = {&noted.name, &noted.symbol, &noted.unit, &noted.content_unit};
    char *next = note;
    noted.given = text != NULL && strncmp(text, note_begin, strlen(note_begin)) == 0;
    snprintf(note, sizeof note, "%s", noted.given ? text + strlen(note_begin) : "");
    for (size_t i = 0; noted.given && i < sizeof parts / sizeof parts[0]; i++) {
        *parts[i] = strsep(&next, ",\r\n");
        noted.given = *parts[i] != NULL;
    }
    used = noted.given ? &noted : &temperature;
}

/* "mol/m^3": "mol_per_m3" */
static void print_unit(FILE *out, const char *unit)
{
    for (; *unit != '\0'; unit++) {
        if (*unit == '/') {
            fputs("_per_", out);
        } else if (isalnum((unsigned char)*unit) || *unit == '_') {
            fputc(*unit, out);
        }
    }
}

/* The end of a name's column: "_K" for the unit, "_J" for that of the content, "_W" per second. */
static char *suffix_of(char kind)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    fputc('_', out);
    print_unit(out, kind == 'K' ? used->unit : used->content_unit);
    fputs(kind == 'W' ? "_per_s" : "", out);
    return fclose(out) == 0 ? text : NULL;
}

/* The name without its suffix: its first word T is the symbol, and heat is the content. */
static void print_name(FILE *out, const char *name, size_t length, char kind, bool back)
{
    const char *const plain = kind == 'J' ? "heat" : "T";
    const char *const own = kind == 'J' ? "content" : used->symbol;
    const char *from = back ? own : plain;
    const char *at = kind == 'J' ? strstr(name, from) : name;
    const size_t word = strlen(from);
    if (at != NULL && at + word <= name + length && strncmp(at, from, word) == 0 &&
        at[word] == '_') {
        fprintf(out, "%.*s%s", (int)(at - name), name, back ? plain : own);
        length -= (size_t)(at - name) + word;
        name = at + word;
    }
    fprintf(out, "%.*s", (int)length, name);
}

/* Which suffix a name has: K, J or W; 0: none of them. */
static char kind_of(const char *name, size_t length, bool back)
{
    if (!back) {
        const char last = length > 2 && name[length - 2] == '_' ? name[length - 1] : '\0';
        return last != '\0' && strchr("KJW", last) != NULL ? last : '\0';
    }
    const char *content = strstr(name, "content");
    return strncmp(name, "flow_", 5) == 0               ? 'W'
           : content != NULL && content < name + length ? 'J'
                                                        : 'K';
}

char *quantity_columns(const char *columns, bool back)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = used->given ? open_memstream(&text, &bytes) : NULL;
    if (out == NULL) {
        return used->given ? NULL : strdup(columns);
    }
    while (*columns != '\0') {
        const size_t length = strcspn(columns, ",\n");
        const char kind = kind_of(columns, length, back);
        char *suffix = suffix_of(kind);
        const char plain[] = {'_', kind, '\0'};
        const char *from = back ? suffix : plain;
        const char *to = back ? plain : suffix;
        const size_t cut = from != NULL ? strlen(from) : 0;
        if (kind != '\0' && from != NULL && to != NULL && length > cut &&
            strncmp(columns + length - cut, from, cut) == 0) {
            print_name(out, columns, length - cut, kind, back);
            fputs(to, out);
        } else {
            fprintf(out, "%.*s", (int)length, columns);
        }
        free(suffix);
        columns += length;
        if (*columns != '\0') {
            fputc(*columns++, out);
        }
    }
    return fclose(out) == 0 ? text : NULL;
}
