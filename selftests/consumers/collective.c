// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Collectives and one-sided access of MPI, each of many sizes, and each answer
 * compared with what it has to be. Every rank says what went wrong; rank 0 how
 * much went how fast.
 *
 *   mpirun ... collective [LARGEST COUNT]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, failures;
static long long bytes;

/* What rank R contributes at index I in a round */
static int value(int r, int i, int round)
{
	return (r + 1) * 1000003 + i * 7 + round;
}

static void compare(const char *what, int n, int i, int got, int want)
{
	if (got == want)
		return;
	if (failures++ < 5)
		fprintf(stderr, "rank %d: %s of %d: [%d] is %d, not %d\n", rank,
			what, n, i, got, want);
}

static int sum(int i, int round)
{
	int r, s = 0;

	for (r = 0; r < ranks; r++)
		s += value(r, i, round);
	return s;
}

static void collectives(int *in, int *out, int n)
{
	int root = n % ranks, i, r;

	for (i = 0; i < n; i++)
		in[i] = value(rank, i, n);
	MPI_Bcast(memcpy(out, in, n * sizeof(*in)), n, MPI_INT, root,
		  MPI_COMM_WORLD);
	for (i = 0; i < n; i++)
		compare("Bcast", n, i, out[i], value(root, i, n));
	MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	for (i = 0; i < n; i++)
		compare("Allreduce", n, i, out[i], sum(i, n));
	memset(out, 0, n * sizeof(*out));
	MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
	for (i = 0; rank == root && i < n; i++)
		compare("Reduce", n, i, out[i], sum(i, n));
	MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD);
	for (r = 0; r < ranks; r++)
		for (i = 0; i < n; i++)
			compare("Allgather", n, r * n + i, out[r * n + i],
				value(r, i, n));
	for (i = 0; i < n * ranks; i++)
		in[i] = value(rank, i, n);
	memset(out, 0, n * ranks * sizeof(*out));
	MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD);
	for (r = 0; r < ranks; r++)
		for (i = 0; i < n; i++)
			compare("Alltoall", n, r * n + i, out[r * n + i],
				value(r, rank * n + i, n));
	bytes += 6LL * n * ranks * sizeof(*in);
}

/* To the next rank and from the one before, by messages and by its window */
static void neighbours(int *in, int *out, int n)
{
	int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
	int one = 1, before, i;
	MPI_Win win;

	for (i = 0; i < n; i++)
		in[i] = value(rank, i, -n);
	MPI_Sendrecv(in, n, MPI_INT, next, n, out, n, MPI_INT, last, n,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (i = 0; i < n; i++)
		compare("Sendrecv", n, i, out[i], value(last, i, -n));
	memset(out, 0, (n + 1) * sizeof(*out));
	MPI_Win_create(out, (n + 1) * sizeof(*out), sizeof(*out), MPI_INFO_NULL,
		       MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Put(in, n, MPI_INT, next, 0, n, MPI_INT, win);
	MPI_Win_fence(0, win);
	for (i = 0; i < n; i++)
		compare("Put", n, i, out[i], value(last, i, -n));
	memset(in, 0, n * sizeof(*in));
	MPI_Win_fence(0, win);
	MPI_Get(in, n, MPI_INT, next, 0, n, MPI_INT, win);
	MPI_Win_fence(0, win);
	for (i = 0; i < n; i++)
		compare("Get", n, i, in[i], value(rank, i, -n));
	for (i = 0; i < 10; i++) {
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		MPI_Fetch_and_op(&one, &before, MPI_INT, 0, n, MPI_SUM, win);
		MPI_Win_unlock(0, win);
	}
	MPI_Win_fence(0, win);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		compare("Fetch_and_op", n, n, out[n], 10 * ranks);
	MPI_Win_free(&win);
	bytes += 3LL * n * sizeof(*in);
}

int main(int argc, char **argv)
{
	int n, all, most = argc > 1 ? atoi(argv[1]) : 100000;
	int *in, *out;
	double from;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	in = calloc((size_t)most * ranks + 1, sizeof(*in));
	out = calloc((size_t)most * ranks + 1, sizeof(*out));
	if (!in || !out)
		MPI_Abort(MPI_COMM_WORLD, 1);
	from = MPI_Wtime();
	for (n = 1; n <= most; n = n * 5 + 3) {
		collectives(in, out, n);
		neighbours(in, out, n);
	}
	MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!rank && !all)
		printf("%d ranks, %.1f MB/s each\n", ranks,
		       bytes / (MPI_Wtime() - from) / 1e6);
	MPI_Finalize();
	return !!all;
}
