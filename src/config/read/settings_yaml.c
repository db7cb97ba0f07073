/* The tree from YAML and back, with libyaml. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "config/read/settings_tree.h"

/* Limits against cycles and exponential growth by aliases. */
enum { MAX_DEPTH = 16, MAX_NODES = 10000 };

struct conversion {
    struct settings_origin *origin;
    const char *typed;
    const char *bytes;
    size_t nbytes;
    yaml_document_t document;
    int nnodes;
    char path[TREE_KEY_BYTES]; /* of the current node, for messages */
    struct tree place;         /* see at_line */
};

static enum status no_memory(void)
{
    return fail(STATUS_MEMORY, "no memory for the configuration");
}

static const struct tree *at_line(struct conversion *from, size_t line)
{
    from->place = (struct tree){.line = (int)line, .typed = from->typed};
    return &from->place;
}

static enum status convert(struct conversion *from, int index, size_t line, int depth,
                           struct tree *parent, const char *key);

static enum status convert_pair(struct conversion *from, const yaml_node_pair_t *pair, int depth,
                                struct tree *into)
{
    const yaml_node_t *key = yaml_document_get_node(&from->document, pair->key);
    const char *name = (const char *)key->data.scalar.value;
    const size_t line = key->start_mark.line + 1;
    FAIL_IF(key->type != YAML_SCALAR_NODE || strlen(name) != key->data.scalar.length,
            origin_fail(from->origin, at_line(from, line), NULL,
                        "a key is not a plain word; write 'key: value'"));
    const size_t length = strlen(from->path);
    snprintf(from->path + length, sizeof from->path - length, "%s%.60s", length > 0 ? "." : "",
             name);
    const struct tree *earlier = tree_child(into, name);
    FAIL_IF(earlier != NULL, origin_fail(from->origin, at_line(from, line), from->path,
                                         "given twice, first on line %d; keep one", earlier->line));
    TRY(convert(from, pair->value, line, depth + 1, into, name));
    from->path[length] = '\0';
    return STATUS_OK;
}

static enum status convert_children(struct conversion *from, const yaml_node_t *node, int depth,
                                    struct tree *into)
{
    if (node->type == YAML_SCALAR_NODE) {
        into->text = origin_text(from->origin, (const char *)node->data.scalar.value);
        into->quoted = node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        FAIL_IF(into->text == NULL, STATUS_MEMORY);
        FAIL_IF(strlen(into->text) != node->data.scalar.length,
                origin_fail(from->origin, into, NULL, "a string contains a zero byte; remove it"));
        return STATUS_OK;
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
        const size_t length = strlen(from->path);
        snprintf(from->path + length, sizeof from->path - length, "[%d]", into->nchildren);
        TRY(convert(from, *item, 0, depth + 1, into, NULL));
        from->path[length] = '\0';
    }
    return STATUS_OK;
}

/* Append one node to `parent`. `line` of its key, 0 when there is none. */
static enum status convert(struct conversion *from, int index, size_t line, int depth,
                           struct tree *parent, const char *key)
{
    static const enum tree_kind kinds[] = {[YAML_SCALAR_NODE] = TREE_SCALAR,
                                           [YAML_SEQUENCE_NODE] = TREE_LIST,
                                           [YAML_MAPPING_NODE] = TREE_MAPPING};
    const yaml_node_t *node = yaml_document_get_node(&from->document, index);
    line = line > 0 ? line : node->start_mark.line + 1;
    FAIL_IF(depth > MAX_DEPTH, origin_fail(from->origin, at_line(from, line), NULL,
                                           "nested deeper than %d levels; use fewer", MAX_DEPTH));
    FAIL_IF(++from->nnodes > MAX_NODES,
            origin_fail(from->origin, at_line(from, line), NULL,
                        "more than %d values (repeated by aliases?); use fewer", MAX_NODES));
    struct tree *into = tree_create(from->origin, kinds[node->type], (int)line, from->typed);
    FAIL_IF(into == NULL || (key != NULL && (into->key = origin_text(from->origin, key)) == NULL),
            STATUS_MEMORY);
    tree_append(parent, into);
    return convert_children(from, node, depth, into);
}

static size_t line_of(const struct conversion *from, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset && i < from->nbytes; i++) {
        line += from->bytes[i] == '\n';
    }
    return line;
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

static enum status fail_syntax(struct conversion *from, const yaml_parser_t *parser)
{
    const char *problem = parser->problem != NULL ? parser->problem : "no reason given";
    if (parser->error == YAML_MEMORY_ERROR) {
        return no_memory();
    }
    if (parser->error == YAML_READER_ERROR) {
        /* not text: libyaml gives the offset only */
        return origin_fail(from->origin, at_line(from, line_of(from, parser->problem_offset)), NULL,
                           "not a text file: %s; give a configuration in YAML (UTF-8)", problem);
    }
    const size_t line = parser->problem_mark.line;
    const char *context = parser->context != NULL ? parser->context : "";
    return origin_fail(from->origin, at_line(from, line + 1), NULL, "not valid YAML: %s%s%s%s",
                       problem, context[0] != '\0' ? " " : "", context,
                       line_has_tab(from, line) ? "; indent with spaces, not tabs" : "");
}

/* Input that libyaml handles badly. It ends the text at a zero byte and would ignore the rest. Its
 * time grows with the square of the nesting of brackets: minutes for a file of them. */
static enum status check_bytes(struct conversion *from)
{
    int brackets = 0;
    for (size_t i = 0; i < from->nbytes; i++) {
        FAIL_IF(from->bytes[i] == '\0',
                origin_fail(from->origin, at_line(from, line_of(from, i)), NULL,
                            "not a text file: a zero byte; give a configuration in YAML (UTF-8)"));
        brackets += from->bytes[i] == '[' || from->bytes[i] == '{';
        FAIL_IF(brackets > MAX_NODES,
                origin_fail(from->origin, at_line(from, line_of(from, i)), NULL,
                            "more than %d brackets; use fewer", MAX_NODES));
    }
    return STATUS_OK;
}

/* The first document becomes the child of `parent`; a second one is refused. */
static enum status load(struct conversion *from, yaml_parser_t *parser, struct tree *parent)
{
    FAIL_IF(yaml_parser_load(parser, &from->document) == 0, fail_syntax(from, parser));
    enum status status = STATUS_OK;
    if (yaml_document_get_root_node(&from->document) != NULL) {
        status = convert(from, 1, 0, 0, parent, NULL);
    }
    yaml_document_delete(&from->document);
    TRY(status);
    FAIL_IF(yaml_parser_load(parser, &from->document) == 0, fail_syntax(from, parser));
    const bool more = yaml_document_get_root_node(&from->document) != NULL;
    const size_t line = from->document.start_mark.line + 1;
    yaml_document_delete(&from->document);
    return more ? origin_fail(from->origin, at_line(from, line), NULL,
                              "a second YAML document starts here; give one")
                : STATUS_OK;
}

enum status tree_parse(struct settings_origin *origin, const char *typed, const char *bytes,
                       size_t nbytes, struct tree **root)
{
    yaml_parser_t parser;
    struct conversion from = {.origin = origin, .typed = typed, .bytes = bytes, .nbytes = nbytes};
    struct tree parent = {.kind = TREE_LIST};
    TRY(check_bytes(&from));
    if (yaml_parser_initialize(&parser) == 0) {
        return no_memory();
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, nbytes);
    const enum status status = load(&from, &parser, &parent);
    yaml_parser_delete(&parser);
    TRY(status);
    *root = parent.first != NULL ? parent.first : tree_create(origin, TREE_SCALAR, 1, typed);
    return *root != NULL ? STATUS_OK : STATUS_MEMORY;
}

/* The emitter changes the kind of quotes if the text needs it; so emitting what was read back gives
 * the same text. */
static int add_scalar(yaml_document_t *document, const char *text, bool quoted)
{
    return yaml_document_add_scalar(document, NULL, (const yaml_char_t *)text, (int)strlen(text),
                                    quoted ? YAML_SINGLE_QUOTED_SCALAR_STYLE
                                           : YAML_PLAIN_SCALAR_STYLE);
}

/* libyaml's document functions return 0 when out of memory. */
static int add_node(yaml_document_t *document, const struct tree *node)
{
    if (node->kind == TREE_SCALAR) {
        return node->si != NULL ? add_scalar(document, node->si, false)
                                : add_scalar(document, node->text, node->quoted);
    }
    bool flow = true;
    for (const struct tree *child = node->first; child != NULL; child = child->next) {
        flow = flow && child->kind == TREE_SCALAR;
    }
    const int parent =
        node->kind == TREE_LIST
            ? yaml_document_add_sequence(
                  document, NULL, flow ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE)
            : yaml_document_add_mapping(document, NULL, YAML_BLOCK_MAPPING_STYLE);
    bool whole = parent != 0;
    for (const struct tree *child = node->first; whole && child != NULL; child = child->next) {
        const int key = node->kind == TREE_LIST ? 0 : add_scalar(document, child->key, false);
        const int value = add_node(document, child);
        whole = value != 0 &&
                (node->kind == TREE_LIST
                     ? yaml_document_append_sequence_item(document, parent, value)
                     : key != 0 && yaml_document_append_mapping_pair(document, parent, key, value));
    }
    return whole ? parent : 0;
}

static bool emit(yaml_document_t *document, FILE *out)
{
    yaml_emitter_t emitter;
    if (yaml_emitter_initialize(&emitter) == 0) {
        yaml_document_delete(document);
        return false;
    }
    yaml_emitter_set_output_file(&emitter, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    /* dump takes the document over and deletes it */
    const bool whole = yaml_emitter_open(&emitter) != 0 &&
                       yaml_emitter_dump(&emitter, document) != 0 &&
                       yaml_emitter_close(&emitter) != 0;
    yaml_emitter_delete(&emitter);
    return whole;
}

enum status tree_emit(const struct tree *root, char **text)
{
    yaml_document_t document;
    size_t nbytes = 0;
    *text = NULL;
    FILE *out = open_memstream(text, &nbytes);
    bool whole = out != NULL && yaml_document_initialize(&document, NULL, NULL, NULL, 1, 1) != 0;
    if (whole && add_node(&document, root) == 0) {
        yaml_document_delete(&document);
        whole = false;
    }
    whole = whole && emit(&document, out);
    if ((out != NULL && fclose(out) != 0) || !whole) {
        free(*text);
        *text = NULL;
        return no_memory();
    }
    return STATUS_OK;
}
