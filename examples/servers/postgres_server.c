/*
 * postgres_server.c - a PostgreSQL database for a model: queries, changes, tables
 *
 *     postgres-server 'dbname=shop'                   over stdio, read-only
 *     postgres-server --write --pool 4 --http 127.0.0.1:8080 postgresql://db/shop
 *     PGSERVICE=shop postgres-server ''               as PG* variables say
 *
 * A call that is canceled, or whose client leaves, is canceled in PostgreSQL too, and
 * its transaction rolled back; its connection serves others as soon as that is done,
 * and is replaced if it broke. A request has 300 seconds (--limit), so that one whose
 * cancel was lost on its way does not hold its connection for good.
 *
 * Read-only means that a query is what PostgreSQL can declare a cursor for (SELECT,
 * VALUES, TABLE, WITH), and that it runs in a READ ONLY transaction, which is then
 * rolled back. What functions do beside that is a matter of the role: pg_read_file,
 * lo_export, pg_terminate_backend, dblink and the like are not kept by it. Give this
 * server a role that may do no more than its clients should, and no superuser.
 *
 * On a port, everybody who can reach it may do what the role may. With
 * POSTGRES_SERVER_TOKEN in the environment each request must have it as bearer token;
 * without, only an address of loopback is served.
 *
 * Should this process be killed, PostgreSQL notices only when a query ends, unless
 * CONNINFO says options='-c client_connection_check_interval=10s' (from version 14 on).
 * Host names are looked up by libpq, which waits for the answer: hostaddr spares it
 * that. libpq also keeps a row in memory until it is whole, at most 1 GB.
 */
#include "postgres_server.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "gate.h"

#define TOKEN "POSTGRES_SERVER_TOKEN"

/* ---- query ---------------------------------------------------------------------- */

struct query_args {
    const char *sql, *cursor;
    const mcp_json **parameters;
    size_t parameter_count;
    int64_t limit;
    bool explain;
};

#define PARAMETERS                                                                     \
    "values of $1, $2, ...: null, true, false, numbers, texts; an array or object is " \
    "given as JSON"

static const mcp_field query_fields[] = {
    MCP_FIELD(struct query_args, sql, MCP_STRING, MCP_REQUIRED,
              "one SQL statement that reads: SELECT, VALUES, TABLE or WITH"),
    MCP_FIELD_ARRAY_WITH(struct query_args, parameters, parameter_count, MCP_JSON, 0,
                         PARAMETERS, .max_items = 1000),
    MCP_FIELD_WITH(struct query_args, limit, MCP_INT, 0, "rows on a page",
                   MCP_MINIMUM(1), MCP_MAXIMUM(ROWS_MAX),
                   MCP_DEFAULT_INT(ROWS_DEFAULT)),
    MCP_FIELD(
        struct query_args, cursor, MCP_STRING, 0,
        "of the page before, with the same sql and parameters: gives the next page"),
    MCP_FIELD(struct query_args, explain, MCP_BOOL, 0,
              "do not run it: give PostgreSQL's plan for it"),
    {0},
};

#define ROWS                                                                       \
    "\"columns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"            \
    "\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\"},\"description\":" \
    "\"Numbers that JSON readers would round (numeric, bigint beyond 2^53 - 1), "  \
    "json with such numbers in it, bytea, "                                        \
    "arrays and times are texts, as PostgreSQL writes them\"},"

static const char query_output[] =
    "{\"type\":\"object\",\"required\":[\"columns\",\"rows\"],\"properties\":{" ROWS
    "\"cursor\":{\"type\":\"string\",\"description\":\"There are more rows: give it "
    "for "
    "the next page\"}}}";

/* FNV-1a: a cursor is no secret, it only must not be taken for another query's. */
static uint64_t
digest_add(uint64_t digest, const char *text)
{
    size_t length = text ? strlen(text) + 1 : 0; /* with its end; null is none */

    for (size_t i = 0; i < length; i++)
        digest = (digest ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return (digest ^ 0xff) * UINT64_C(0x100000001b3);
}

static uint64_t
job_digest(const struct job *job, const char *sql)
{
    uint64_t digest = digest_add(UINT64_C(0xcbf29ce484222325), sql);

    for (size_t i = 0; i < job->value_count; i++)
        digest = digest_add(digest, job->values[i]);
    return digest;
}

static bool
cursor_read(struct job *job, const char *cursor)
{
    char again[64];
    char *end;

    if (!cursor)
        return true;
    job->offset = strtoimax(cursor, &end, 16);
    (void)snprintf(again, sizeof(again), "%" PRIx64 "-%016" PRIx64,
                   (uint64_t)job->offset, job->digest);
    return job->offset > 0 && strcmp(cursor, again) == 0;
}

static int
query_done(struct job *job)
{
    mcp_result *out = mcp_request_result(job->call.req);
    char cursor[64];

    if (job->page.too_big > 0) {
        mcp_result_reset(out);
        return mcp_result_fail(out,
                               "a row of %zu bytes does not fit into a result of %zu",
                               job->page.too_big, PAGE_BYTES);
    }
    page_end(&job->page);
    if (job->page.is_cut) {
        (void)snprintf(cursor, sizeof(cursor), "%" PRIx64 "-%016" PRIx64,
                       (uint64_t)(job->offset + job->page.rows), job->digest);
        mcp_builder_string(job->page.b, "cursor", cursor);
    }
    mcp_builder_end(job->page.b);
    return mcp_builder_status(job->page.b);
}

static bool
query_take(struct pool_call *call, PGresult *result)
{
    return page_take(&((struct job *)call)->page, result);
}

/* Both begin with DECLARE, so that PostgreSQL's grammar lets only what reads follow: a
 * READ ONLY transaction alone would allow COPY TO PROGRAM, DO, CALL, LOCK and more.
 * EXPLAIN makes no cursor of it. */
#define DECLARE "DECLARE page NO SCROLL CURSOR FOR "

/* A cursor of PostgreSQL's passes over the pages before, and makes no more rows than
 * are wanted. A plan has none: its rows are counted here. */
static int
query_steps(struct job *job, const char *sql, bool is_plan)
{
    const char **step = job->call.steps;

    if (asprintf(&job->sql, "%s%s", is_plan ? "EXPLAIN " DECLARE : DECLARE, sql) < 0) {
        job->sql = NULL;
        return MCP_E_NOMEM;
    }
    *step++ = READ_ONLY;
    *step++ = job->sql;
    job->call.bound = 1;
    if (is_plan) {
        job->page.skip = job->offset;
        return 0;
    }
    (void)snprintf(job->move, sizeof(job->move), "MOVE FORWARD %" PRId64 " IN page",
                   job->offset);
    (void)snprintf(job->fetch, sizeof(job->fetch),
                   "FETCH FORWARD %" PRId64 " FROM page",
                   job->page.limit + 1); /* to know whether there are more */
    if (job->offset > 0)
        *step++ = job->move;
    *step = job->fetch;
    return 0;
}

/* A job with its parameters, and where its rows go. *ret_job NULL: it was refused, and
 * the request is over. */
static int
statement_new(mcp_request *req, struct service *service, struct query_args *ret_args,
              struct job **ret_job)
{
    struct job *job;
    int r = job_new(req, service, &job);

    if (r < 0)
        return r;
    *ret_job = NULL;
    r = mcp_request_bind(req, ret_args);
    if (r == 0)
        r = job_bind(job, ret_args->parameters, ret_args->parameter_count);
    if (r == MCP_E_INVAL) {
        job_refuse(job, "a text with U+0000 in it is none for PostgreSQL");
        return 0;
    }
    if (r < 0) {
        job_free(job);
        return r;
    }
    job->page.b = mcp_result_builder(mcp_request_result(req));
    job->digest = job_digest(job, ret_args->sql);
    *ret_job = job;
    return 0;
}

static int
query(mcp_request *req, mcp_result *out, void *user)
{
    struct query_args args;
    struct job *job;
    int r = statement_new(req, user, &args, &job);

    (void)out;
    if (r < 0 || !job)
        return r;
    if (args.explain) /* a plan has other pages */
        job->digest = ~job->digest;
    if (!cursor_read(job, args.cursor)) {
        job_refuse(job, "the cursor is not of this query");
        return 0;
    }
    job->page.limit = args.limit;
    job->call.take = query_take;
    job->done = query_done;
    r = query_steps(job, args.sql, args.explain);
    if (r == 0)
        job_start(job, mcp_request_loop(req));
    else
        job_free(job);
    return r;
}

/* ---- execute -------------------------------------------------------------------- */

static const mcp_field execute_fields[] = {
    MCP_FIELD(struct query_args, sql, MCP_STRING, MCP_REQUIRED,
              "one SQL statement; it is a transaction of its own"),
    MCP_FIELD_ARRAY_WITH(struct query_args, parameters, parameter_count, MCP_JSON, 0,
                         PARAMETERS, .max_items = 1000),
    {0},
};

static const char execute_output[] =
    "{\"type\":\"object\",\"required\":[\"changes\",\"columns\",\"rows\"],"
    "\"properties\":{" ROWS
    "\"changes\":{\"type\":\"integer\",\"description\":\"Rows inserted, updated or "
    "deleted\"},"
    "\"truncated\":{\"type\":\"boolean\",\"description\":\"RETURNING gave more "
    "rows\"}}}";

/* It must run to its end, however many rows it returns. */
static bool
execute_take(struct pool_call *call, PGresult *result)
{
    struct job *job = (struct job *)call;
    const char *command = PQcmdStatus(result);

    (void)page_take(&job->page, result);
    if (strncmp(command, "INSERT", 6) == 0 || strncmp(command, "UPDATE", 6) == 0 ||
        strncmp(command, "DELETE", 6) == 0 || strncmp(command, "MERGE", 5) == 0)
        job->changes = strtoimax(PQcmdTuples(result), NULL, 10);
    return true;
}

static int
execute_done(struct job *job)
{
    page_end(&job->page);
    mcp_builder_int(job->page.b, "changes", job->changes);
    if (job->page.is_cut)
        mcp_builder_bool(job->page.b, "truncated", true);
    mcp_builder_end(job->page.b);
    tables_follow(job->service, mcp_request_loop(job->call.req));
    return mcp_builder_status(job->page.b);
}

static int
execute(mcp_request *req, mcp_result *out, void *user)
{
    struct query_args args;
    struct job *job;
    int r = statement_new(req, user, &args, &job);

    (void)out;
    if (r < 0 || !job)
        return r;
    job->page.limit = ROWS_MAX;
    job->call.steps[0] = "BEGIN";
    job->call.steps[1] = args.sql;
    job->call.steps[2] = "COMMIT";
    job->call.bound = 1;
    job->call.take = execute_take;
    job->done = execute_done;
    job_start(job, mcp_request_loop(req));
    return 0;
}

/* ---- what is offered ------------------------------------------------------------ */

struct schema_args {
    const char *table;
};

static const mcp_field schema_fields[] = {
    MCP_FIELD(struct schema_args, table, MCP_STRING, 0,
              "a table as it is named in SQL; without it, all"),
    {0},
};

static const char schema_output[] =
    "{\"type\":\"object\",\"required\":[\"tables\"],\"properties\":{"
    "\"tables\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}}";

static const mcp_prompt_argument explore_arguments[] = {
    {.name = "table", .description = "a table as it is named in SQL", .required = true},
    {.name = "question", .description = "what you want to know"},
    {0},
};

static int
add_tools(struct service *service, bool is_writable, mcp_error *err)
{
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "query", .title = "Query",
                 .description = "Run one SQL statement that reads, in PostgreSQL's "
                                "dialect, and get its rows",
                 .fields = query_fields, .output_schema = query_output, .start = query,
                 .user = service, .hints = MCP_READ_ONLY | MCP_CLOSED_WORLD),
        MCP_TOOL(.name = "schema", .title = "Schema",
                 .description = "Tables, their columns, constraints and indexes",
                 .fields = schema_fields, .output_schema = schema_output,
                 .start = tables_schema, .user = service,
                 .hints = MCP_READ_ONLY | MCP_CLOSED_WORLD),
        MCP_TOOL(.name = "execute", .title = "Execute",
                 .description = "Run one SQL statement that changes something, in a "
                                "transaction of its own; a cancel rolls it back",
                 .fields = execute_fields, .output_schema = execute_output,
                 .start = execute, .user = service, .hints = MCP_CLOSED_WORLD),
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < (is_writable ? 3 : 2); i++)
        r = mcp_server_add_tool(service->server, &tools[i], err);
    return r;
}

/* Who asks for the list gets what is known, and soon hears what has changed. */
static int
list_before(mcp_request *req, void *user)
{
    if (strcmp(mcp_request_method(req), "resources/list") == 0)
        tables_follow(user, mcp_request_loop(req));
    return 0;
}

static int
add_tables(struct service *service, mcp_error *err)
{
    const mcp_template tables = MCP_TEMPLATE(.uri_template = TABLE_URI, .name = "table",
                                             .title = "Table",
                                             .description = "Columns, constraints and "
                                                            "indexes of a table",
                                             .mime_type = "application/json",
                                             .start = tables_read, .user = service,
                                             .complete = {.start = tables_complete,
                                                          .user = service});
    const mcp_prompt explore = MCP_PROMPT(.name = "explore", .title = "Explore a table",
                                          .description = "Look into a table",
                                          .arguments = explore_arguments,
                                          .start = tables_explore, .user = service,
                                          .complete = {.start = tables_complete,
                                                       .user = service});
    int r = mcp_uri_template_new(TABLE_URI, NULL, &service->table_uri, err);

    if (r == 0)
        r = mcp_server_add_template(service->server, &tables, err);
    if (r == 0)
        r = mcp_server_add_prompt(service->server, &explore, err);
    if (r == 0)
        r = mcp_server_use(service->server,
                           &MCP_MIDDLEWARE(.before = list_before, .user = service));
    return r;
}

/* ---- the program ---------------------------------------------------------------- */

struct choice {
    bool is_writable;
    size_t pool, limit;
    struct gate gate;
    char *conninfo; /* freed at the end */
};

static void
print_log(void *user, enum mcp_log_level level, const char *line)
{
    (void)user, (void)level;
    fprintf(stderr, "postgres-server: %s\n", line);
}

/* Each client's request may be a connection. */
static void
raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int
serve(struct choice *choice, struct service *service, mcp_error *err)
{
    int r = pool_new(choice->conninfo, choice->pool, &service->pool);

    if (r == 0)
        r = mcp_server_new(
            &MCP_SERVER_OPTIONS(.name = "postgres-server", .version = "1.0",
                                .title = "PostgreSQL", .on_log = print_log,
                                .limit_ms = (int64_t)choice->limit * 1000,
                                .offers = MCP_RESOURCES_CHANGED),
            &service->server, err);
    if (r == 0)
        r = add_tools(service, choice->is_writable, err);
    if (r == 0)
        r = add_tables(service, err);
    if (r == 0) {
        tables_load(service);
        if (choice->gate.is_http)
            raise_descriptor_limit();
        r = gate_serve(&choice->gate, service->server, err);
    }
    return r;
}

/* What cannot be read is not repeated: there may be a password in it. A host with an
 * "@" is most likely the end of one that was not encoded. */
static bool
conninfo_is_good(const char *conninfo)
{
    PQconninfoOption *all = PQconninfoParse(conninfo, NULL);
    bool is_good = true;

    if (!all) /* a plain name of a database is good, too */
        return !strpbrk(conninfo, "=:/@ ");
    for (const PQconninfoOption *one = all; one->keyword; one++)
        if (strcmp(one->keyword, "host") == 0 && one->val && strchr(one->val, '@'))
            is_good = one->val[0] == '@'; /* an abstract socket */
    PQconninfoFree(all);
    return is_good;
}

/* Digits and nothing else, from least to most. */
static bool
number_read(const char *text, size_t least, size_t most, size_t *ret_number)
{
    size_t length = strlen(text);

    if (length == 0 || length > 9 || strspn(text, "0123456789") != length)
        return false;
    *ret_number = strtoul(text, NULL, 10);
    return *ret_number >= least && *ret_number <= most;
}

/* The connection string is taken out of what others can see of this process. */
static bool
read_choice(int argc, char **argv, struct choice *choice)
{
    static const struct option options[] = {{"write", no_argument, NULL, 'w'},
                                            {"pool", required_argument, NULL, 'p'},
                                            {"limit", required_argument, NULL, 'l'},
                                            {"http", required_argument, NULL, 'h'},
                                            {0}};
    bool is_good = true;
    int option;

    choice->pool = POOL_DEFAULT;
    choice->limit = LIMIT_DEFAULT;
    while (is_good && (option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (option == 'w')
            choice->is_writable = true;
        else if (option == 'p')
            is_good = number_read(optarg, 1, POOL_MAX, &choice->pool);
        else if (option == 'l')
            is_good = number_read(optarg, 0, LIMIT_MAX, &choice->limit);
        else if (option == 'h')
            is_good = gate_read_address(&choice->gate, optarg);
        else
            is_good = false;
    if (!is_good || optind + 1 != argc)
        return false;
    choice->conninfo = strdup(argv[optind]);
    memset(argv[optind], '-', strlen(argv[optind]));
    return choice->conninfo != NULL;
}

int
main(int argc, char **argv)
{
    struct service service = {0};
    struct choice choice = {0};
    mcp_error err = {0};
    bool is_quiet = true;
    int r;

    if (!gate_init(&choice.gate, TOKEN) || !read_choice(argc, argv, &choice)) {
        fprintf(stderr, "usage: postgres-server [--write] [--pool N] "
                        "[--limit SECONDS] [--http HOST:PORT] CONNINFO\n"
                        "A request has 300 seconds, unless --limit says otherwise; 0: "
                        "any time.\n"
                        "With " TOKEN " in the environment HTTP needs it as bearer\n"
                        "token; without, only loopback is served.\n");
        gate_done(&choice.gate);
        return 2;
    }
    if (!conninfo_is_good(choice.conninfo)) {
        fprintf(stderr, "postgres-server: CONNINFO cannot be understood\n");
        gate_done(&choice.gate);
        free(choice.conninfo);
        return 2;
    }
    r = serve(&choice, &service, &err);
    if (r < 0)
        fprintf(stderr, "postgres-server: %s\n",
                err.message[0] ? err.message : "out of memory");
    if (service.pool)
        is_quiet = pool_close(service.pool);
    mcp_server_free(service.server);
    if (is_quiet)
        pool_free(service.pool);
    mcp_uri_template_free(service.table_uri);
    tables_free(&service.listed);
    gate_done(&choice.gate);
    free(choice.conninfo);
    return r < 0;
}
