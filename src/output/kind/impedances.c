#include "output/kind/impedances.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"

/* Names may have any characters, and a note is one line. */
static void print_name(FILE *out, const char *name)
{
    for (; *name != '\0'; name++) {
        fputc((unsigned char)*name < ' ' ? '_' : *name, out);
    }
}

static void print_note(FILE *out, const struct probe_setting *probe)
{
    fprintf(out, "# Zth_%s_K_per_W,reference ", probe->name);
    if (probe->to != NULL) {
        fputs(probe->to, out);
    } else {
        fprintf(out, "%.17g K", probe->reference);
    }
    fputs(",power of ", out);
    print_name(out, probe->source != NULL ? probe->source : "all sources");
    fputc('\n', out);
}

static enum status make_texts(struct impedances *impedances)
{
    size_t bytes[2];
    FILE *columns = open_memstream(&impedances->columns, &bytes[0]);
    FILE *notes = open_memstream(&impedances->notes, &bytes[1]);
    bool complete = columns != NULL && notes != NULL;
    for (int p = 0; complete && p < impedances->requests->probes.npoints; p++) {
        const struct probe_setting *probe = &impedances->requests->probes.points[p];
        if (probe->has_impedance) {
            impedances->count++;
            fprintf(columns, ",Zth_%s_K_per_W", probe->name);
            print_note(notes, probe);
        }
    }
    complete = (columns == NULL || fclose(columns) == 0) && complete;
    complete = (notes == NULL || fclose(notes) == 0) && complete;
    return CHECK_MEMORY(complete, "no memory for the columns of probes.csv");
}

enum status impedances_create(const struct output_setting *requests, struct impedances *impedances)
{
    const size_t n = (size_t)requests->probes.npoints;
    *impedances =
        (struct impedances){.requests = requests, .row = calloc(2 * n, sizeof *impedances->row)};
    TRY(CHECK_MEMORY(impedances->row != NULL, "no memory for the columns of probes.csv"));
    return make_texts(impedances);
}

void impedances_destroy(struct impedances *impedances)
{
    free(impedances->columns);
    free(impedances->notes);
    free(impedances->row);
    *impedances = (struct impedances){0};
}

/* Of the sources of this name, or of all (NULL), W. */
static enum status power_of(const struct stepper *stepper, const struct heat_operator *op,
                            const char *name, double *watts)
{
    const struct sources *sources = &stepper->problem->sources;
    *watts = 0;
    for (int s = 0; s < sources->count; s++) {
        const char *other = sources->source[s].setting->name;
        double part = 0;
        if (name == NULL || (other != NULL && strcmp(name, other) == 0)) {
            TRY(source_files_power(&stepper->source_files, stepper->problem, op, s, &part));
            *watts += part;
        }
    }
    return STATUS_OK;
}

static double reference_of(const struct output_setting *requests, const struct probe_setting *probe,
                           const double *temperatures)
{
    int p = 0;
    while (probe->to != NULL && strcmp(requests->probes.points[p].name, probe->to) != 0) {
        p++;
    }
    return probe->to != NULL ? temperatures[p] : probe->reference;
}

static enum status fill_row(struct impedances *impedances, const struct stepper *stepper,
                            const struct heat_operator *op, const double *temperatures)
{
    const struct output_setting *requests = impedances->requests;
    const int n = requests->probes.npoints;
    double *next = impedances->row + n;
    memcpy(impedances->row, temperatures, (size_t)n * sizeof *temperatures);
    for (int p = 0; p < n; p++) {
        const struct probe_setting *probe = &requests->probes.points[p];
        double watts = 0;
        if (probe->has_impedance) {
            TRY(power_of(stepper, op, probe->source, &watts));
            const double rise = temperatures[p] - reference_of(requests, probe, temperatures);
            *next++ = watts != 0 ? rise / watts : NAN;
        }
    }
    return STATUS_OK;
}

enum status impedances_take(struct impedances *impedances, const struct stepper *stepper,
                            const double *temperatures)
{
    struct heat_operator op;
    if (impedances->count == 0) {
        return STATUS_OK;
    }
    TRY(stepper_operator_before(stepper, &op));
    return status_agree(stepper->team->comm, temperatures != NULL
                                                 ? fill_row(impedances, stepper, &op, temperatures)
                                                 : STATUS_OK);
}
