#include "rig.h"
#include "kernels/backends.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void must_at(enum status status, const char *call, const char *file, int line)
{
    if (status != STATUS_OK) {
        print_error("%s:%d: %s: %s\n", file, line, call, fail_message());
        fail_msg("%s failed", call);
    }
}

enum { MAX_BACKENDS = 8 };
static const struct backend *answering[MAX_BACKENDS];
static int nanswering = -1;

/* Where no GPU is needed a refusal is a failure, for a GPU it is the machine's. With
 * ISOTHERM_TEST_BACKEND only the backend of that name. */
int rig_backend_count(void)
{
    const char *only = getenv("ISOTHERM_TEST_BACKEND");
    if (nanswering >= 0) {
        return nanswering;
    }
    nanswering = 0;
    for (int b = 0; b < backend_count(); b++) {
        const struct backend *backend = backend_at(b);
        if (only != NULL && strcmp(only, backend->name) != 0) {
            continue;
        }
        if (!backend_has(backend, BACKEND_GPU) || backend->runtime->probe() == STATUS_OK) {
            answering[nanswering++] = backend;
        } else {
            print_message("backend %s left out: %s\n", backend->name, fail_message());
        }
    }
    assert_int_not_equal(nanswering, 0);
    return nanswering;
}

bool rig_leaves_out(size_t shape, uint64_t problem)
{
    const char *third = getenv("ISOTHERM_TEST_THIRD");
    return third != NULL && (shape + problem) % 3 != strtoul(third, NULL, 10);
}

const struct backend *rig_backend_at(int index)
{
    return answering[index];
}

void rig_open(struct rig *rig, const struct backend *backend)
{
    *rig = (struct rig){.backend = backend};
    must(backend->runtime->probe());
    must(backend->runtime->open(0, 1, &rig->device));
    must(backend->runtime->queue_create(rig->device, QUEUE_NORMAL, &rig->queue));
}

void rig_close(struct rig *rig)
{
    rig->backend->runtime->queue_destroy(rig->queue);
    rig->backend->runtime->close(rig->device);
}

void *rig_upload(struct rig *rig, const void *h_bytes, size_t bytes)
{
    void *d_bytes;
    must(rig->backend->runtime->memory_alloc(rig->device, bytes, &d_bytes));
    must(rig->backend->runtime->copy_to_device(rig->queue, d_bytes, h_bytes, bytes));
    must(rig->backend->runtime->queue_wait(rig->queue));
    return d_bytes;
}

void *rig_download(struct rig *rig, const void *d_bytes, size_t bytes)
{
    void *h_bytes = malloc(bytes);
    assert_non_null(h_bytes);
    must(rig->backend->runtime->copy_to_host(rig->queue, h_bytes, d_bytes, bytes));
    must(rig->backend->runtime->queue_wait(rig->queue));
    return h_bytes;
}

uint64_t random_bits(uint64_t *state)
{
    /* splitmix64, see heat_cell.h; written out so that the tests stand on their own */
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

int64_t random_below(uint64_t *state, int64_t n)
{
    return (int64_t)(random_bits(state) % (uint64_t)n);
}

double random_between(uint64_t *state, double low, double high)
{
    return low + (high - low) * (double)(random_bits(state) >> 11) * 0x1p-53;
}

double host_get(const struct layout *layout, const void *h_field, int64_t at)
{
    return precision_get(layout->precision, h_field, at);
}

void host_set(const struct layout *layout, void *h_field, int64_t at, double value)
{
    precision_set(layout->precision, h_field, at, value);
}

void assert_same_field(const struct layout *layout, const void *h_got, const void *h_expected,
                       const char *who)
{
    const size_t bytes = precision_bytes(layout->precision);
    const int64_t *n = layout->cells;
    if (memcmp(h_got, h_expected, layout_bytes(layout)) == 0) {
        return;
    }
    for (int64_t at = 0; at < layout->elements; at++) {
        const size_t byte = (size_t)at * bytes;
        if (memcmp((const char *)h_got + byte, (const char *)h_expected + byte, bytes) != 0) {
            fail_msg("%s, %s, %d x %d x %d cells: element %d of the owned part is %a, not %a", who,
                     precision_name(layout->precision), (int)n[0], (int)n[1], (int)n[2],
                     (int)(at - layout->origin), host_get(layout, h_got, at),
                     host_get(layout, h_expected, at));
        }
    }
}

void *host_field(const struct layout *layout)
{
    void *h_field = malloc(layout_bytes(layout));
    assert_non_null(h_field);
    memset(h_field, 0xFF, layout_bytes(layout));
    return h_field;
}

__int128 fixed_point(double value)
{
    return (__int128)rint(ldexp(value, 80));
}

struct exact_sum fixed_digits(__int128 value)
{
    struct exact_sum sum;
    for (int d = 0; d < 3; d++) {
        sum.digit[d] = (int64_t)(value & ((INT64_C(1) << 40) - 1));
        value >>= 40;
    }
    sum.digit[3] = (int64_t)value;
    return sum;
}

void rig_shapes_of_all_kinds(shape_check *check)
{
    static const int64_t nx[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 513, 2100};
    static const int64_t ny[] = {1, 2, 3, 5, 9};
    static const int64_t nz[] = {1, 2, 3, 7};
    uint64_t random = 1;
    for (size_t x = 0; x < sizeof nx / sizeof nx[0]; x++) {
        for (size_t n = 0; n < 6; n++) {
            const int64_t cells[AXIS_COUNT] = {nx[x],
                                               ny[random_below(&random, nx[x] > 100 ? 2 : 5)],
                                               nz[random_below(&random, nx[x] > 100 ? 2 : 4)]};
            check(cells, (unsigned)random_below(&random, 64), random_bits(&random));
        }
    }
}

void rig_faces_in_all_combinations(shape_check *check)
{
    for (unsigned closed = 0; closed < 64; closed++) {
        check((const int64_t[]){18, 5, 3}, closed, closed);
        check((const int64_t[]){1 + closed % 3, 3 - closed % 2, 1}, closed, closed);
    }
}

int random_partition(uint64_t *state, const struct box *box, int n, struct box *pieces)
{
    int npieces = 1;
    pieces[0] = *box;
    for (int attempt = 0; npieces < n && attempt < 4 * n; attempt++) {
        struct box *piece = &pieces[random_below(state, npieces)];
        const enum axis axis = (enum axis)random_below(state, AXIS_COUNT);
        if (box_extent(piece, axis) > 1) {
            const int64_t cut =
                piece->lo[axis] + 1 + random_below(state, box_extent(piece, axis) - 1);
            pieces[npieces] = *piece;
            pieces[npieces++].lo[axis] = cut;
            piece->hi[axis] = cut;
        }
    }
    return npieces;
}
