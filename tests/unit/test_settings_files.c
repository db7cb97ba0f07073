/* Files: the shipped configurations, the reference page, unreadable files, and damaged ones. */
#include "test_settings_common.h"

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cmake/settings_reference.h"
#include "config/units.h"

static char *read_whole(const char *path, size_t *nbytes)
{
    char *bytes = NULL;
    if (file_read_all(path, 1 << 20, &bytes, nbytes) != STATUS_OK) {
        fail_msg("%s", fail_message());
    }
    return bytes;
}

TEST(test_shipped_configurations)
{
    int count = 0;
    DIR *folder = opendir(CONFIGS_DIRECTORY);
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".yaml") != 0) {
            continue;
        }
        if (strcmp(entry->d_name, "units.yaml") == 0 && !units_supported()) {
            continue;
        }
        char path[PATH_BYTES];
        struct settings *settings = NULL;
        snprintf(path, sizeof path, "%s/%s", CONFIGS_DIRECTORY, entry->d_name);
        size_t nbytes = 0;
        char *bytes = read_whole(path, &nbytes);
        if (settings_read_text(path, bytes, NULL, 0, &settings) != STATUS_OK) {
            fail_msg("%s", fail_message());
        }
        free(bytes);
        /* title and output folder carry the file's name, so that no two runs meet */
        char name[PATH_BYTES];
        snprintf(name, sizeof name, "%.*s", (int)(dot - entry->d_name), entry->d_name);
        assert_string_equal(settings->title, name);
        snprintf(name, sizeof name, "out/%s", settings->title);
        assert_string_equal(settings->output.directory, name);
        struct settings *again = read_good(settings->text, NULL, 0);
        assert_string_equal(again->text, settings->text);
        settings_destroy(again);
        settings_destroy(settings);
        count++;
    }
    closedir(folder);
    assert_true(count >= 10);
}

TEST(test_reference_page)
{
    size_t nbytes = 0;
    char *page = read_whole(REFERENCE_PAGE, &nbytes);
    char *reference = settings_reference(page);
    assert_non_null(reference);
    assert_null(strstr(page, "| ? |"));
    assert_null(strstr(page, "`: ?\n"));
    assert_null(strstr(page, "\n?"));
    if (strcmp(page, reference) != 0) {
        fail_msg("docs/reference/configuration.md is not what the schema says; to write it: "
                 "cmake --build build/cpu --target configuration_page");
    }
    free(page);
    free(reference);
}

static void expect_unreadable(const char *path, const char *message)
{
    char *bytes = NULL;
    size_t nbytes = 0;
    assert_int_equal(file_read_all(path, 1 << 20, &bytes, &nbytes), STATUS_FILE);
    assert_null(bytes);
    assert_string_equal(fail_message(), message);
}

TEST(test_unreadable_files)
{
    expect_unreadable("/nowhere/c.yaml", "cannot open /nowhere/c.yaml: No such file or directory");
    expect_unreadable("/tmp", "cannot read /tmp: Is a directory");
    expect_unreadable("/dev/zero",
                      "/dev/zero is not a regular file but a pipe or a device; give a file");
    char folder[] = "/tmp/isotherm_pipe_XXXXXX";
    char pipe[64];
    char message[128];
    assert_non_null(mkdtemp(folder));
    snprintf(pipe, sizeof pipe, "%s/c.yaml", folder);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    snprintf(message, sizeof message,
             "%s is not a regular file but a pipe or a device; give a file", pipe);
    expect_unreadable(pipe, message); /* and nobody waits for a writer */
    unlink(pipe);
    rmdir(folder);
}

TEST(test_huge_file)
{
    char path[] = "/tmp/isotherm_huge_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (int i = 0; i < 20; i++) {
        char block[65536];
        memset(block, '#', sizeof block);
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    }
    close(fd);
    char message[128];
    snprintf(message, sizeof message, "%s is larger than 1048576 bytes: not what was expected",
             path);
    expect_unreadable(path, message);
    unlink(path);
}

TEST(test_not_a_configuration)
{
    static const char keys[] =
        "give the keys: title, quantity, grid, material, materials, parts, contacts, ambients, "
        "surfaces, sources, "
        "initial, boundary, time, run, output";
    static const char *const cases[][2] = {
        {"", "the configuration is empty"},
        {"# only a comment\n", "the configuration is empty"},
        {"hello\n", "not made of 'key: value' lines (hello)"},
        {"- 1\n- 2\n", "not made of 'key: value' lines ([1, 2])"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char message[256];
        snprintf(message, sizeof message, "c.yaml:1: %s; %s", cases[i][1], keys);
        expect_refused(cases[i][0], NULL, 0, message);
    }
    expect_refused("title: a\n\x80\x81\n", NULL, 0,
                   "c.yaml:2: not a text file: invalid leading UTF-8 octet; give a configuration "
                   "in YAML (UTF-8)");
    expect_refused("title: a\n\x01\n", NULL, 0,
                   "c.yaml:2: not a text file: control characters are not allowed; give a "
                   "configuration in YAML (UTF-8)");
}

/* libyaml would take it as the end, and the rest would not count. */
TEST(test_zero_bytes)
{
    static const struct settings_overrides none;
    static const char wide[] = "\xff\xfet\0i\0t\0l\0e\0:\0 \0a\0\n\0";
    static const char say[] = "not a text file: a zero byte; give a configuration in YAML (UTF-8)";
    size_t nbytes = 0;
    char *text = read_whole(CONFIGS_DIRECTORY "/quickstart.yaml", &nbytes);
    char message[256];
    struct settings *settings = NULL;
    int lines = 1;
    for (size_t i = 0; i < nbytes; i++) {
        lines += text[i] == '\n';
    }
    /* what fread left behind the last byte is one */
    assert_int_equal(settings_read_bytes("c.yaml", text, nbytes + 1, &none, &settings),
                     STATUS_INPUT);
    snprintf(message, sizeof message, "c.yaml:%d: %s", lines, say);
    assert_string_equal(fail_message(), message);
    assert_null(settings);
    free(text);
    assert_int_equal(settings_read_bytes("c.yaml", wide, sizeof wide - 1, &none, &settings),
                     STATUS_INPUT);
    snprintf(message, sizeof message, "c.yaml:1: %s", say);
    assert_string_equal(fail_message(), message);
    static const char *const hidden[] = {"title=\"a\\0b\"",
                                         "boundary.y_max.value=\"300\\u0000 + t\""};
    for (int i = 0; i < 2; i++) {
        snprintf(message, sizeof message, "--set %s: a string contains a zero byte; remove it",
                 hidden[i]);
        expect_refused(base_text, &hidden[i], 1, message);
    }
}

/* What a short file can blow up to, and nesting without end. */
TEST(test_bombs)
{
    expect_refused("a: &a [1,1,1,1,1,1,1,1,1,1]\n"
                   "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                   "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                   "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                   "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
                   NULL, 0, "c.yaml:1: more than 10000 values (repeated by aliases?); use fewer");
    enum { DEEP = 100000 };
    char *text = malloc(DEEP + 1);
    assert_non_null(text);
    for (int kind = 0; kind < 3; kind++) {
        memset(text, "[{-"[kind], DEEP);
        for (int i = 1; kind == 2 && i < DEEP; i += 2) {
            text[i] = ' ';
        }
        text[DEEP] = '\0';
        struct settings *settings = NULL;
        assert_int_equal(settings_read_text("deep", text, NULL, 0, &settings), STATUS_INPUT);
        assert_null(settings);
    }
    free(text);
}

/* splitmix64 (S. Vigna, public domain): a fixed sequence on every machine. */
static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void damage_bytes(char *text, size_t *nbytes, uint64_t *seed)
{
    static const char liked[] = "[]{}:,-#&*!|>'\"%@` \n\t0123456789.eE+xyz";
    const int changes = 1 + (int)(next_random(seed) % 4);
    for (int i = 0; i<changes && * nbytes> 2; i++) {
        const size_t at = next_random(seed) % *nbytes;
        switch (next_random(seed) % 4) {
        case 0:
            text[at] ^= (char)(1 << (next_random(seed) % 8));
            break;
        case 1:
            text[at] = liked[next_random(seed) % (sizeof liked - 1)];
            break;
        case 2:
            memmove(text + at, text + at + 1, *nbytes - at);
            *nbytes -= 1;
            break;
        default:
            *nbytes = at > *nbytes / 2 ? at : *nbytes;
            text[*nbytes] = '\0';
            break;
        }
        if (text[at] == '\0') {
            text[at] = ' '; /* settings_read_text takes strings */
        }
    }
    text[*nbytes] = '\0';
}

/* Damaged text is read or refused with a message, never worse (run under ASan too). What is read
 * must come back the same from its own text. */
TEST(test_mutations)
{
    size_t nbytes = 0;
    int accepted = 0;
    char *original = read_whole(CONFIGS_DIRECTORY "/quickstart.yaml", &nbytes);
    uint64_t seed = 20240607;
    const clock_t start = clock();
    int i = 0;
    for (; i < 200 || (i < 20000 && clock() - start < 2 * CLOCKS_PER_SEC); i++) {
        char *text = strdup(original);
        assert_non_null(text);
        size_t length = nbytes;
        damage_bytes(text, &length, &seed);
        struct settings *settings = NULL;
        if (settings_read_text("c.yaml", text, NULL, 0, &settings) == STATUS_OK) {
            struct settings *again = read_good(settings->text, NULL, 0);
            assert_string_equal(again->text, settings->text);
            settings_destroy(again);
            settings_destroy(settings);
            accepted++;
        } else {
            assert_null(settings);
            for (const char *line = fail_message(); line != NULL; line = strchr(line, '\n')) {
                line += *line == '\n';
                assert_true(strncmp(line, "c.yaml:", 7) == 0 || strncmp(line, "and ", 4) == 0);
            }
        }
        free(text);
    }
    free(original);
    assert_true(accepted > 0 && accepted < i);
}

TEST_MAIN(NULL, NULL)
