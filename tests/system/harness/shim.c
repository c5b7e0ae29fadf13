/* Stands between a program and its C library: counts the writes, cuts and syncs of a database's files, writes each down, and
 * lets one of them fail, or lets every sync do nothing and say that it did.
 *
 * CALLONCE_SHIM_LOG    where they are written down, a line each: what, which file
 * CALLONCE_SHIM_ARM    counting begins once there is a file of this name; at once, if there is no such name
 * CALLONCE_SHIM_FAULT  what fails with an input/output error, as in "sync -wal 3"
 * CALLONCE_SHIM_KILL   if it is set, the process is killed there instead
 * CALLONCE_SHIM_LIE    if it is set, no sync is done
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int armed, log_file = -1, nth, passed, lies, kills;
static char fault_kind[16], fault_file[32];

static void set_up(void) __attribute__((constructor));
static void set_up(void) {
    const char *log = getenv("CALLONCE_SHIM_LOG"), *fault = getenv("CALLONCE_SHIM_FAULT");
    lies = getenv("CALLONCE_SHIM_LIE") != NULL;
    kills = getenv("CALLONCE_SHIM_KILL") != NULL;
    armed = getenv("CALLONCE_SHIM_ARM") == NULL;
    if (log) log_file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fault && sscanf(fault, "%15s %31s %d", fault_kind, fault_file, &nth) != 3) abort();
}

/* The file's name after that of the database, "db" for itself, "folder" for a folder; nothing for all others. */
static const char *file_of(int fd, char *path, size_t size) {
    char link[64];
    struct stat is;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    if (length <= 0 || path[0] != '/') return NULL;
    path[length] = 0;
    char *name = strstr(strrchr(path, '/'), "calls.db");
    if (!name) return fstat(fd, &is) == 0 && S_ISDIR(is.st_mode) ? "folder" : NULL;
    name += strlen("calls.db");
    char *end = strstr(name, ".new");
    if (!end) end = strstr(name, " (deleted)");
    if (end) *end = 0;
    return *name ? name : "db";
}

/* Whether this one is to fail. */
static int fails(const char *kind, int fd) {
    char path[4096], line[128];
    int saved = errno, strikes = 0;
    const char *file = log_file < 0 && !nth ? NULL : file_of(fd, path, sizeof path);
    if (file) {
        pthread_mutex_lock(&mutex);
        const char *arm = getenv("CALLONCE_SHIM_ARM");
        armed = armed || (arm && access(arm, F_OK) == 0);
        if (armed) {
            strikes = strcmp(kind, fault_kind) == 0 && strcmp(file, fault_file) == 0 && ++passed == nth;
            int length = snprintf(line, sizeof line, "%s %s%s\n", kind, file, strikes ? " STRUCK" : "");
            if (log_file >= 0) syscall(SYS_write, log_file, line, (size_t)length);
            if (strikes && kills) kill(getpid(), SIGKILL);
        }
        pthread_mutex_unlock(&mutex);
    }
    errno = strikes ? EIO : saved;
    return strikes;
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *from, size_t bytes) {
    return fails("write", fd) ? -1 : REAL(ssize_t, write, int, const void *, size_t)(fd, from, bytes);
}
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at) {
    return fails("write", fd) ? -1 : REAL(ssize_t, pwrite, int, const void *, size_t, off_t)(fd, from, bytes, at);
}
ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t at) {
    return fails("write", fd) ? -1 : REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(fd, from, bytes, at);
}
int ftruncate(int fd, off_t length) {
    return fails("cut", fd) ? -1 : REAL(int, ftruncate, int, off_t)(fd, length);
}
int ftruncate64(int fd, off64_t length) {
    return fails("cut", fd) ? -1 : REAL(int, ftruncate64, int, off64_t)(fd, length);
}
int fsync(int fd) {
    if (fails("sync", fd)) return -1;
    return lies ? 0 : REAL(int, fsync, int)(fd);
}
int fdatasync(int fd) {
    if (fails("sync", fd)) return -1;
    return lies ? 0 : REAL(int, fdatasync, int)(fd);
}
