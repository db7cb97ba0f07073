/* The sums of the faces of each surface, of every backend, against a plain loop. */
#include "rig.h"

#include <math.h>
#include <stdlib.h>

#include <omp.h>

static struct face_exchange random_exchange(uint64_t *random)
{
    const bool fixed = random_below(random, 4) == 0;
    return (struct face_exchange){
        .s0 = random_between(random, 0, 600),
        .s1 = fixed ? 1 : random_between(random, 0, 3),
        .s4 = !fixed && random_below(random, 2) == 0 ? random_between(random, 0, 5e-8) : 0,
        .fixed = fixed};
}

/* With members of `args` in host memory. */
static void sum_surfaces_plainly(const struct sum_by_surface_args *args, const double *values,
                                 __int128 (*wanted)[SURFACE_SUMS])
{
    for (int64_t f = 0; f < args->count; f++) {
        const struct surface_numbers *of =
            &args->d_numbers[args->d_pairs != NULL ? args->d_pairs[f] : f];
        const double inside = values[args->d_elements[f]];
        double flow = of->conductance * (of->ambient - inside);
        double face = fma(of->share, of->ambient - inside, inside);
        if (args->d_faces != NULL && args->d_faces[f].surface >= 0) {
            const struct surface_face *own = &args->d_faces[f];
            const struct class_closure none = {.exchange = args->d_exchanges[own->surface]};
            const struct class_closure closure =
                class_closure_of_half(&none, own->half, own->conductance * args->joule_per_kelvin);
            flow = class_closure_flow(&closure, inside);
            face = class_closure_face(&closure, inside);
        }
        wanted[of->surface][SURFACE_FLOW] += fixed_point(flow);
        wanted[of->surface][SURFACE_TEMPERATURE] += fixed_point(face * of->weight);
    }
}

/* The operation, with copies in device memory: it adds to sums that are not zero. */
static void check_by_surface(struct rig *rig, const struct sum_by_surface_args *plain, size_t cells,
                             size_t numbers, __int128 (*wanted)[SURFACE_SUMS])
{
    const size_t n = (size_t)plain->count;
    const size_t sums_bytes = (size_t)plain->nsurfaces * sizeof(struct exact_sum[SURFACE_SUMS]);
    struct exact_sum(*sums)[SURFACE_SUMS] = calloc(1, sums_bytes);
    sums[plain->nsurfaces - 1][SURFACE_FLOW].digit[2] = 1;
    void *made[] = {
        rig_upload(rig, plain->d_field, cells * precision_bytes(plain->precision)),
        rig_upload(rig, plain->d_elements, n * sizeof *plain->d_elements),
        plain->d_pairs != NULL ? rig_upload(rig, plain->d_pairs, n * sizeof *plain->d_pairs) : NULL,
        rig_upload(rig, plain->d_numbers, numbers * sizeof *plain->d_numbers),
        plain->d_faces != NULL ? rig_upload(rig, plain->d_faces, n * sizeof *plain->d_faces) : NULL,
        rig_upload(rig, plain->d_exchanges, MEDIUM_CLASSES * sizeof *plain->d_exchanges),
        rig_upload(rig, sums, sums_bytes)};
    struct sum_by_surface_args args = *plain;
    args.d_field = made[0];
    args.d_elements = made[1];
    args.d_pairs = made[2];
    args.d_numbers = made[3];
    args.d_faces = made[4];
    args.d_exchanges = made[5];
    args.d_sums = made[6];
    must(rig->backend->operations->sum_by_surface(rig->queue, &args));
    free(sums);
    sums = rig_download(rig, args.d_sums, sums_bytes);
    for (int s = 0; s < args.nsurfaces * SURFACE_SUMS; s++) {
        const bool first = s == (args.nsurfaces - 1) * SURFACE_SUMS + SURFACE_FLOW;
        const struct exact_sum expected =
            fixed_digits(wanted[s / SURFACE_SUMS][s % SURFACE_SUMS] + (first ? fixed_point(1) : 0));
        assert_memory_equal(&sums[s / SURFACE_SUMS][s % SURFACE_SUMS], &expected, sizeof expected);
    }
    free(sums);
    for (size_t m = 0; m < sizeof made / sizeof *made; m++) {
        rig->backend->runtime->memory_free(rig->device, made[m]);
    }
}

/* Faces in runs of one surface, `by_pair` with numbers of pairs. */
static void check_surfaces(int64_t count, int nsurfaces, bool by_pair, uint64_t seed)
{
    enum { PAIRS = 600, CELLS = 3000 };
    static double values[CELLS], cells[CELLS];
    static struct face_exchange exchanges[MEDIUM_CLASSES];
    uint64_t random = seed;
    const enum precision precision = seed % 2 == 0 ? PRECISION_FLOAT64 : PRECISION_FLOAT32;
    const int64_t n = by_pair ? PAIRS : count;
    struct surface_numbers *numbers = calloc((size_t)n, sizeof *numbers);
    struct surface_face *faces = calloc((size_t)count, sizeof *faces);
    int64_t *elements = calloc((size_t)count, sizeof *elements);
    int32_t *pairs = calloc((size_t)count, sizeof *pairs);
    __int128(*wanted)[SURFACE_SUMS] = calloc((size_t)nsurfaces, sizeof *wanted);
    for (int c = 0; c < CELLS; c++) {
        values[c] = precision_round(precision, random_between(&random, 200, 1500));
        precision_set(precision, cells, c, values[c]);
    }
    for (int s = 0; s < MEDIUM_CLASSES; s++) {
        exchanges[s] = random_exchange(&random);
    }
    int surface = 0;
    for (int64_t p = 0; p < n; p++) {
        surface = random_below(&random, 50) == 0 || by_pair ? (int)random_below(&random, nsurfaces)
                                                            : surface;
        numbers[p] = (struct surface_numbers){
            random_between(&random, 0, 50), random_between(&random, 0, 1),
            random_between(&random, 250, 450), random_between(&random, 0, 2), surface};
    }
    for (int64_t f = 0; f < count; f++) {
        const bool stays = f > 0 && random_below(&random, 20) > 0;
        elements[f] = random_below(&random, CELLS);
        pairs[f] = stays ? pairs[f - 1] : (int32_t)random_below(&random, PAIRS);
        faces[f] = (struct surface_face){
            random_between(&random, 1e-6, 1e-2), random_between(&random, 1, 1e4), 1,
            random_below(&random, 2) == 0 ? -1 : numbers[by_pair ? pairs[f] : f].surface};
    }
    const struct sum_by_surface_args args = {
        .precision = precision,
        .d_field = cells,
        .count = count,
        .d_elements = elements,
        .d_pairs = by_pair ? pairs : NULL,
        .d_numbers = numbers,
        .d_faces = seed % 3 > 0 ? faces : NULL,
        .d_exchanges = exchanges,
        .joule_per_kelvin = 4e-3,
        .nsurfaces = nsurfaces,
    };
    sum_surfaces_plainly(&args, values, wanted);
    omp_set_num_threads(1 + (int)random_below(&random, 3));
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        check_by_surface(&rig, &args, CELLS, (size_t)n, wanted);
        rig_close(&rig);
    }
    free(wanted);
    free(pairs);
    free(elements);
    free(faces);
    free(numbers);
}

TEST(sums_by_surface)
{
    static const int64_t counts[] = {1, 33, 700, 9000, 40000};
    static const int nsurfaces[] = {1, 2, 7, MEDIUM_CLASSES};
    for (uint64_t seed = 0; seed < 40; seed++) {
        check_surfaces(counts[seed % 5], nsurfaces[seed / 5 % 4], seed / 20 == 0, seed);
    }
}

TEST_MAIN(NULL, NULL)
