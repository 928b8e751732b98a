/* crew_make.c - the options of an isolated tool: read, checked and copied */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/crew.h"
#include "api/isolated.h"
#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"

#define DEFAULT_GRACE_MS 2000
#define DEFAULT_WARM 1
#define DEFAULT_MOST 16

/* Of the program's own, besides those that a cleared environment has anyway. */
static const char *const inherited[] = {"LANG",   "LC_ALL",          "TZ",
                                        "TMPDIR", "LD_LIBRARY_PATH", "LD_PRELOAD"};
#define INHERITED (sizeof(inherited) / sizeof(inherited[0]))

static bool
env_has(const char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; env && *env; env++) {
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return true;
    }
    return false;
}

/* What goes into the block behind the crew. */
struct measure {
    size_t count, bytes;
    const char *values[INHERITED]; /* NULL: not there, or another one is given */
};

static struct measure
env_measure(const char *const *env)
{
    struct measure all = {.count = 0};

    for (size_t i = 0; i < INHERITED; i++) {
        if (env_has(env, inherited[i]))
            continue;
        all.values[i] = getenv(inherited[i]); /* NOLINT(concurrency-mt-unsafe) */
        if (!all.values[i])
            continue;
        all.count++;
        all.bytes += strlen(inherited[i]) + strlen(all.values[i]) + 2;
    }
    for (; env && *env; env++) {
        all.count++;
        all.bytes += strlen(*env) + 1;
    }
    return all;
}

static void
env_copy(const char **into, char *at, const struct measure *all, const char *const *env)
{
    for (size_t i = 0; i < INHERITED; i++) {
        if (!all->values[i])
            continue;
        *into++ = at;
        at = stpcpy(stpcpy(stpcpy(at, inherited[i]), "="), all->values[i]) + 1;
    }
    for (; env && *env; env++)
        *into++ = mcpi_text_stow(&at, *env, strlen(*env));
    *into = NULL;
}

static int
definition_check(const mcp_tool *definition, const mcp_isolate *opt, mcp_error *err)
{
    const char *const *env = opt->env;

    if (!definition->run)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "what is isolated needs a handler that is `run`");
    if (definition->flags & MCP_SIGNAL_ONLY) /* nobody would hear of the cancel */
        return mcpi_error_set(err, MCP_E_INVAL,
                              "what is isolated cannot be MCP_SIGNAL_ONLY");
    if (opt->grace_ms < -1 || opt->cpu_seconds < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "a time of its isolate is negative");
    for (; env && *env; env++) {
        if (!strchr(*env, '=') || **env == '=')
            return mcpi_error_set(err, MCP_E_INVAL,
                                  "\"%.40s\" in its env is no NAME=value", *env);
    }
    if (!mcpi_isolated_knows(definition->name))
        return mcpi_error_set(
            err, MCP_E_STATE,
            "it is isolated, and mcp_isolated_enter was not given it");
    return 0;
}

static int
definition_read(const mcp_tool *definition, mcp_isolate *ret, mcp_error *err)
{
    mcp_error why = {0};
    int r;

    r = mcpi_options_read(ret, sizeof(*ret), definition->isolate);
    if (r < 0)
        (void)mcpi_error_set(&why, r, "its isolate is no mcp_isolate");
    else
        r = definition_check(definition, ret, &why);
    return r < 0 ? mcpi_error_set(err, r, "tool %s: %s", definition->name, why.message)
                 : 0;
}

static void
words_write(struct mcpi_crew *crew, const mcp_isolate *opt)
{
    (void)snprintf(crew->numbers[0], sizeof(crew->numbers[0]), "%" PRIu64,
                   opt->memory_bytes);
    (void)snprintf(crew->numbers[1], sizeof(crew->numbers[1]), "%" PRId64,
                   opt->cpu_seconds);
    (void)snprintf(crew->numbers[2], sizeof(crew->numbers[2]), "%zu", opt->files);
    (void)snprintf(crew->numbers[3], sizeof(crew->numbers[3]), "%" PRIu64,
                   opt->file_bytes);
    crew->words[0] = crew->name;
    for (int i = 0; i < 4; i++)
        crew->words[i + 1] = crew->numbers[i];
}

static void
crew_fill(struct mcpi_crew *crew, const mcp_isolate *opt)
{
    int64_t grace = opt->grace_ms ? opt->grace_ms : DEFAULT_GRACE_MS;

    crew->grace_us = grace < 0 ? 0 : mcpi_ms(grace);
    crew->most = opt->most ? opt->most : DEFAULT_MOST;
    crew->warm = opt->warm ? opt->warm : DEFAULT_WARM;
    if (crew->warm > crew->most)
        crew->warm = crew->most;
    crew->memory_bytes = opt->memory_bytes;
    crew->cpu_seconds = opt->cpu_seconds;
    words_write(crew, opt);
    for (int i = 0; i < MCPI_HELPER_STATES; i++)
        mcpi_list_init(&crew->helpers[i]);
    mcpi_list_init(&crew->node);
    mcpi_list_init(&crew->line);
}

int
mcpi_crew_new(const mcp_allocator *mem, const mcp_tool *definition,
              struct mcpi_crew **ret_crew, mcp_error *err)
{
    struct mcpi_crew *crew;
    struct measure all;
    mcp_isolate opt;
    const char **env;
    size_t pointers;
    char *at;
    int r;

    r = definition_read(definition, &opt, err);
    if (r < 0)
        return r;
    all = env_measure(opt.env);
    pointers = (all.count + 1) * sizeof(*env);
    crew = mcpi_alloc_zero(mem, sizeof(*crew) + pointers + all.bytes +
                                    strlen(definition->name) + 1);
    if (!crew)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    env = (const char **)(crew + 1);
    at = (char *)env + pointers;
    crew->name = mcpi_text_stow(&at, definition->name, strlen(definition->name));
    env_copy(env, at, &all, opt.env);
    crew->env = env;
    crew->mem = mem;
    crew_fill(crew, &opt);
    *ret_crew = crew;
    return 0;
}

void
mcpi_crew_discard(struct mcpi_crew *crew)
{
    mcpi_list_remove(&crew->node);
    mcpi_free(crew->mem, crew);
}
