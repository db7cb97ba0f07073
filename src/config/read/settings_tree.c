#include "config/read/settings_tree.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct settings_memory {
    struct settings_memory *next;
    max_align_t bytes[];
};

void *origin_memory(struct settings_origin *origin, size_t nbytes)
{
    struct settings_memory *memory = calloc(1, sizeof *memory + nbytes);
    if (memory == NULL) {
        (void)fail(STATUS_MEMORY, "no memory for the configuration");
        return NULL;
    }
    memory->next = origin->memory;
    origin->memory = memory;
    return memory->bytes;
}

char *origin_text(struct settings_origin *origin, const char *text)
{
    const size_t nbytes = strlen(text) + 1;
    char *copy = origin_memory(origin, nbytes);
    return copy != NULL ? memcpy(copy, text, nbytes) : NULL;
}

void origin_destroy(struct settings_origin *origin)
{
    while (origin != NULL && origin->memory != NULL) {
        struct settings_memory *memory = origin->memory;
        origin->memory = memory->next;
        free(memory);
    }
    free(origin);
}

struct tree *tree_create(struct settings_origin *origin, enum tree_kind kind, int line,
                         const char *typed)
{
    struct tree *node = origin_memory(origin, sizeof *node);
    if (node != NULL) {
        *node = (struct tree){.kind = kind, .line = line, .typed = typed, .text = ""};
    }
    return node;
}

void tree_append(struct tree *parent, struct tree *child)
{
    *(parent->last != NULL ? &parent->last->next : &parent->first) = child;
    parent->last = child;
    parent->nchildren++;
}

struct tree *tree_child(const struct tree *node, const char *key)
{
    struct tree *child = node != NULL && node->kind == TREE_MAPPING ? node->first : NULL;
    while (child != NULL && strcmp(child->key, key) != 0) {
        child = child->next;
    }
    return child;
}

struct tree *tree_entry(const struct tree *node, int index)
{
    struct tree *child = node != NULL && node->kind == TREE_LIST && index >= 0 ? node->first : NULL;
    for (; child != NULL && index > 0; index--) {
        child = child->next;
    }
    return child;
}

bool tree_is_empty(const struct tree *node)
{
    return node->kind == TREE_SCALAR && !node->quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
            strcmp(node->text, "null") == 0);
}

bool tree_step_next(const char **path, struct tree_step *step)
{
    const char *p = *path;
    step->bracket = *p == '[';
    p += step->bracket;
    const size_t length = strcspn(p, ".[]");
    if (length == 0 || length >= sizeof step->name) {
        return false;
    }
    memcpy(step->name, p, length);
    step->name[length] = '\0';
    const bool number = length <= 6 && strspn(step->name, "0123456789") == length;
    step->index = number ? (int)strtol(step->name, NULL, 10) : -1;
    p += length;
    if (step->bracket) {
        if (*p != ']' || !number) {
            return false;
        }
        p++;
    }
    *path = p;
    if (*p == '.') {
        *path = p + 1;
        return p[1] != '\0' && p[1] != '[';
    }
    return *p == '\0' || *p == '[';
}

struct tree *tree_find(struct tree *root, const char *key, bool *exact)
{
    struct tree *node = root;
    struct tree_step step;
    *exact = false;
    while (*key != '\0') {
        if (!tree_step_next(&key, &step)) {
            return node;
        }
        struct tree *next =
            node->kind == TREE_LIST ? tree_entry(node, step.index) : tree_child(node, step.name);
        if (next == NULL) {
            return node;
        }
        node = next;
    }
    *exact = true;
    return node;
}

void tree_take_numbers(struct tree *node, const struct tree *from)
{
    node->si = strcmp(node->text, from->text) != 0 ? from->text : NULL;
    const struct tree *other = from->first;
    for (struct tree *child = node->first; child != NULL && other != NULL; child = child->next) {
        tree_take_numbers(child, other);
        other = other->next;
    }
}

static void show_into(const struct tree *node, char *text, size_t room)
{
    if (room < 2) {
        return;
    }
    if (node->kind != TREE_LIST) {
        snprintf(text, room, "%s", node->kind == TREE_MAPPING ? "{...}" : node->text);
        return;
    }
    size_t used = (size_t)snprintf(text, room, "[");
    for (const struct tree *child = node->first; child != NULL && used + 3 < room;
         child = child->next) {
        used += (size_t)snprintf(text + used, room - used, "%s", child != node->first ? ", " : "");
        show_into(child, text + used, room - used);
        used += strlen(text + used);
    }
    if (used + 1 < room) {
        snprintf(text + used, room - used, "]");
    }
}

const char *tree_show(const struct tree *node, char text[TREE_SHOW_BYTES])
{
    text[0] = '\0';
    show_into(node, text, TREE_SHOW_BYTES);
    if (strlen(text) == TREE_SHOW_BYTES - 1) {
        size_t cut = TREE_SHOW_BYTES - 4;
        while (cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80) {
            cut--; /* not within a UTF-8 character */
        }
        memcpy(text + cut, "...", 4);
    }
    return text;
}

enum status origin_place(struct settings_origin *origin, const struct tree *at, const char *key,
                         enum status failed)
{
    char whole[STATUS_MESSAGE_BYTES];
    origin->failed_line = at->typed != NULL ? 0 : at->line;
    const char *colon = key != NULL ? ": " : "";
    key = key != NULL ? key : "";
    if (at->typed != NULL) {
        snprintf(whole, sizeof whole, "%.406s: %.256s%s%.1199s", at->typed, key, colon,
                 fail_message());
    } else {
        snprintf(whole, sizeof whole, "%.400s:%d: %.256s%s%.1199s", origin->name, at->line, key,
                 colon, fail_message());
    }
    /* a message is one line: replace control characters in quoted values */
    for (char *p = whole; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            *p = ' ';
        }
    }
    return fail(failed, "%s", log_clean(whole));
}

struct settings_problem {
    struct settings_problem *next; /* sorted by line; the command line comes last */
    int line;
    const char *text;
};

enum status origin_collect(struct settings_origin *origin, enum status status)
{
    if (status != STATUS_INPUT) {
        return status;
    }
    struct settings_problem *problem = origin_memory(origin, sizeof *problem);
    const char *text = problem != NULL ? origin_text(origin, fail_message()) : NULL;
    FAIL_IF(text == NULL, STATUS_MEMORY);
    const int line = origin->failed_line > 0 ? origin->failed_line : INT_MAX;
    struct settings_problem **slot = &origin->problems;
    while (*slot != NULL && (*slot)->line <= line) {
        slot = &(*slot)->next;
    }
    *problem = (struct settings_problem){.next = *slot, .line = line, .text = text};
    *slot = problem;
    fail_clear();
    return STATUS_OK;
}

enum status origin_report(struct settings_origin *origin)
{
    enum { MOST = 10, TAIL = 32 };
    char whole[STATUS_MESSAGE_BYTES] = "";
    size_t used = 0;
    int shown = 0;
    int left = 0;
    for (const struct settings_problem *p = origin->problems; p != NULL; p = p->next) {
        const size_t more = strlen(p->text) + 1;
        if (left > 0 || (shown > 0 && (shown == MOST || used + more + TAIL > sizeof whole))) {
            left++;
            continue;
        }
        used += (size_t)snprintf(whole + used, sizeof whole - used, "%s%s", shown > 0 ? "\n" : "",
                                 p->text);
        shown++;
    }
    if (left > 0) {
        snprintf(whole + used, sizeof whole - used, "\nand %d more", left);
    }
    return shown > 0 ? fail(STATUS_INPUT, "%s", whole) : STATUS_OK;
}
