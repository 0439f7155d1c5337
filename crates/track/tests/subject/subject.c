/* A program that uses a known amount of something, to be measured.
 *
 * Those that hold something write a line when they have it and let go of it when their standard
 * input ends, so that a test waits for what it wants to see and not for a time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const size_t MB = 1000 * 1000;

static void fail(const char *what) {
    perror(what);
    exit(99);
}

/* Fresh memory with every page written to. */
static char *allocate(size_t megabytes) {
    size_t size = megabytes * MB;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    memset(memory, 1, size);
    return memory;
}

static void say_ready(void) {
    if (write(STDOUT_FILENO, "ready\n", 6) != 6) fail("write");
}

/* Until standard input ends. */
static void hold(void) {
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {}
}

static void rest(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0) {}
}

static void burn_on(clockid_t clock, long milliseconds) {
    struct timespec now;
    clock_gettime(clock, &now);
    long long end = now.tv_sec * 1000000000LL + now.tv_nsec + milliseconds * 1000000LL;
    do {
        clock_gettime(clock, &now);
    } while (now.tv_sec * 1000000000LL + now.tv_nsec < end);
}

static void *burn_thread(void *milliseconds) {
    burn_on(CLOCK_THREAD_CPUTIME_ID, (long)milliseconds);
    return NULL;
}

static pid_t fork_or_fail(void) {
    pid_t pid = fork();
    if (pid < 0) fail("fork");
    return pid;
}

/* alloc MB: holds it. */
static void do_alloc(long megabytes) {
    allocate(megabytes);
    say_ready();
    hold();
}

/* spike MB MS: has it for so long, and then not for some time. */
static void do_spike(long megabytes, long milliseconds) {
    rest(37);
    char *memory = allocate(megabytes);
    rest(milliseconds);
    munmap(memory, megabytes * MB);
    rest(41);
}

/* A barrier: children say that they are done and wait until the parent lets them go. */
struct barrier {
    int done[2], release[2];
};

static struct barrier new_barrier(void) {
    struct barrier barrier;
    if (pipe(barrier.done) != 0 || pipe(barrier.release) != 0) fail("pipe");
    return barrier;
}

/* In a child. */
static void wait_at(struct barrier *barrier) {
    char byte;
    close(barrier->release[1]);
    if (write(barrier->done[1], "x", 1) != 1) fail("write");
    while (read(barrier->release[0], &byte, 1) > 0) {}
}

/* In the parent. */
static void await_all(struct barrier *barrier, long count) {
    char byte;
    for (long i = 0; i < count; i++) {
        if (read(barrier->done[0], &byte, 1) != 1) fail("read");
    }
}

static void let_go(struct barrier *barrier) {
    close(barrier->release[1]);
    while (wait(NULL) > 0) {}
    close(barrier->release[0]);
    close(barrier->done[0]);
    close(barrier->done[1]);
}

/* Forks that write to a part of the memory each, and are at the barrier then. */
static struct barrier copies(char *memory, long written, long children) {
    struct barrier barrier = new_barrier();
    for (long i = 0; i < children; i++) {
        if (fork_or_fail() != 0) continue;
        memset(memory, 2, written * MB);
        wait_at(&barrier);
        _exit(0);
    }
    await_all(&barrier, children);
    return barrier;
}

/* cow MB WRITTEN CHILDREN: forks that share it and then write to a part each. */
static void do_cow(long megabytes, long written, long children) {
    struct barrier barrier = copies(allocate(megabytes), written, children);
    say_ready();
    hold();
    let_go(&barrier);
}

/* cow-once MB WRITTEN CHILDREN MS: the same, held for so long. */
static void do_cow_once(long megabytes, long written, long children, long milliseconds) {
    struct barrier barrier = copies(allocate(megabytes), written, children);
    rest(milliseconds);
    let_go(&barrier);
}

/* cow-parent MB WRITTEN MS: the parent writes to a part, while a fork keeps the pages as they were for
 * so long after that. */
static void do_cow_parent(long megabytes, long written, long milliseconds) {
    char *memory = allocate(megabytes);
    struct barrier barrier = new_barrier();
    if (fork_or_fail() == 0) {
        wait_at(&barrier);
        _exit(0);
    }
    await_all(&barrier, 1);
    memset(memory, 2, written * MB);
    rest(milliseconds);
    let_go(&barrier);
}

/* rounds MB CHILDREN ROUNDS: children have so much each, all at one time, and end at once. */
static void do_rounds(long megabytes, long children, long rounds) {
    for (long i = 0; i < rounds; i++) {
        struct barrier barrier = new_barrier();
        for (long child = 0; child < children; child++) {
            if (fork_or_fail() != 0) continue;
            allocate(megabytes);
            wait_at(&barrier);
            _exit(0);
        }
        await_all(&barrier, children);
        let_go(&barrier);
    }
}

/* storm MB WRITTEN CHILDREN ROUNDS: again and again, for no longer than it takes. */
static void do_storm(long megabytes, long written, long children, long rounds) {
    char *memory = allocate(megabytes);
    for (long i = 0; i < rounds; i++) {
        struct barrier barrier = copies(memory, written, children);
        let_go(&barrier);
    }
}

/* churn MB MORE ROUNDS: a fork maps and unmaps more beside it. */
static void do_churn(long megabytes, long more, long rounds) {
    allocate(megabytes);
    if (fork_or_fail() == 0) {
        for (long i = 0; i < rounds; i++) munmap(allocate(more), more * MB);
        _exit(0);
    }
    wait(NULL);
}

/* segments MB CHILDREN: each shares memory with nobody but itself. */
static char *share_shm(long megabytes);
static void do_segments(long megabytes, long children) {
    struct barrier barrier = new_barrier();
    for (long i = 0; i < children; i++) {
        if (fork_or_fail() != 0) continue;
        memset(share_shm(megabytes), 3, megabytes * MB);
        wait_at(&barrier);
        _exit(0);
    }
    await_all(&barrier, children);
    say_ready();
    hold();
    let_go(&barrier);
}

/* share-file PATH MB, share-shm MB: two that have the same pages. */
static void do_share(char *memory, long megabytes) {
    memset(memory, 3, megabytes * MB);
    if (fork_or_fail() == 0) {
        volatile char sum = 0;
        for (size_t at = 0; at < megabytes * MB; at += 4096) sum += memory[at];
        say_ready();
        hold();
        _exit(0);
    }
    hold();
    wait(NULL);
}

static char *share_file(const char *path, long megabytes) {
    FILE *file = fopen(path, "w+");
    if (file == NULL || ftruncate(fileno(file), megabytes * MB) != 0) fail(path);
    char *memory =
        mmap(NULL, megabytes * MB, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (memory == MAP_FAILED) fail("mmap");
    return memory;
}

static char *share_shm(long megabytes) {
    int id = shmget(IPC_PRIVATE, megabytes * MB, IPC_CREAT | 0600);
    if (id < 0) fail("shmget");
    char *memory = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    if (memory == (char *)-1) fail("shmat");
    return memory;
}

/* children N MS: one after the other, each works so long. */
static void do_children(long count, long milliseconds) {
    for (long i = 0; i < count; i++) {
        if (fork_or_fail() == 0) {
            burn_on(CLOCK_PROCESS_CPUTIME_ID, milliseconds);
            _exit(0);
        }
        /* Also where they are forgotten, it returns when none is left. */
        while (wait(NULL) > 0) {}
    }
}

/* forgotten N MS: children that the kernel is told to forget. */
static void do_forgotten(long count, long milliseconds) {
    signal(SIGCHLD, SIG_IGN);
    do_children(count, milliseconds);
}

/* no-wait N MS: the same by another way, which nobody can see from outside. */
static void do_no_wait(long count, long milliseconds) {
    struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
    if (sigaction(SIGCHLD, &action, NULL) != 0) fail("sigaction");
    do_children(count, milliseconds);
}

/* no-wait-below N MS: the same in children that end right after their own. */
static void do_no_wait_below(long count, long milliseconds) {
    for (long i = 0; i < count; i++) {
        if (fork_or_fail() == 0) {
            do_no_wait(1, milliseconds);
            _exit(0);
        }
        wait(NULL);
    }
}

/* orphan MB MS: a grandchild whose parent ends, which works so long and holds that. */
static void do_orphan(long megabytes, long milliseconds) {
    int ended[2];
    if (pipe(ended) != 0) fail("pipe");
    if (fork_or_fail() == 0) {
        pid_t parent = getpid();
        if (fork_or_fail() != 0) _exit(0);
        while (getppid() == parent) {}
        prctl(PR_SET_NAME, ") S 1 (x");
        allocate(megabytes);
        burn_on(CLOCK_PROCESS_CPUTIME_ID, milliseconds);
        say_ready();
        hold();
        _exit(0);
    }
    wait(NULL);
    close(ended[1]);
    /* The orphan has the other end until it ends. */
    char byte;
    while (read(ended[0], &byte, 1) > 0) {}
}

static void do_threads(long count, long milliseconds) {
    pthread_t threads[64];
    for (long i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, burn_thread, (void *)milliseconds)) fail("thread");
    }
    for (long i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

/* crowd ROUNDS IDLE MS: one child after the other works, beside others that sleep. Tells what the
 * kernel charges for all of them, in microseconds. */
static void do_crowd(long rounds, long idle, long milliseconds) {
    pid_t sleeping[1000];
    for (long i = 0; i < idle; i++) {
        if ((sleeping[i] = fork_or_fail()) == 0) {
            pause();
            _exit(0);
        }
    }
    for (long i = 0; i < rounds; i++) {
        pid_t pid = fork_or_fail();
        if (pid == 0) {
            burn_on(CLOCK_PROCESS_CPUTIME_ID, milliseconds);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    for (long i = 0; i < idle; i++) kill(sleeping[i], SIGKILL);
    while (wait(NULL) > 0) {}
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    printf("%lld\n", used.ru_utime.tv_sec * 1000000LL + used.ru_utime.tv_usec +
                         used.ru_stime.tv_sec * 1000000LL + used.ru_stime.tv_usec);
}

static void *hold_thread(void *megabytes) {
    do_alloc((long)megabytes);
    exit(0);
}

/* leaderless MB: its first thread ends, another one holds it. */
static void do_leaderless(long megabytes) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, hold_thread, (void *)megabytes)) fail("thread");
    pthread_exit(NULL);
}

static long number(char **arguments, int place) {
    return arguments[place] == NULL ? 0 : atol(arguments[place]);
}

int main(int count, char **arguments) {
    if (count < 2) return 98;
    const char *what = arguments[1];
    long first = count > 2 ? number(arguments, 2) : 0;
    long second = count > 3 ? number(arguments, 3) : 0;
    long third = count > 4 ? number(arguments, 4) : 0;
    long fourth = count > 5 ? number(arguments, 5) : 0;
    if (!strcmp(what, "alloc")) do_alloc(first);
    else if (!strcmp(what, "spike")) do_spike(first, second);
    else if (!strcmp(what, "cow")) do_cow(first, second, third);
    else if (!strcmp(what, "cow-once")) do_cow_once(first, second, third, fourth);
    else if (!strcmp(what, "cow-parent")) do_cow_parent(first, second, third);
    else if (!strcmp(what, "rounds")) do_rounds(first, second, third);
    else if (!strcmp(what, "storm")) do_storm(first, second, third, fourth);
    else if (!strcmp(what, "churn")) do_churn(first, second, third);
    else if (!strcmp(what, "segments")) do_segments(first, second);
    else if (!strcmp(what, "share-file")) do_share(share_file(arguments[2], second), second);
    else if (!strcmp(what, "share-shm")) do_share(share_shm(first), first);
    else if (!strcmp(what, "children")) do_children(first, second);
    else if (!strcmp(what, "forgotten")) do_forgotten(first, second);
    else if (!strcmp(what, "no-wait")) do_no_wait(first, second);
    else if (!strcmp(what, "no-wait-below")) do_no_wait_below(first, second);
    else if (!strcmp(what, "orphan")) do_orphan(first, second);
    else if (!strcmp(what, "threads")) do_threads(first, second);
    else if (!strcmp(what, "crowd")) do_crowd(first, second, third);
    else if (!strcmp(what, "leaderless")) do_leaderless(first);
    else if (!strcmp(what, "burn")) burn_on(CLOCK_PROCESS_CPUTIME_ID, first);
    else if (!strcmp(what, "exit")) return (int)first;
    else if (!strcmp(what, "kill")) raise((int)first);
    else return 98;
    return 0;
}
