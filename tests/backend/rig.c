#include "rig.h"
#include "kernels/backends.h"

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

/* Where no GPU is needed a refusal is a failure, for a GPU it is the machine's. */
int rig_backend_count(void)
{
    if (nanswering >= 0) {
        return nanswering;
    }
    nanswering = 0;
    for (int b = 0; b < backend_count(); b++) {
        const struct backend *backend = backend_at(b);
        if (!backend_has(backend, BACKEND_GPU) || backend->runtime->probe() == STATUS_OK) {
            answering[nanswering++] = backend;
        } else {
            print_message("backend %s left out: %s\n", backend->name, fail_message());
        }
    }
    return nanswering;
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

void *host_field(const struct layout *layout)
{
    void *h_field = malloc(layout_bytes(layout));
    assert_non_null(h_field);
    memset(h_field, 0xFF, layout_bytes(layout));
    return h_field;
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
