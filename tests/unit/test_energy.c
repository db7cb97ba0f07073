/* Energy counters: from powercap and hwmon trees of our own, and from a library that stands in for
 * NVML and ROCm SMI. */
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/energy.h"
#include "tests/test.h"

static char root[64];

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static struct energy_places places(void)
{
    return (struct energy_places){
        .nvml = FAKE_LIBRARY, .rocm_smi = FAKE_LIBRARY, .pci_devices = root, .powercap = root};
}

static double read_joules(struct energy_meter *meter)
{
    double joules = -1;
    assert_true(energy_read(meter, &joules));
    return joules;
}

static struct energy_meter *open_good(const struct energy_places *where, const char *pci,
                                      const char *source)
{
    char why[ENERGY_WORDS] = "unset";
    struct energy_meter *meter = energy_open(where, pci, why);
    assert_non_null(meter);
    assert_string_equal(why, "");
    assert_string_equal(energy_source(meter), source);
    return meter;
}

static void cannot_open(const struct energy_places *where, const char *pci, const char *reason)
{
    char why[ENERGY_WORDS] = "";
    assert_null(energy_open(where, pci, why));
    if (strstr(why, reason) == NULL) {
        fail_msg("'%s' does not say '%s'", why, reason);
    }
}

TEST(cpus_by_powercap)
{
    const struct energy_places where = places();
    cannot_open(&where, "", "no energy counter of the CPUs");
    put("intel-rapl:0/energy_uj", "1000000\n");
    put("intel-rapl:0/max_energy_range_uj", "262143328850\n");
    put("intel-rapl:1/energy_uj", "262143000000\n");
    put("intel-rapl:1/max_energy_range_uj", "262143328850\n");
    put("intel-rapl:0:0/energy_uj", "77\n"); /* a part of package 0 */
    struct energy_meter *meter = open_good(&where, "", "RAPL");
    const double before = read_joules(meter);
    put("intel-rapl:0/energy_uj", "3500000\n");
    put("intel-rapl:1/energy_uj", "671150\n"); /* wrapped around: 1 J more */
    assert_true(fabs(read_joules(meter) - before - 3.5) < 1e-9);
    put("intel-rapl:1/energy_uj", "\n");
    double joules = 0;
    assert_false(energy_read(meter, &joules));
    energy_close(meter);
    cannot_open(&where, "", "may not be read by this user");
}

TEST(devices_by_nvml)
{
    struct energy_places where = places();
    assert_int_equal(unsetenv("FAKE_ENERGY"), 0);
    cannot_open(&where, "0000:c1:00.0", "NVML: initialization failed, code 9");
    assert_int_equal(setenv("FAKE_ENERGY", "1", 1), 0);
    cannot_open(&where, "0000:c2:00.0", "NVML: the device 0000:c2:00.0 is unknown");
    struct energy_meter *meter = open_good(&where, "0000:c1:00.0", "NVML");
    const double before = read_joules(meter);
    assert_true(fabs(read_joules(meter) - before - 0.25) < 1e-9);
    energy_close(meter);
    where.nvml = "libno-such-library.so";
    cannot_open(&where, "0000:c1:00.0", "libno-such-library.so cannot be loaded");
    where.nvml = "libm.so.6";
    cannot_open(&where, "0000:c1:00.0", "libm.so.6 has no nvmlInit_v2");
}

TEST(devices_by_rocm_smi_or_hwmon)
{
    struct energy_places where = places();
    put("0000:de:00.0/vendor", "0x1002\n");
    put("0000:d9:00.0/vendor", "0x1002\n");
    struct energy_meter *meter = open_good(&where, "0000:de:00.0", "ROCm SMI");
    const double before = read_joules(meter);
    assert_true(fabs(read_joules(meter) - before - 0.0153) < 1e-8);
    energy_close(meter);
    cannot_open(&where, "0000:d9:00.0", "no energy counter of the device 0000:d9:00.0");
    where.rocm_smi = "libno-such-library.so";
    cannot_open(&where, "0000:d9:00.0", "libno-such-library.so cannot be loaded");
    put("0000:d9:00.0/hwmon/hwmon3/energy1_input", "5000000\n");
    meter = open_good(&where, "0000:d9:00.0", "hwmon");
    const double first = read_joules(meter);
    put("0000:d9:00.0/hwmon/hwmon3/energy1_input", "7000000\n");
    assert_true(fabs(read_joules(meter) - first - 2.0) < 1e-9);
    energy_close(meter);
    energy_close(NULL);
}

static int remove_entry(const char *path, const struct stat *entry, int kind, struct FTW *place)
{
    (void)entry;
    (void)kind;
    (void)place;
    return remove(path);
}

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/isotherm_energy_XXXXXX");
    return mkdtemp(root) == NULL;
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

TEST_MAIN(make_root, remove_root)
