/*
 * schema.c - checks a second of a typical tool's schema, beside Ajv
 *
 * Ajv compiles a schema to JavaScript, which node compiles to machine code: the fastest
 * there is elsewhere. Both check the same value, already parsed, and count their own
 * processor time; they take turns, and a number is the median of its turns.
 */
#include "schema.h"

#include <mcp/schema.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sample.h"

enum { TURNS = 5, TURN_US = 300000, BURST = 256 };

static double
cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static mcp_doc *
file_parse(const char *path)
{
    static char text[65536];
    FILE *file = fopen(path, "rb");
    mcp_doc *doc = NULL;
    size_t len;

    if (!file)
        abort();
    len = fread(text, 1, sizeof(text), file);
    fclose(file);
    if (mcp_doc_parse(text, len, NULL, &doc, NULL) < 0)
        abort();
    return doc;
}

static double
turn_ours(const mcp_schema *schema, const mcp_json *value)
{
    double start = cpu_us(), now = start, checks = 0;
    mcp_error err;

    while (now - start < TURN_US) {
        for (int i = 0; i < BURST; i++) {
            if (mcp_schema_check(schema, value, NULL, &err) < 0)
                abort();
        }
        checks += BURST;
        now = cpu_us();
    }
    return checks / (now - start) * 1e6;
}

/* 0: node or Ajv is not there. */
static double
turn_ajv(void)
{
    FILE *pipe = popen("node " BENCH_FOLDER "/ajv.js 2>/dev/null", "r");
    char line[64] = "";
    double rate = 0;

    if (!pipe)
        return 0;
    if (fgets(line, sizeof(line), pipe))
        rate = strtod(line, NULL);
    return pclose(pipe) == 0 ? rate : 0;
}

static void
print(double ours, double ajv)
{
    printf("\nChecks of a tool's arguments by its schema, parsed already\n\n"
           "  %-22s %12s %8s %10s %6s\n",
           "", "a second", "ns", "to Ajv", "aim");
    if (ajv > 0)
        printf("  %-22s %12.0f %8.0f %9.2fx\n", "Ajv in node", ajv, 1e9 / ajv, 1.0);
    else
        printf("  %-22s %12s\n", "Ajv in node", "not there");
    printf("  %-22s %12.0f %8.0f", "libmcp", ours, 1e9 / ours);
    if (ajv > 0)
        printf(" %9.2fx %6s %s", ours / ajv, "1x", ours >= ajv ? "met" : "MISSED");
    printf("\n");
}

void
bench_schema(void)
{
    mcp_doc *doc = file_parse(BENCH_FOLDER "/tool_schema.json");
    mcp_doc *value = file_parse(BENCH_FOLDER "/tool_arguments.json");
    mcp_schema *schema = NULL;
    double ours[TURNS], ajv[TURNS];

    if (mcp_schema_compile(mcp_doc_root(doc), NULL, &schema, NULL) < 0)
        abort();
    (void)turn_ours(schema, mcp_doc_root(value)); /* warms up */
    for (int i = 0; i < TURNS; i++) {
        ours[i] = turn_ours(schema, mcp_doc_root(value));
        ajv[i] = i > 0 && ajv[0] == 0 ? 0 : turn_ajv();
    }
    print(sample_median(ours, TURNS), sample_median(ajv, TURNS));
    mcp_schema_free(schema);
    mcp_doc_free(doc);
    mcp_doc_free(value);
}
