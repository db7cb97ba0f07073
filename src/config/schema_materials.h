/* The rows of `materials` in the table of schema_table.c, with its macros. */
#ifndef ISOTHERM_CONFIG_SCHEMA_MATERIALS_H
#define ISOTHERM_CONFIG_SCHEMA_MATERIALS_H

#define IN_MATERIAL(member) offsetof(struct material_setting, member)

#define MATERIAL_ROWS                                                                              \
    KEY("materials[].name", TEXT, ASK, IN_MATERIAL(name), "Its name.", .flags = SCHEMA_REQUIRED,   \
        .example = "steel"),                                                                       \
        KEY("materials[].conductivity", REAL, ASK, IN_MATERIAL(solid.conductivity),                \
            "Thermal conductivity k; three values for x, y, z of an anisotropic material.",        \
            .flags = SCHEMA_REQUIRED | SCHEMA_SAME | SCHEMA_OR_TABLE, .min_count = 1,              \
            .max_count = 3, .alternative = IN_MATERIAL(solid.conductivity_table),                  \
            .limit = &positive, .unit = &conductivity, .example = "[0.9, 0.9, 0.3]"),              \
        KEY("materials[].density", REAL, ASK, IN_MATERIAL(density), "Density rho.",                \
            .flags = SCHEMA_REQUIRED, .limit = &positive, .unit = &density),                       \
        KEY("materials[].heat_capacity", REAL, ASK, IN_MATERIAL(solid.heat_capacity),              \
            "Specific heat capacity c.", .flags = SCHEMA_REQUIRED | SCHEMA_OR_TABLE,               \
            .alternative = IN_MATERIAL(solid.heat_capacity_table), .limit = &positive,             \
            .unit = &heat_capacity, .example = "[[300, 450], [1700, 800]]"),                       \
        KEY("materials[].latent_heat", REAL, ASK, IN_MATERIAL(latent_heat),                        \
            "The heat of melting per mass; the keys above are those of the solid.",                \
            .flags = SCHEMA_NOTED, .alternative = IN_MATERIAL(melts), .limit = &not_negative,      \
            .unit = &latent_heat),                                                                 \
        KEY("materials[].solidus", REAL, ASK, IN_MATERIAL(solidus),                                \
            "With `latent_heat`: the temperature at which it begins to melt.",                     \
            .flags = SCHEMA_NOTED, .alternative = IN_MATERIAL(has_solidus), .limit = &temperature, \
            .unit = &kelvin),                                                                      \
        KEY("materials[].liquidus", REAL, ASK, IN_MATERIAL(liquidus),                              \
            "The temperature above which it is liquid. Left out: the solidus.",                    \
            .flags = SCHEMA_NOTED, .alternative = IN_MATERIAL(has_liquidus),                       \
            .limit = &temperature, .unit = &kelvin),                                               \
        SECTION(                                                                                   \
            "materials[].liquid",                                                                  \
            "Properties above the liquidus, where they differ; between solidus and liquidus they " \
            "change linearly."),                                                                   \
        KEY("materials[].liquid.conductivity", REAL, ASK, IN_MATERIAL(liquid.conductivity),        \
            "Thermal conductivity of the liquid.", .flags = SCHEMA_SAME | SCHEMA_OR_TABLE,         \
            .min_count = 1, .max_count = 3, .alternative = IN_MATERIAL(liquid.conductivity_table), \
            .limit = &positive, .unit = &conductivity),                                            \
        KEY("materials[].liquid.heat_capacity", REAL, ASK, IN_MATERIAL(liquid.heat_capacity),      \
            "Specific heat capacity of the liquid.", .flags = SCHEMA_OR_TABLE,                     \
            .alternative = IN_MATERIAL(liquid.heat_capacity_table), .limit = &positive,            \
            .unit = &heat_capacity)

#endif
