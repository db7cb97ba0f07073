#include "config/settings_tree.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Far more than a configuration needs; they stop what aliases can build from a short file: cycles
 * and exponential growth. */
enum { MAX_DEPTH = 16, MAX_NODES = 10000 };

static enum status no_memory(void)
{
    return fail(STATUS_MEMORY, "no memory to read the configuration");
}

struct tree *tree_create(enum tree_kind kind, int line, const char *typed)
{
    struct tree *node = calloc(1, sizeof *node);
    if (node != NULL) {
        node->kind = kind;
        node->line = line;
        node->typed = typed;
    }
    return node;
}

void tree_destroy(struct tree *node)
{
    if (node == NULL) {
        return;
    }
    for (int i = 0; i < node->nchildren; i++) {
        tree_destroy(node->child[i]);
        if (node->key != NULL) {
            free(node->key[i]);
        }
    }
    free(node->child);
    free(node->key);
    free(node->text);
    free(node);
}

enum status tree_append(struct tree *parent, const char *key, struct tree *child)
{
    const size_t count = (size_t)parent->nchildren + 1;
    struct tree **children = realloc(parent->child, count * sizeof(struct tree *));
    if (children == NULL) {
        return no_memory();
    }
    parent->child = children;
    if (key != NULL) {
        char **keys = realloc(parent->key, count * sizeof(char *));
        if (keys == NULL) {
            return no_memory();
        }
        parent->key = keys;
        keys[count - 1] = strdup(key);
        if (keys[count - 1] == NULL) {
            return no_memory();
        }
    }
    children[count - 1] = child;
    parent->nchildren++;
    return STATUS_OK;
}

struct tree *tree_child(const struct tree *node, const char *key)
{
    if (node == NULL || node->kind != TREE_MAPPING) {
        return NULL;
    }
    for (int i = 0; i < node->nchildren; i++) {
        if (strcmp(node->key[i], key) == 0) {
            return node->child[i];
        }
    }
    return NULL;
}

bool tree_is_empty(const struct tree *node)
{
    return node->kind == TREE_SCALAR && !node->quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
            strcmp(node->text, "null") == 0);
}

/* ---- paths ---- */

bool tree_step_next(const char **path, struct tree_step *step)
{
    const char *p = *path;
    step->bracket = *p == '[';
    if (step->bracket) {
        p++;
    }
    const size_t length = strcspn(p, ".[]");
    if (length == 0 || length >= sizeof step->name) {
        return false;
    }
    memcpy(step->name, p, length);
    step->name[length] = '\0';
    p += length;
    if (step->bracket) {
        if (*p != ']' || tree_step_index(step) < 0) {
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

int tree_step_index(const struct tree_step *step)
{
    const size_t length = strlen(step->name);
    if (length > 6 || strspn(step->name, "0123456789") != length) {
        return -1;
    }
    return (int)strtol(step->name, NULL, 10);
}

const struct tree *tree_find(const struct tree *root, const char *key, bool *exact)
{
    const struct tree *node = root;
    struct tree_step step;
    *exact = false;
    while (*key != '\0') {
        if (!tree_step_next(&key, &step)) {
            return node;
        }
        const struct tree *next = NULL;
        if (node->kind == TREE_LIST) {
            const int index = tree_step_index(&step);
            next = index >= 0 && index < node->nchildren ? node->child[index] : NULL;
        } else {
            next = tree_child(node, step.name);
        }
        if (next == NULL) {
            return node;
        }
        node = next;
    }
    *exact = true;
    return node;
}

/* ---- messages ---- */

static void show_into(const struct tree *node, char *text, size_t room)
{
    if (room < 2) {
        return;
    }
    if (node->kind == TREE_MAPPING) {
        snprintf(text, room, "{...}");
    } else if (node->kind == TREE_SCALAR) {
        snprintf(text, room, "%s", node->text);
    } else {
        size_t used = (size_t)snprintf(text, room, "[");
        for (int i = 0; i < node->nchildren && used + 3 < room; i++) {
            if (i > 0) {
                used += (size_t)snprintf(text + used, room - used, ", ");
            }
            show_into(node->child[i], text + used, room - used);
            used += strlen(text + used);
        }
        if (used + 1 < room) {
            snprintf(text + used, room - used, "]");
        }
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

/* A message is one line, whatever control characters the text quoted in it has. */
static enum status fail_at(const char *name, int line, const char *typed, const char *message)
{
    char whole[STATUS_MESSAGE_BYTES];
    if (typed != NULL) {
        snprintf(whole, sizeof whole, "%.406s: %s", typed, message);
    } else {
        snprintf(whole, sizeof whole, "%.400s:%d: %s", name, line, message);
    }
    for (char *p = whole; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            *p = ' ';
        }
    }
    return fail(STATUS_INPUT, "%s", whole);
}

enum status origin_fail(const struct settings_origin *origin, const struct tree *at,
                        const char *key, const char *format, ...)
{
    char message[1200];
    char keyed[1500];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    snprintf(keyed, sizeof keyed, "%s%s%s", key != NULL ? key : "", key != NULL ? ": " : "",
             message);
    return fail_at(origin->name, at->line, at->typed, keyed);
}

void origin_destroy(struct settings_origin *origin)
{
    if (origin == NULL) {
        return;
    }
    tree_destroy(origin->root);
    for (int i = 0; i < origin->ntyped; i++) {
        free(origin->typed[i]);
    }
    free(origin->typed);
    free(origin->name);
    free(origin);
}

/* ---- from libyaml ---- */

struct conversion {
    const char *name; /* of the file */
    const char *typed;
    const char *bytes;
    size_t nbytes;
    yaml_document_t *document;
    int nnodes;
    char path[TREE_KEY_BYTES]; /* of the node at work, for messages */
};

static enum status fail_line(const struct conversion *from, int line, const char *format, ...)
    PRINTF_LIKE(3, 4);
static enum status fail_line(const struct conversion *from, int line, const char *format, ...)
{
    char message[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return fail_at(from->name, line, from->typed, message);
}

static enum status convert(struct conversion *from, int index, int line, int depth,
                           struct tree **result);

static enum status convert_scalar(const struct conversion *from, const yaml_node_t *node,
                                  struct tree *into)
{
    const char *text = (const char *)node->data.scalar.value;
    if (strlen(text) != node->data.scalar.length) {
        return fail_line(from, into->line, "a text contains a zero byte; leave it out");
    }
    into->quoted = node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    into->text = strdup(text);
    return into->text != NULL ? STATUS_OK : no_memory();
}

static enum status convert_pair(struct conversion *from, const yaml_node_pair_t *pair, int depth,
                                struct tree *into)
{
    const yaml_node_t *key = yaml_document_get_node(from->document, pair->key);
    const int line = (int)key->start_mark.line + 1;
    if (key->type != YAML_SCALAR_NODE ||
        strlen((const char *)key->data.scalar.value) != key->data.scalar.length) {
        return fail_line(from, line, "a key is not a plain word; write 'key: value'");
    }
    const char *name = (const char *)key->data.scalar.value;
    const struct tree *earlier = tree_child(into, name);
    if (earlier != NULL) {
        const struct tree shown = {.kind = TREE_SCALAR, .text = (char *)name};
        char text[TREE_SHOW_BYTES];
        return fail_line(from, line, "%s%s%s: given twice, first on line %d; keep one", from->path,
                         from->path[0] != '\0' ? "." : "", tree_show(&shown, text), earlier->line);
    }
    struct tree *child = NULL;
    const size_t length = strlen(from->path);
    snprintf(from->path + length, sizeof from->path - length, "%s%.60s", length > 0 ? "." : "",
             name);
    TRY(convert(from, pair->value, line, depth + 1, &child));
    from->path[length] = '\0';
    const enum status status = tree_append(into, name, child);
    if (status != STATUS_OK) {
        tree_destroy(child);
    }
    return status;
}

static enum status convert_children(struct conversion *from, const yaml_node_t *node, int depth,
                                    struct tree *into)
{
    if (node->type == YAML_SCALAR_NODE) {
        return convert_scalar(from, node, into);
    }
    if (node->type == YAML_MAPPING_NODE) {
        for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
             pair < node->data.mapping.pairs.top; pair++) {
            TRY(convert_pair(from, pair, depth, into));
        }
        return STATUS_OK;
    }
    for (const yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        struct tree *child = NULL;
        const size_t length = strlen(from->path);
        snprintf(from->path + length, sizeof from->path - length, "[%d]", into->nchildren);
        TRY(convert(from, *item, 0, depth + 1, &child));
        from->path[length] = '\0';
        const enum status status = tree_append(into, NULL, child);
        if (status != STATUS_OK) {
            tree_destroy(child);
            return status;
        }
    }
    return STATUS_OK;
}

/* `line` of the key in front, 0 when there is none. */
static enum status convert(struct conversion *from, int index, int line, int depth,
                           struct tree **result)
{
    static const enum tree_kind kinds[] = {[YAML_SCALAR_NODE] = TREE_SCALAR,
                                           [YAML_SEQUENCE_NODE] = TREE_LIST,
                                           [YAML_MAPPING_NODE] = TREE_MAPPING};
    const yaml_node_t *node = yaml_document_get_node(from->document, index);
    const int at = line > 0 ? line : (int)node->start_mark.line + 1;
    if (depth > MAX_DEPTH) {
        return fail_line(from, at, "nested deeper than %d levels; nothing here needs that",
                         MAX_DEPTH);
    }
    if (++from->nnodes > MAX_NODES) {
        return fail_line(from, at,
                         "more than %d values (repeated by aliases?); nothing here needs that",
                         MAX_NODES);
    }
    struct tree *into = tree_create(kinds[node->type], at, from->typed);
    if (into == NULL) {
        return no_memory();
    }
    const enum status status = convert_children(from, node, depth, into);
    if (status != STATUS_OK) {
        tree_destroy(into);
        return status;
    }
    *result = into;
    return STATUS_OK;
}

/* True when the indentation of that line (from 0) contains a tab. */
static bool line_has_tab(const struct conversion *from, size_t line)
{
    const char *p = from->bytes;
    const char *end = from->bytes + from->nbytes;
    for (; line > 0 && p < end; p++) {
        line -= *p == '\n';
    }
    while (p < end && *p == ' ') {
        p++;
    }
    return p < end && *p == '\t';
}

static enum status fail_syntax(const struct conversion *from, const yaml_parser_t *parser)
{
    const char *problem = parser->problem != NULL ? parser->problem : "no reason given";
    if (parser->error == YAML_MEMORY_ERROR) {
        return no_memory();
    }
    if (parser->error == YAML_READER_ERROR) {
        /* the bytes are no text: libyaml gives the offset only */
        int line = 1;
        for (size_t i = 0; i < parser->problem_offset && i < from->nbytes; i++) {
            line += from->bytes[i] == '\n';
        }
        return fail_line(from, line, "not a text file: %s; give a configuration in YAML (UTF-8)",
                         problem);
    }
    const size_t line = parser->problem_mark.line;
    const char *context = parser->context != NULL ? parser->context : "";
    return fail_line(from, (int)line + 1, "not valid YAML: %s%s%s%s", problem,
                     context[0] != '\0' ? " " : "", context,
                     line_has_tab(from, line) ? "; indent with spaces, not tabs" : "");
}

/* Anything but the end of the stream behind the first document is refused. */
static enum status check_single(const struct conversion *from, yaml_parser_t *parser)
{
    yaml_document_t next;
    if (yaml_parser_load(parser, &next) == 0) {
        return fail_syntax(from, parser);
    }
    const bool more = yaml_document_get_root_node(&next) != NULL;
    const int line = (int)next.start_mark.line + 1;
    yaml_document_delete(&next);
    if (more) {
        return fail_line(from, line, "a second YAML document starts here; a configuration is one");
    }
    return STATUS_OK;
}

/* libyaml's time grows with the square of the nesting of brackets: minutes for a file of them. */
static enum status check_brackets(const struct conversion *from)
{
    int brackets = 0;
    int line = 1;
    for (size_t i = 0; i < from->nbytes; i++) {
        brackets += from->bytes[i] == '[' || from->bytes[i] == '{';
        line += from->bytes[i] == '\n';
        if (brackets > MAX_NODES) {
            return fail_line(from, line, "more than %d brackets; nothing here needs that",
                             MAX_NODES);
        }
    }
    return STATUS_OK;
}

/* To libyaml a zero byte is the end of the text: what stands behind it would not count. */
static enum status check_zeros(const struct conversion *from)
{
    int line = 1;
    for (size_t i = 0; i < from->nbytes; i++) {
        line += from->bytes[i] == '\n';
        if (from->bytes[i] == '\0') {
            return fail_line(from, line,
                             "not a text file: a zero byte; give a configuration in YAML (UTF-8)");
        }
    }
    return STATUS_OK;
}

enum status tree_parse(const char *name, const char *typed, const char *bytes, size_t nbytes,
                       struct tree **root)
{
    yaml_parser_t parser;
    yaml_document_t document;
    struct conversion from = {
        .name = name, .typed = typed, .bytes = bytes, .nbytes = nbytes, .document = &document};
    struct tree *tree = NULL;
    *root = NULL;
    TRY(check_zeros(&from));
    TRY(check_brackets(&from));
    if (yaml_parser_initialize(&parser) == 0) {
        return no_memory();
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, nbytes);
    enum status status = STATUS_OK;
    if (yaml_parser_load(&parser, &document) == 0) {
        status = fail_syntax(&from, &parser);
        yaml_parser_delete(&parser);
        return status;
    }
    if (yaml_document_get_root_node(&document) == NULL) {
        tree = tree_create(TREE_SCALAR, 1, typed);
        if (tree == NULL || (tree->text = strdup("")) == NULL) {
            status = no_memory();
        }
    } else {
        status = convert(&from, 1, 0, 0, &tree);
        if (status == STATUS_OK) {
            status = check_single(&from, &parser);
        }
    }
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    if (status != STATUS_OK) {
        tree_destroy(tree);
        return status;
    }
    *root = tree;
    return STATUS_OK;
}
