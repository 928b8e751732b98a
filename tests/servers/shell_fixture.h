/* shell_fixture.h - shell-tools with the tools of shell_test.json, and scripts */
#ifndef TESTS_SERVERS_SHELL_FIXTURE_H
#define TESTS_SERVERS_SHELL_FIXTURE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "servers/program.h"

struct shell {
    struct program program;
    char mark[64]; /* in the environment of all that this test starts */
};

static inline void
shell_open(struct shell *s, void **state)
{
    static int count;

    (void)snprintf(s->mark, sizeof(s->mark), "shell-test-%d-%d.", (int)getpid(),
                   count++);
    program_open(&s->program, *state, SERVERS "/shell_test.json");
}

static inline void
shell_close(struct shell *s)
{
    program_close(&s->program);
    expect_none_marked(s->mark);
}

/* The arguments of a tool that runs this script: text inside a string of JSON. */
static inline const char *
script(const struct shell *s, const char *text)
{
    return text_of("{\"script\":\"%s\",\"mark\":\"%s\"}", text, s->mark);
}

#endif
