/* The energy of a bench's calls, with a counter that grows by 0.25 J with every reading. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_parts.h"
#include "kernels/backends.h"
#include "tests/test_ranks.h"

static struct energy_meter *open_fake(void)
{
    const struct energy_places where = {
        .nvml = FAKE_LIBRARY, .rocm_smi = "none", .pci_devices = "/none", .powercap = "/none"};
    char why[ENERGY_WORDS];
    assert_int_equal(setenv("FAKE_ENERGY", "1", 1), 0);
    struct energy_meter *meter = energy_open(&where, "0000:c1:00.0", why);
    assert_non_null(meter);
    return meter;
}

static enum status count_call(void *context)
{
    ++*(int *)context;
    return STATUS_OK;
}

static void measure(const struct bench_meter *meter, int *ncalls, struct bench_energy *energy)
{
    struct bench_calls calls = {
        .place.backend = backend_find("cpu"), .call = count_call, .context = ncalls};
    const struct runtime *runtime = calls.place.backend->runtime;
    const double call_s = 1e-3;
    assert_int_equal(runtime->open(0, 1, &calls.place.device), STATUS_OK);
    assert_int_equal(runtime->queue_create(calls.place.device, QUEUE_NORMAL, &calls.place.queue),
                     STATUS_OK);
    *ncalls = 0;
    assert_int_equal(bench_energy_measure(meter, &calls, call_s, energy), STATUS_OK);
    runtime->queue_destroy(calls.place.queue);
    runtime->close(calls.place.device);
}

/* Million updates per joule, of calls with a million. */
static void expect_column(const struct bench_energy *energy, const char *figure)
{
    struct table table = {.has_heading = false};
    char line[16];
    table_row_begin(&table, NULL);
    bench_energy_columns(&table, energy, 1e6);
    table_row_end(&table);
    snprintf(line, sizeof line, "%10s", figure);
    assert_string_equal(table.line, line);
}

/* 10 ms between two readings are 10 calls of 1 ms. */
TEST(energy_of_a_call)
{
    struct bench_meter meter = {.meter = open_fake()};
    struct bench_energy energy;
    int ncalls = 0;
    measure(&meter, &ncalls, &energy);
    assert_true(fabs(energy.joules - 0.025) < 1e-9);
    assert_true(energy.watts > 0);
    assert_string_equal(energy.source, "NVML");
    assert_string_equal(energy.why, "");
    assert_true(ncalls >= 20 && ncalls % 10 == 0);
    expect_column(&energy, "40.0");
    bench_meter_close(&meter);
    bench_meter_close(&meter);
}

TEST(nothing_is_called_without_a_counter)
{
    struct bench_meter meter = {.why = "none here"};
    struct bench_energy energy;
    int ncalls = 0;
    measure(&meter, &ncalls, &energy);
    assert_int_equal(ncalls, 0);
    assert_true(isnan(energy.joules) && isnan(energy.watts));
    assert_string_equal(energy.why, "none here");
    expect_column(&energy, "-");
}

TEST(energy_of_all_ranks)
{
    struct bench_team team = {
        .comm = MPI_COMM_SELF, .energy = {.meter = open_fake()}, .counts = true};
    struct bench_energy energy;
    for (int stretch = 0; stretch < 2; stretch++) { /* one reading from its begin to its end */
        bench_team_begin(&team);
        assert_int_equal(bench_team_end(&team, 5, &energy), STATUS_OK);
        assert_true(fabs(energy.joules - 0.05) < 1e-9);
        assert_string_equal(energy.source, "NVML");
        assert_string_equal(energy.why, "");
    }
    bench_team_close(&team);
    team = (struct bench_team){.comm = MPI_COMM_SELF, .total = {NAN, "", "none here"}};
    bench_team_begin(&team);
    assert_int_equal(bench_team_end(&team, 5, &energy), STATUS_OK);
    assert_true(isnan(energy.joules));
    assert_string_equal(energy.why, "none here");
    bench_team_close(&team);
}

TEST_MAIN_RANKS(NULL, NULL)
