/* support/fuzz_replay.c - feeds a stored corpus to a fuzz target, without libFuzzer */
#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long size;
    int r = -1;

    if (!file)
        return -1;
    if (fseek(file, 0, SEEK_END) < 0)
        goto out;
    size = ftell(file);
    rewind(file);
    if (size < 0)
        goto out;
    /* of the exact size, so that a read beyond the end is caught */
    data = malloc(size > 0 ? (size_t)size : 1);
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
        goto out;
    LLVMFuzzerTestOneInput(data, (size_t)size);
    r = 0;
out:
    free(data);
    fclose(file);
    return r;
}

int
main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    struct dirent *entry;
    char path[PATH_MAX];
    int count = 0, failed = 0;

    if (!dir) {
        fprintf(stderr, "no corpus: %s\n", argc == 2 ? argv[1] : "(not given)");
        return 1;
    }
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        failed += replay(path) < 0;
        count++;
    }
    closedir(dir);
    printf("%d inputs, %d unreadable\n", count, failed);
    return failed || count == 0;
}
