/* The kinds of output: a table, one file each. To add a kind, write its file, its rows in the
 * schema, and its line in output.c. */
#pragma once

#include "output/writer.h"
#include "solve/observe/diagnostics.h"
#include "solve/start/memory.h"

/* The context of an output. Borrowed. */
struct output_context {
    const struct problem *problem;
    const struct team *team;
    struct engine *engine;
    struct state *state;
    struct stepper *stepper; /* for halo exchanges */
    struct writer *writer;
    int64_t restart_step;              /* the files continue at this step; -1: new files */
    const struct diagnostics *summary; /* of the current step, if the kind needs one */
    int kind;                          /* index of the kind being called */
    void *const *objects;              /* of all kinds; NULL: that kind is off */
};

/* A section of the configuration with a cadence, or a list of such sections. */
struct output_section {
    const char *key;    /* "output.regions"; NULL: none */
    const char *pieces; /* what is written, in the plural: "snapshots of a region" */
    int64_t many;       /* warn from this number on */
};

enum output_summary {
    SUMMARY_NEVER,
    SUMMARY_UNWATCHED, /* if run.watch is off */
    SUMMARY_ALWAYS,
};

struct output_kind {
    const char *name; /* key of report.json */
    struct output_section section[2];
    bool not_at_start;           /* not written at step 0 */
    bool reads_enthalpy;         /* needs no temperatures where the field is one */
    enum output_summary summary; /* whether it needs one of the field */

    /* Rank 0; changes nothing. Check that an output which is on can continue the files of a run up
     * to in->restart_step. NULL: always. */
    enum status (*check)(const struct output_context *in);
    /* Collective, agreed. *object stays NULL when the output is off or not supported. */
    enum status (*open)(const struct output_context *in, void **object);
    void (*close)(void *object);
    /* Collective, agreed; before `write`, and before the summary is waited for. Queue work whose
     * results `write` needs. NULL: none. */
    enum status (*queue)(void *object, const struct output_context *in);
    /* Collective, agreed; at a step at which one of its cadences is due. */
    enum status (*write)(void *object, const struct output_context *in);
    /* Rank 0, also on the writer's thread while the loop writes. Flush the files to disk. NULL: the
     * kind does so when it writes. */
    enum status (*flush)(const void *object);
    /* Rank 0. Print the files, one line each. */
    void (*list)(const void *object, const struct output_context *in);

    /* Device memory that it holds for the whole run, at most, on a rank that owns these cells.
     * NULL: none. */
    uint64_t (*kept_bytes)(const struct problem *problem, const struct box *owned);
    /* The size of the largest capture on a rank that owns these cells. NULL: none. */
    uint64_t (*capture_bytes)(const struct problem *problem, const struct box *owned);
    /* Print what a run will write; returns its bytes on disk. */
    double (*plan)(const struct problem *problem);

    /* Rank 0. Add the files of this kind in the folder, first those that refer to others. */
    enum status (*files)(const struct output_setting *requests, struct path_list *files);
    /* Rank 0. Remove what lies after `step`, unless a run with these outputs writes it. */
    enum status (*roll_back)(const struct output_setting *requests, int64_t step);
};

/* In the order of writing: checkpoints last, so that the other files are complete up to the step at
 * which a restart begins. */
#define OUTPUT_KIND_LIST(X) X(history) X(samples) X(snapshots) X(pictures) X(checkpoints)
#define OUTPUT_KIND_NUMBER(name) OUTPUT_KIND_##name,
enum { OUTPUT_KIND_LIST(OUTPUT_KIND_NUMBER) OUTPUT_KINDS };
extern const struct output_kind *const output_kinds[];

/* Rank 0. Flush the files of all kinds, given as in output_context. */
enum status output_flush(void *const *objects);

/* The index in the table. */
int output_number(const struct output_kind *kind);

/* The kind and the section of a key such as "output.regions[2]". */
const struct output_section *output_section_of(const char *key, const struct output_kind **kind);

/* The outputs of a kind up to and including `step`, one for each cadence that is due. */
int64_t output_count(const struct problem *problem, int kind, int64_t step);

/* The memory that outputs need on the rank that owns these cells. */
struct output_memory output_memory_need(const struct problem *problem, const struct box *owned);
