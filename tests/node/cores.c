// Answers of a machine with 64 cores, for LD_PRELOAD: what Python, OpenBLAS, libgomp, Arrow and Rust ask for the number of cores.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define CORES 64

static int all(size_t size, cpu_set_t *set) {
    memset(set, 0, size);
    for (size_t core = 0; core < CORES; core++) CPU_SET_S(core, size, set);
    return 0;
}

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) { return all(size, set); }
int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set) { return all(size, set); }
int get_nprocs(void) { return CORES; }
int get_nprocs_conf(void) { return CORES; }

long sysconf(int name) {
    long (*answer)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF ? CORES : answer(name);
}
