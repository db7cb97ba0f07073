/* Preloaded: a system that gives less than usual.
 *
 *     POOR_THREADS   the rank, or "all", on which the program's own threads cannot be started, as
 *                    with a low `ulimit -u`; those of MPI and OpenMP can
 *     POOR_FOLDER    what ends so cannot be examined or listed (EIO), as on a broken disk */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

static bool is_in_the_program(void *(*work)(void *))
{
    Dl_info about;
    void *address;
    memcpy(&address, &work, sizeof address);
    return dladdr(address, &about) != 0 && strstr(about.dli_fname, ".so") == NULL;
}

static bool is_refused(void *(*work)(void *))
{
    const char *wanted = getenv("POOR_THREADS");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    return wanted != NULL && is_in_the_program(work) &&
           (strcmp(wanted, "all") == 0 || (rank != NULL && strcmp(wanted, rank) == 0));
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *),
                   void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &found, sizeof real);
    return is_refused(work) ? EAGAIN : real(thread, attributes, work, argument);
}

static bool is_broken(const char *path)
{
    const char *end = getenv("POOR_FOLDER");
    const size_t length = strlen(path);
    return end != NULL && length >= strlen(end) && strcmp(path + length - strlen(end), end) == 0;
}

int stat(const char *restrict path, struct stat *restrict found)
{
    int (*real)(const char *, struct stat *);
    void *address = dlsym(RTLD_NEXT, "stat");
    memcpy(&real, &address, sizeof real);
    errno = EIO;
    return is_broken(path) ? -1 : real(path, found);
}

int scandir(const char *restrict path, struct dirent ***restrict entries,
            int (*chosen)(const struct dirent *),
            int (*order)(const struct dirent **, const struct dirent **))
{
    int (*real)(const char *, struct dirent ***, int (*)(const struct dirent *),
                int (*)(const struct dirent **, const struct dirent **));
    void *address = dlsym(RTLD_NEXT, "scandir");
    memcpy(&real, &address, sizeof real);
    errno = EIO;
    return is_broken(path) ? -1 : real(path, entries, chosen, order);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
