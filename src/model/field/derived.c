#include "model/field/derived.h"

#include <stdlib.h>
#include <string.h>

#include "config/schema/schema.h"
#include "model/field/quantity.h"

static const struct {
    struct derived_label label;
    int tracked;
} kinds[DERIVED_COUNT] = {
    [DERIVED_T_MAX] = {{"T_max", "K", "highest temperature so far"}, TRACK_HIGHEST},
    [DERIVED_ARRIVAL] = {{"arrival_time", "s", "time of arrival of the isotherm"}, TRACK_ARRIVAL},
    [DERIVED_ABOVE] = {{"time_above", "s", "time above the threshold"}, TRACK_ABOVE},
    [DERIVED_FLUX] = {{"heat_flux", "W m-2", "magnitude of the heat flux"}, -1},
    [DERIVED_LIQUID] = {{"liquid_fraction", "1", "part that is liquid"}, -1},
    [DERIVED_MATERIAL] = {{"material", "1", "number of the material"}, -1},
    [DERIVED_COOLING] = {{"cooling_rate", "K s-1", "rate of the last cooling"}, TRACK_COOLING},
    [DERIVED_MELTED] = {{"melt_time", "s", "time of the first melting"}, TRACK_MELTED},
    [DERIVED_FROZEN] = {{"freeze_time", "s", "time of the last freezing"}, TRACK_FROZEN},
    [DERIVED_MELTINGS] = {{"meltings", "1", "number of meltings"}, TRACK_MELTINGS},
    [DERIVED_DOSE] = {{"CEM43", "min", "thermal dose, equivalent minutes at 43 degC"}, TRACK_DOSE},
    [DERIVED_PREVIOUS] = {{"T_sampled", "K", "temperature of the previous sample"}, TRACK_PREVIOUS},
    [DERIVED_COOLED] = {{"cooling_start", "s", "time since which the cell cools"}, TRACK_COOLED},
};

const struct derived_label *derived_label(enum derived_kind kind)
{
    static struct derived_label own[DERIVED_COUNT];
    static char units[DERIVED_COUNT][SCHEMA_UNIT_BYTES];
    const struct derived_label *label = &kinds[kind].label;
    const struct quantity_setting *quantity = quantity_used();
    if (!quantity->given || strpbrk(label->units, "KW") == NULL) {
        return label;
    }
    own[kind] = *label;
    own[kind].units =
        schema_unit_for(label->units, quantity->unit, quantity->content_unit, units[kind]);
    return &own[kind];
}

const struct derived_label *derived_field_label(void)
{
    static struct derived_label label = {.name = "T"};
    label.units = quantity_used()->unit;
    label.long_name = quantity_used()->name;
    return &label;
}

int derived_tracked(enum derived_kind kind)
{
    return kinds[kind].tracked;
}

int derived_count(unsigned mask)
{
    int count = 0;
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        count += derived_wants(mask, kind) ? 1 : 0;
    }
    return count;
}

static unsigned of_output(const struct snapshot_setting *setting)
{
    return cadence_is_on(&setting->cadence) ? setting->derived : 0;
}

unsigned derived_of_settings(const struct settings *settings)
{
    unsigned mask = of_output(&settings->output.snapshots);
    for (int i = 0; i < settings->output.nregions; i++) {
        mask |= of_output(&settings->output.regions[i].file);
    }
    for (int m = 0; m < settings->nmaterials; m++) {
        mask |= settings->materials[m].becomes != NULL ? 1U << DERIVED_MATERIAL : 0;
    }
    const unsigned past = 1U << DERIVED_COOLING | 1U << DERIVED_FROZEN | 1U << DERIVED_MELTINGS;
    const double *cooling = settings->output.derived.cooling;
    mask |=
        derived_wants(mask, DERIVED_COOLING) && cooling[0] > cooling[1] ? 1U << DERIVED_COOLED : 0;
    return (mask & past) != 0 ? mask | 1U << DERIVED_PREVIOUS : mask;
}

enum status derived_bytes(const struct box *owned, unsigned mask, uint64_t *bytes)
{
    static const int no_halo[AXIS_COUNT] = {0, 0, 0};
    struct layout layout;
    int64_t cells[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        cells[a] = box_extent(owned, (enum axis)a);
    }
    TRY(layout_create(cells, no_halo, PRECISION_FLOAT64, &layout));
    *bytes = (uint64_t)derived_count(mask) * layout_bytes(&layout);
    return STATUS_OK;
}

static enum status allocate(struct derived *derived, const int64_t cells[AXIS_COUNT])
{
    static const int no_halo[AXIS_COUNT] = {0, 0, 0};
    TRY(layout_create(cells, no_halo, PRECISION_FLOAT64, &derived->layout));
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        void *d_memory = NULL;
        if (derived_wants(derived->mask, kind)) {
            TRY(derived->backend->runtime->memory_alloc(derived->device,
                                                        layout_bytes(&derived->layout), &d_memory));
            derived->d_values[kind] = d_memory;
        }
    }
    return STATUS_OK;
}

enum status derived_create(const struct backend *backend, struct device *device,
                           const int64_t cells[AXIS_COUNT], unsigned mask, struct derived **derived)
{
    *derived = NULL;
    struct derived *built = calloc(1, sizeof *built);
    TRY(CHECK_MEMORY(built != NULL, "no memory for the derived fields"));
    *built =
        (struct derived){.backend = backend, .device = device, .mask = mask, .sampled_step = -1};
    const enum status status = allocate(built, cells);
    if (status == STATUS_OK) {
        *derived = built;
    } else {
        derived_destroy(built);
    }
    return status;
}

void derived_destroy(struct derived *derived)
{
    if (derived == NULL) {
        return;
    }
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        derived->backend->runtime->memory_free(derived->device, derived->d_values[kind]);
    }
    free(derived);
}
