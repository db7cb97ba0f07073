/* The doctor's diagnosis of invented machines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/doctor.h"
#include "kernels/backend.h"
#include "tests/test.h"

enum { MOST_RANKS = 40 };

static struct rank_facts ranks[MOST_RANKS];
static struct doctor_facts facts;
static struct finding findings[DOCTOR_MAX_FINDINGS];

static void set_cores(int rank, int first, int count)
{
    struct machine *machine = &ranks[rank].machine;
    memset(&machine->cores, 0, sizeof machine->cores);
    for (int core = first; core < first + count; core++) {
        CPU_SET((size_t)core, &machine->cores);
    }
}

/* A node of 8 GPUs, two a NUMA node of 16 cores; each rank on 8 cores beside its own GPU. */
static void healthy_gpu_node(int nranks)
{
    memset(ranks, 0, sizeof ranks);
    for (int rank = 0; rank < nranks; rank++) {
        const int local = rank % 8;
        struct machine *machine = &ranks[rank].machine;
        (void)snprintf(machine->host, sizeof machine->host, "node%d", rank / 8);
        (void)snprintf(ranks[rank].pci, sizeof ranks[rank].pci, "0000:%02x:00.0", 0xc1 + local);
        machine->machine_cores = 64;
        machine->numa_nodes = 4;
        machine->numa = (uint64_t)1 << local / 2;
        machine->device_numa = local / 2;
        machine->device_index = local;
        ranks[rank].devices = 8;
        set_cores(rank, 8 * local, 8);
    }
    facts = (struct doctor_facts){.nranks = nranks,
                                  .ranks = ranks,
                                  .backend = "hip",
                                  .thread_level = MPI_THREAD_MULTIPLE,
                                  .device_send = DEVICE_SEND_YES,
                                  .hdf5_parallel = true};
}

/* One host with `cores` cores; ranks with these threads, free to run anywhere. */
static void cpu_node(int nranks, int threads, int cores)
{
    healthy_gpu_node(nranks);
    facts.backend = "cpu";
    facts.device_send = DEVICE_SEND_NOT_NEEDED;
    for (int rank = 0; rank < nranks; rank++) {
        ranks[rank].pci[0] = '\0';
        ranks[rank].devices = 0;
        ranks[rank].threads = threads;
        ranks[rank].machine.machine_cores = cores;
        ranks[rank].machine.device_numa = -1;
        (void)snprintf(ranks[rank].machine.host, sizeof ranks[rank].machine.host, "laptop");
        set_cores(rank, 0, cores);
    }
}

static void expect_none(void)
{
    const int count = doctor_diagnose(&facts, findings);
    for (int f = 0; f < count; f++) {
        print_error("unexpected: %s\n", findings[f].what);
    }
    assert_int_equal(count, 0);
}

/* Exactly one finding, with these words. */
static void expect(bool wrong, const char *what, const char *mend)
{
    const int count = doctor_diagnose(&facts, findings);
    for (int f = 0; f < count; f++) {
        if (strstr(findings[f].what, what) == NULL || strstr(findings[f].fix, mend) == NULL) {
            print_error("found: %s | %s\n", findings[f].what, findings[f].fix);
        }
    }
    assert_int_equal(count, 1);
    assert_int_equal(findings[0].wrong, wrong);
    assert_non_null(strstr(findings[0].what, what));
    assert_non_null(strstr(findings[0].fix, mend));
}

TEST(a_healthy_node_has_no_findings)
{
    healthy_gpu_node(8);
    expect_none();
    healthy_gpu_node(32); /* the same addresses on four hosts */
    expect_none();
    cpu_node(4, 2, 8);
    expect_none();
    cpu_node(1, 1, 1);
    expect_none();
}

TEST(two_ranks_on_one_device)
{
    healthy_gpu_node(16);
    (void)snprintf(ranks[11].pci, sizeof ranks[11].pci, "%s", ranks[9].pci);
    expect(true, "ranks 9, 11 on node1 share the device 0000:c2:00.0", "one rank per device");
    healthy_gpu_node(8);
    for (int rank = 0; rank < 8; rank++) {
        (void)snprintf(ranks[rank].pci, sizeof ranks[rank].pci, "0000:c1:00.0");
        ranks[rank].machine.device_numa = -1;
    }
    expect(true, "ranks 0, 1, 2, 3, 4, 5 and 2 more on node0 share", "--gpus-per-task=1");
}

TEST(devices_without_a_rank_are_noted)
{
    healthy_gpu_node(6);
    expect(false, "6 of the 8 devices of node0", "as many ranks");
}

TEST(a_rank_far_from_its_device)
{
    healthy_gpu_node(8);
    ranks[5].machine.numa = 1;
    expect(true, "rank 5 on node0 runs far from the device: rank 5 on NUMA node 0, its device on 2",
           "--gpu-bind=closest");
    ranks[6].machine.numa = 3; /* on NUMA nodes 0 and 1 */
    expect(true, "ranks 5, 6 on node0 run far", "--map-by numa");
    healthy_gpu_node(8);
    ranks[5].machine.numa = 15; /* free: some of its cores are near */
    ranks[6].machine.numa = 0;  /* unknown */
    ranks[7].machine.device_numa = -1;
    expect_none();
}

TEST(more_threads_than_cores)
{
    cpu_node(2, 4, 8);
    set_cores(1, 4, 1);
    expect(true, "rank 1 on laptop: more threads than cores (rank 1: 4 threads, bound to 1 core)",
           "--map-by slot:PE=THREADS");
    cpu_node(1, 16, 8);
    expect(true, "rank 0: 16 threads, bound to 8 cores", "OMP_NUM_THREADS");
}

TEST(ranks_crowd_on_shared_cores)
{
    cpu_node(3, 4, 8);
    expect(true, "the 3 ranks of laptop run 12 threads on 8 cores", "fewer ranks or threads");
    cpu_node(2, 1, 8);
    set_cores(0, 3, 1);
    set_cores(1, 3, 1); /* two on one core, the others idle */
    expect(true, "the 2 ranks of laptop run 2 threads on 1 core", "bind");
}

TEST(bound_to_one_core)
{
    cpu_node(2, 1, 8);
    set_cores(0, 0, 1);
    set_cores(1, 1, 1);
    expect(true, "ranks 0, 1 on laptop are bound to one core each, and 6 of 8 cores", "--bind-to");
    cpu_node(2, 1, 2);
    set_cores(0, 0, 1);
    set_cores(1, 1, 1); /* all cores in use: right */
    expect_none();
    healthy_gpu_node(8);
    for (int rank = 0; rank < 8; rank++) {
        set_cores(rank, 8 * rank, 1);
    }
    expect(true, "and 2 more on node0 are bound to one core each", "-c THREADS");
}

TEST(idle_cores_are_noted)
{
    cpu_node(2, 1, 8);
    expect(false, "2 of the 8 cores of laptop", "OMP_NUM_THREADS");
}

TEST(libraries_are_judged)
{
    healthy_gpu_node(8);
    facts.device_send = DEVICE_SEND_NO;
    (void)snprintf(facts.device_send_error, sizeof facts.device_send_error, "zeros came");
    expect(true, "MPI cannot send device memory: zeros came", "MPICH_GPU_SUPPORT_ENABLED=1");
    healthy_gpu_node(8);
    facts.hdf5_parallel = false;
    expect(true, "no MPI-IO driver", "parallel HDF5");
    healthy_gpu_node(8);
    facts.thread_level = MPI_THREAD_SINGLE;
    expect(true, "does not support threads", "thread support");
    facts.thread_level = MPI_THREAD_FUNNELED;
    expect(false, "MPI_THREAD_MULTIPLE", "--enable-mpi-thread-multiple");
    healthy_gpu_node(8);
    (void)snprintf(facts.lock_fails, sizeof facts.lock_fails, "Function not implemented");
    expect(true, "cannot be locked (Function not implemented)", "HDF5_USE_FILE_LOCKING=FALSE");
    facts.locking_off = true;
    expect_none();
    cpu_node(4, 2, 8);
    (void)snprintf(facts.gpu_fails, sizeof facts.gpu_fails, "hip: no driver");
    expect(false, "none is available: hip: no driver", "driver");
}

TEST(many_hosts_do_not_overflow)
{
    healthy_gpu_node(MOST_RANKS);
    for (int rank = 0; rank < MOST_RANKS; rank++) {
        (void)snprintf(ranks[rank].machine.host, sizeof ranks[rank].machine.host, "n%d", rank);
        ranks[rank].machine.numa = (uint64_t)1 << (ranks[rank].machine.device_numa + 1);
    }
    /* far devices and idle ones on each host */
    assert_int_equal(doctor_diagnose(&facts, findings), DOCTOR_MAX_FINDINGS);
}

TEST(numa_nodes_as_text)
{
    static const struct {
        uint64_t numa;
        const char *text;
    } cases[] = {{0, "?"}, {1, "0"}, {3, "0-1"}, {9, "0,3"}, {0xF6, "1-2,4-7"}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char text[64];
        numa_text(cases[c].numa, text, sizeof text);
        assert_string_equal(text, cases[c].text);
    }
}

/* ---- screening ---- */

/* The steps and hashes of the backend cpu; one bit of the result of call `fault` is flipped. */
static struct operations faulty;
static int calls;
static int fault;

static enum status step_with_a_fault(struct queue *queue, const struct step_args *args)
{
    TRY(backend_cpu.operations->step(queue, args));
    if (++calls == fault) {
        ((unsigned char *)args->d_out)[args->layout.origin * 8 + 20] ^= 0x10;
    }
    return STATUS_OK;
}

/* As memory that loses a bit between two reads. */
static enum status hash_and_lose_a_bit(struct queue *queue, const struct hash_args *args)
{
    TRY(backend_cpu.operations->hash(queue, args));
    if (++calls == fault) {
        union {
            const void *d_field;
            unsigned char *bytes;
        } field = {args->d_field};
        field.bytes[args->layout.origin * 8 + 16] ^= 1;
    }
    return STATUS_OK;
}

/* Of which a fiftieth holds a problem for each length of passes. */
static enum status little_memory(struct device *device, struct device_info *info)
{
    TRY(backend_cpu.runtime->info(device, info));
    info->free_bytes = 2400000000;
    return STATUS_OK;
}

/* A clock by which every problem takes as long, and on the slow device longer. */
static double factor;
static enum status steady_seconds(struct stopwatch *stopwatch, double *seconds)
{
    TRY(backend_cpu.runtime->stopwatch_seconds(stopwatch, seconds));
    *seconds = factor * 1e-3;
    return STATUS_OK;
}

static struct screen_result screened(int at, bool in_memory, double slower)
{
    struct backend backend = backend_cpu;
    struct runtime runtime = *backend_cpu.runtime;
    struct device *device = NULL;
    struct screen_result result;
    faulty = *backend_cpu.operations;
    backend.operations = &faulty;
    backend.runtime = &runtime;
    runtime.info = little_memory;
    runtime.stopwatch_seconds = steady_seconds;
    factor = slower;
    calls = 0;
    fault = at;
    if (in_memory) {
        faulty.hash = hash_and_lose_a_bit;
    } else {
        faulty.step = step_with_a_fault;
    }
    assert_int_equal(backend.runtime->open(0, 1, &device), STATUS_OK);
    assert_int_equal(screen_device(&backend, device, 1e-9, &result), STATUS_OK);
    backend.runtime->close(device);
    return result;
}

/* One known hash, whatever the length of the passes; a wrong bit in any of them is found. */
TEST(screening_finds_a_flipped_bit)
{
    enum { STEPS = 24 };
    const struct screen_result good = screened(0, false, 1);
    assert_int_equal(good.wrong, 0);
    assert_true(good.checks >= 2 && good.bytes > 0);
    int pass = 1;
    for (int length = 8; length >= 1; length--) {
        /* wrong when computed, and when it is read once more */
        const struct screen_result wrong = screened(pass, false, 1);
        assert_int_equal(wrong.wrong, 2);
        assert_int_equal(wrong.steps, length);
        pass += (STEPS + length - 1) / length;
    }
    const struct screen_result lost = screened(1, true, 1);
    assert_int_equal(lost.wrong, 1);
    assert_int_equal(lost.steps, 0);
}

/* The rank of each finding about `count` GPUs that gave these results. */
static void check_findings(int count, const struct screen_result results[], int n,
                           const char *says[])
{
    healthy_gpu_node(count);
    for (int rank = 0; rank < count; rank++) {
        ranks[rank].devices = count;
    }
    facts.screened = results;
    assert_int_equal(doctor_diagnose(&facts, findings), n);
    facts.screened = NULL;
    for (int f = 0; f < n; f++) {
        assert_non_null(strstr(findings[f].what, says[f]));
    }
}

/* As measured on each of them: one is 4 %, one 6 % slower. */
TEST(screening_finds_a_slow_device)
{
    const struct screen_result good = screened(0, false, 1);
    const struct screen_result slower = screened(0, false, 1 / 0.94);
    struct screen_result results[] = {good, good, good, good, good, good, good, good};
    results[2] = screened(0, false, 1 / 0.96);
    results[3] = slower;
    results[5] = screened(1, false, 1);
    check_findings(8, results, 2,
                   (const char *[]){"6.0 % below the median", "first was computed in passes of 8"});
    assert_non_null(strstr(findings[0].what, "rank 3"));
    assert_non_null(strstr(findings[1].what, "rank 5"));
    /* two devices: each is the other's peer; one has none */
    results[1] = slower;
    check_findings(2, results, 1, (const char *[]){"rank 1"});
    check_findings(1, &slower, 0, NULL);
}

TEST_MAIN(NULL, NULL)
