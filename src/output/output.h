/* The kinds of output: a table, one file each. A kind is added by its file, its rows in the schema,
 * and its line in output.c. */
#ifndef ISOTHERM_OUTPUT_OUTPUT_H
#define ISOTHERM_OUTPUT_OUTPUT_H

#include "output/writer.h"
#include "solve/diagnostics.h"
#include "solve/memory.h"

/* What an output works on. Borrowed. */
struct output_context {
    const struct problem *problem;
    const struct team *team;
    struct engine *engine;
    struct state *state;
    struct stepper *stepper; /* for what needs an exchange of halos */
    struct writer *writer;
    int64_t restart_step;              /* the files are continued from there; -1: new files */
    const struct diagnostics *summary; /* of the present step, where the kind asks for one */
    int kind;                          /* place in the table of the kind that is called */
};

/* A part of the configuration with a cadence (or a list of parts with one each). */
struct output_section {
    const char *key;    /* "output.regions"; NULL: none */
    const char *pieces; /* what is written each time, in the plural: "snapshots of a region" */
    int64_t many;       /* so many of them deserve a warning */
};

enum output_summary {
    SUMMARY_NEVER,
    SUMMARY_UNWATCHED, /* where run.watch does not look at the field */
    SUMMARY_ALWAYS,
};

/* Called with the path of each of a run's files. */
typedef enum status output_visitor(void *context, const char *path);

struct output_kind {
    const char *name; /* key of report.json */
    struct output_section section[2];
    bool not_at_start;           /* nothing is written at step 0 */
    bool needs_others_on_disk;   /* all others are flushed before it is written */
    enum output_summary summary; /* does it need one of the field? */

    /* Rank 0; nothing is changed. Can it continue with what a run left up to in->restart_step?
     * Asked of outputs that are on. NULL: always. */
    enum status (*check)(const struct output_context *in);
    /* Collective, agreed. *object stays NULL when the output is off or cannot be had. */
    enum status (*open)(const struct output_context *in, void **object);
    void (*close)(void *object);
    /* Collective, agreed; at a step at which a cadence of its sections is due. */
    enum status (*write)(void *object, const struct output_context *in);
    /* Collective, agreed. What was written is on the disk. NULL: nothing is kept back. */
    enum status (*flush)(void *object, const struct output_context *in);
    /* Rank 0. Name the files, one line each. */
    void (*list)(const void *object, const struct output_context *in);

    /* The most that is captured at once on a rank that owns these cells. NULL: nothing. */
    enum status (*capture_bytes)(const struct problem *problem, const struct box *owned,
                                 uint64_t *bytes);
    /* Print what a run will write; returns its bytes on the disk. */
    double (*plan)(const struct problem *problem);

    /* Rank 0. Visit all of a run's files of this kind in the folder; stops when a visit fails. */
    enum status (*visit)(const struct settings *settings, output_visitor *visit, void *context);
    /* Rank 0. Remove what lies past `step`, where these settings do not write it themselves. */
    enum status (*roll_back)(const struct settings *settings, int64_t step);
};

/* In the order in which they are written: checkpoints last, so that the other files are complete up
 * to the step that a restart begins at. */
enum { OUTPUT_KINDS = 5 };
extern const struct output_kind *const output_kinds[];

/* Their place in the table. */
int output_number(const struct output_kind *kind);

/* The kind and the section to which a key such as "output.regions[2]" belongs. */
const struct output_section *output_section_of(const char *key, const struct output_kind **kind);

/* What outputs need on the rank that owns these cells. */
enum status output_memory_need(const struct problem *problem, const struct box *owned,
                               struct output_memory *need) MUST_CHECK;

#endif
