#include "bench/bench_parts.h"

#include "base/clock.h"

enum { ROUNDS = 3, MAX_STEPS = 1000 };

struct scene {
    const struct backend *backend;
    struct queue *steps_queue, *copy_queue;
    const struct layout *layout;
    const struct coefficients *args;
    void *d_out;
    const void *d_in;
    struct box box; /* the cells that are copied */
    size_t bytes;
    void *d_stage, *h_stage;
};

static enum status queue_steps(const struct scene *s, int steps)
{
    const struct box owned = layout_owned(s->layout);
    for (int step = 0; step < steps; step++) {
        TRY(ENQUEUE(s->backend->operations, step, s->steps_queue, .layout = *s->layout,
                    .levels = s->args, .nsteps = 1, .d_out = s->d_out, .d_in = s->d_in,
                    .boxes = &owned, .nboxes = 1));
    }
    return STATUS_OK;
}

static enum status queue_copy(const struct scene *s)
{
    TRY(ENQUEUE(s->backend->operations, pack, s->copy_queue, .layout = *s->layout,
                .d_field = s->d_in, .boxes = &s->box, .d_buffers = &s->d_stage, .nboxes = 1));
    return s->backend->runtime->copy_to_host(s->copy_queue, s->h_stage, s->d_stage, s->bytes);
}

/* The copy first: it must be in flight when the steps fill the device. */
static enum status time_round(const struct scene *s, int steps, bool copy, double *best_s)
{
    const double start = clock_seconds();
    if (copy) {
        TRY(queue_copy(s));
    }
    TRY(queue_steps(s, steps));
    TRY(s->backend->runtime->queue_wait(s->steps_queue));
    TRY(s->backend->runtime->queue_wait(s->copy_queue));
    const double seconds = clock_seconds() - start;
    *best_s = *best_s == 0 || seconds < *best_s ? seconds : *best_s;
    return STATUS_OK;
}

static enum status measure(const struct scene *s, struct bench_copy_out *result)
{
    double one_s = 0;
    double copy_s = 0;
    TRY(time_round(s, 1, true, &copy_s)); /* warm-up */
    copy_s = 0;
    TRY(time_round(s, 1, false, &one_s));
    TRY(time_round(s, 0, true, &copy_s));
    /* longer than the copy, so that it can overlap completely */
    const double wanted = 1.5 * copy_s / one_s + 1;
    result->steps = wanted < MAX_STEPS ? (int)wanted : MAX_STEPS;
    for (int round = 0; round < ROUNDS; round++) {
        TRY(time_round(s, result->steps, false, &result->steps_s));
        TRY(time_round(s, 0, true, &result->copy_s));
        TRY(time_round(s, result->steps, true, &result->both_s));
    }
    return STATUS_OK;
}

enum status bench_copy_out_measure(const struct bench_place *place, const struct layout *layout,
                                   const struct coefficients *args, void *d_out, const void *d_in,
                                   struct bench_copy_out *result)
{
    const int64_t most_cells = ((int64_t)1 << 30) / (int64_t)precision_bytes(layout->precision);
    const struct runtime *runtime = place->backend->runtime;
    struct scene s = {.backend = place->backend,
                      .steps_queue = place->queue,
                      .layout = layout,
                      .args = args,
                      .d_out = d_out,
                      .d_in = d_in,
                      .box = layout_owned(layout)};
    const int64_t planes = most_cells / (layout->cells[AXIS_X] * layout->cells[AXIS_Y]) + 1;
    s.box.hi[AXIS_Z] = planes < s.box.hi[AXIS_Z] ? planes : s.box.hi[AXIS_Z];
    s.bytes = (size_t)box_cells(&s.box) * precision_bytes(layout->precision);
    *result = (struct bench_copy_out){.precision = layout->precision, .bytes = (double)s.bytes};
    enum status status = runtime->queue_create(place->device, QUEUE_LOW, &s.copy_queue);
    if (status != STATUS_OK) {
        return status;
    }
    TRY_GOTO(runtime->memory_alloc(place->device, s.bytes, &s.d_stage));
    TRY_GOTO(runtime->pinned_alloc(place->device, s.bytes, &s.h_stage));
    TRY_GOTO(measure(&s, result));
done:
    runtime->queue_destroy(s.copy_queue);
    runtime->memory_free(place->device, s.d_stage);
    runtime->pinned_free(place->device, s.h_stage);
    return status;
}

void bench_copy_out_report(const struct bench_copy_out *r, struct table *table, struct json *json)
{
    table_row_begin(table, json);
    table_text(table, "precision", "copy out", -10, precision_name(r->precision));
    table_int(table, "steps", "steps", 8, r->steps);
    table_real(table, "steps_ms", "steps ms", 9, 2, 1e3 * r->steps_s);
    table_real(table, "bytes", NULL, 0, 0, r->bytes);
    table_real(table, NULL, "copy GB", 9, 3, 1e-9 * r->bytes);
    table_real(table, "copy_ms", "copy ms", 9, 2, 1e3 * r->copy_s);
    table_real(table, "copy_GBs", "GB/s", 9, 1, 1e-9 * r->bytes / r->copy_s);
    table_real(table, "both_ms", "both ms", 9, 2, 1e3 * r->both_s);
    table_row_end(table);
}
