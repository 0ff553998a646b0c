/* A clock that is wrong by WRONG_BY seconds: loaded before the C library (LD_PRELOAD). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, now);
    const char *seconds = getenv("WRONG_BY");
    if (result == 0 && id == CLOCK_REALTIME && seconds)
        now->tv_sec += atoll(seconds);
    return result;
}
