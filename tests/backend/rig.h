/* What all conformance tests need: an open backend, fields on the host that travel to the device
 * and back, and numbers that look random but are the same in every run. */
#pragma once

#include "kernels/backend.h"
#include "tests/test.h"

struct rig {
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
};

/* Fails the test with the recorded message unless the call succeeds. */
#define must(call) must_at((call), #call, __FILE__, __LINE__)
void must_at(enum status status, const char *call, const char *file, int line);

/* The compiled-in backends that can run on this machine. */
int rig_backend_count(void);
const struct backend *rig_backend_at(int index);

/* With ISOTHERM_TEST_THIRD only one in three problems of each large shape, and of passes of each
 * length: the sanitizers and the emulations of the two chips, which take minutes, have a third
 * each. */
bool rig_leaves_out(size_t shape, uint64_t problem);

void rig_open(struct rig *rig, const struct backend *backend);
void rig_close(struct rig *rig);

/* Fresh device memory with these bytes in it; and its contents in fresh host memory (free). */
void *rig_upload(struct rig *rig, const void *h_bytes, size_t bytes);
void *rig_download(struct rig *rig, const void *d_bytes, size_t bytes);

uint64_t random_bits(uint64_t *state);
int64_t random_below(uint64_t *state, int64_t n);
double random_between(uint64_t *state, double low, double high);

/* Element `at` of a field on the host. */
double host_get(const struct layout *layout, const void *h_field, int64_t at);
void host_set(const struct layout *layout, void *h_field, int64_t at, double value);
/* Fails the test at the first element, halo and padding included, whose bits differ. */
void assert_same_field(const struct layout *layout, const void *h_got, const void *h_expected,
                       const char *who);
/* The whole allocation as NaN (free). */
void *host_field(const struct layout *layout);

/* A sum in units of 2^-80 K: of one value, rounded as exact_sum.h promises, and as digits in base
 * 2^40. */
__int128 fixed_point(double value);
struct exact_sum fixed_digits(__int128 value);

/* What the tests of the step do in each shape; bit f of `closed_faces`: face f is closed. */
typedef void shape_check(const int64_t cells[AXIS_COUNT], unsigned closed_faces, uint64_t seed);
void rig_shapes_of_all_kinds(shape_check *check);
void rig_faces_in_all_combinations(shape_check *check);

/* Cut `box` in two at random places until there are `n` pieces. Returns how many there are. */
int random_partition(uint64_t *state, const struct box *box, int n, struct box *pieces);
