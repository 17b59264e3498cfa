/* A disk that takes longer to flush: PostgreSQL waits for fdatasync at each commit, and here also for as long as FLUSH_US says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

int fdatasync(int fd)
{
	static int (*real)(int);
	if (!real)
		real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
	const char *us = getenv("FLUSH_US");
	int result = real(fd);
	usleep(us ? (useconds_t)atoi(us) : 0);
	return result;
}
