// Times a C function of another library without a script between the calls: what bench.py measures with.
#include <stddef.h>
#include <string.h>
#include <time.h>

// Up to twelve arguments, each an integer or a pointer; those too many lie where the function does not look.
typedef long (*function)(long, long, long, long, long, long, long, long, long, long, long, long);

// Seconds of `times` calls. Before each the next `bytes` of `rows` (of which there are `count`) go to `buffer`, so that
// no call sees the rows of the one before.
double repeat(function f, const long *a, long times, char *buffer, const char *rows, size_t bytes, long count)
{
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (long n = 0; n < times; n++) {
        if (bytes)
            memcpy(buffer, rows + (n % count) * bytes, bytes);
        f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
    }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    return (ended.tv_sec - begun.tv_sec) + 1e-9 * (ended.tv_nsec - begun.tv_nsec);
}
