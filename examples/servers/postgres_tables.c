/*
 * postgres_tables.c - tables: as resources, their schema, completion, the prompt
 *
 * PostgreSQL makes the JSON. A table is whatever can be selected from: views and
 * foreign tables too, if this role may.
 */
#include "postgres_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLES                                                                     \
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"               \
    " WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')"                                \
    " AND n.nspname <> 'information_schema' AND NOT starts_with(n.nspname, 'pg_')" \
    " AND has_schema_privilege(n.oid, 'USAGE')"                                    \
    " AND has_table_privilege(c.oid, 'SELECT')"

/* The template has those beyond. */
static const char list_sql[] = "SELECT n.nspname, c.relname" TABLES
                               " ORDER BY 1, 2 LIMIT 1000";

/* By schema and name, or by a name as it stands in SQL; all that is null: any. */
static const char describe_sql[] =
    "SELECT count(*), json_build_object('tables', coalesce(json_agg(json_build_object("
    "'schema', t.nspname, 'name', t.relname, 'kind', CASE t.relkind WHEN 'v' THEN "
    "'view'"
    " WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table' ELSE 'table' END,"
    "'comment', obj_description(t.oid, 'pg_class'),"
    "'columns', (SELECT coalesce(json_agg(json_build_object('name', a.attname,"
    " 'type', format_type(a.atttypid, a.atttypmod), 'nullable', NOT a.attnotnull,"
    " 'default', pg_get_expr(d.adbin, d.adrelid),"
    " 'comment', col_description(t.oid, a.attnum)) ORDER BY a.attnum), '[]')"
    " FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid"
    " AND d.adnum = a.attnum WHERE a.attrelid = t.oid AND a.attnum > 0"
    " AND NOT a.attisdropped),"
    "'constraints', (SELECT coalesce(json_agg(pg_get_constraintdef(k.oid)"
    " ORDER BY k.conname), '[]') FROM pg_constraint k WHERE k.conrelid = t.oid),"
    "'indexes', (SELECT coalesce(json_agg(pg_get_indexdef(i.indexrelid)), '[]')"
    " FROM pg_index i WHERE i.indrelid = t.oid)) ORDER BY t.nspname, t.relname), '[]'))"
    " FROM (SELECT c.oid, n.nspname, c.relname, c.relkind" TABLES
    " AND ($1::text IS NULL OR n.nspname = $1) AND ($2::text IS NULL OR c.relname = $2)"
    " AND ($3::text IS NULL OR c.oid = to_regclass($3))) t";

/* What begins like $1; of the schema $2, if that is known. */
static const char complete_schema_sql[] =
    "SELECT DISTINCT n.nspname::text" TABLES
    " AND starts_with(n.nspname, $1) AND $2::text IS NULL ORDER BY 1 LIMIT 100";
static const char complete_table_sql[] =
    "SELECT DISTINCT c.relname::text" TABLES
    " AND starts_with(c.relname, $1) AND ($2::text IS NULL OR n.nspname = $2)"
    " ORDER BY 1 LIMIT 100";
static const char complete_name_sql[] =
    "SELECT c.oid::regclass::text" TABLES
    " AND starts_with(c.oid::regclass::text, $1) AND $2::text IS NULL"
    " ORDER BY 1 LIMIT 100";

/* ---- the list of resources ------------------------------------------------------ */

void
tables_free(struct table_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        mcp_text_free(list->tables[i].uri, NULL);
        free(list->tables[i].name);
    }
    free(list->tables);
    *list = (struct table_list){0};
}

/* One more; what cannot be kept is not listed. */
static void
tables_add(const struct service *service, struct table_list *list, const char *schema,
           const char *name)
{
    const mcp_uri_pair pairs[] = {{"schema", schema}, {"table", name}, {0}};
    struct table *grown = realloc(list->tables,
                                  (list->count + 1) * sizeof(list->tables[0]));
    struct table *table;

    if (!grown)
        return;
    list->tables = grown;
    table = &list->tables[list->count];
    if (mcp_uri_template_expand_pairs(service->table_uri, pairs, NULL, &table->uri,
                                      NULL, NULL) < 0)
        return;
    if (asprintf(&table->name, "%s.%s", schema, name) < 0)
        mcp_text_free(table->uri, NULL);
    else
        list->count++;
}

static void
tables_add_rows(const struct service *service, struct table_list *list,
                const PGresult *result)
{
    for (int row = 0; row < PQntuples(result); row++)
        tables_add(service, list, PQgetvalue(result, row, 0),
                   PQgetvalue(result, row, 1));
}

static int
table_compare(const void *a, const void *b)
{
    return strcmp(((const struct table *)a)->uri, ((const struct table *)b)->uri);
}

static void
table_offer(struct service *service, const struct table *table)
{
    (void)mcp_server_add_resource(
        service->server,
        &MCP_RESOURCE(.uri = table->uri, .name = table->name,
                      .mime_type = "application/json", .start = tables_read,
                      .user = service),
        NULL); /* not listed, then; the template has it all the same */
}

/* Both lists are in order: what is only in the old one goes, what is only in the new
 * one comes. Takes the new list. */
static void
tables_replace(struct service *service, struct table_list *found)
{
    struct table_list old = service->listed;
    size_t i = 0, j = 0;

    if (found->count > 1)
        qsort(found->tables, found->count, sizeof(found->tables[0]), table_compare);
    while (i < old.count || j < found->count) {
        int order = i == old.count ? 1 : -1;

        if (i < old.count && j < found->count)
            order = table_compare(&old.tables[i], &found->tables[j]);
        if (order < 0)
            (void)mcp_server_remove_resource(service->server, old.tables[i].uri);
        else if (order > 0)
            table_offer(service, &found->tables[j]);
        i += order <= 0;
        j += order >= 0;
    }
    tables_free(&old);
    service->listed = *found;
    *found = (struct table_list){0};
}

void
tables_load(struct service *service)
{
    struct table_list found = {0};
    PGconn *pg = pool_connect(service->pool);
    PGresult *result;

    if (PQstatus(pg) == CONNECTION_BAD)
        fprintf(stderr, "postgres-server: cannot connect yet: %s", PQerrorMessage(pg));
    result = PQexec(pg, list_sql);
    tables_add_rows(service, &found, result);
    tables_replace(service, &found);
    PQclear(result);
    PQfinish(pg);
}

static bool
follow_take(struct pool_call *call, PGresult *result)
{
    struct job *job = (struct job *)call;

    tables_add_rows(job->service, &job->found, result);
    return true;
}

static int
follow_done(struct job *job)
{
    tables_replace(job->service, &job->found);
    return 0;
}

void
tables_follow(struct service *service, mcp_loop *loop)
{
    struct job *job;

    if (service->is_listing || job_new(NULL, service, &job) < 0)
        return;
    service->is_listing = true;
    job->call.steps[0] = READ_ONLY;
    job->call.steps[1] = list_sql;
    job->call.take = follow_take;
    job->done = follow_done;
    job_start(job, loop);
}

/* ---- one table, or all ---------------------------------------------------------- */

/* Begin to ask for tables: schema and table are JSON texts, name is as in SQL; NULL:
 * any. What `done` finds is a JSON text, and in `changes` how many they are. */
static void
describe_start(struct job *job, const mcp_json *schema, const mcp_json *table,
               const mcp_json *name, int (*done)(struct job *job))
{
    const mcp_json *values[] = {schema, table, name};
    int r = job_bind(job, values, 3);

    job->done = done;
    if (r < 0) { /* a name that PostgreSQL cannot hold is nobody's: none is found */
        job->call.end(&job->call, r == MCP_E_INVAL ? 0 : r, NULL);
        return;
    }
    job->call.steps[0] = READ_ONLY;
    job->call.steps[1] = describe_sql;
    job->call.bound = 1;
    job->call.take = job_take_text;
    job_start(job, mcp_request_loop(job->call.req));
}

static int
schema_done(struct job *job)
{
    mcp_result *out = mcp_request_result(job->call.req);

    if (!job->text)
        return MCP_E_NOMEM;
    if (job->text_length > TEXT_MAX)
        return mcp_result_fail(out,
                               "there is too much to tell of %lld tables; name one",
                               (long long)job->changes);
    return mcp_result_json(out, job->text, job->text_length);
}

int
tables_schema(mcp_request *req, mcp_result *out, void *user)
{
    struct job *job;
    int r = job_new(req, user, &job);

    (void)out;
    if (r == 0)
        describe_start(job, NULL, NULL,
                       mcp_json_get(mcp_request_arguments(req), "table"), schema_done);
    return r;
}

static int
read_done(struct job *job)
{
    if (job->changes == 0)
        return mcp_request_not_found(job->call.req);
    return mcp_result_text_n(mcp_request_result(job->call.req), job->text,
                             job->text_length);
}

/* Those that are listed have a URI of their own, the others are found by the template:
 * here it is matched for both. */
int
tables_read(mcp_request *req, mcp_result *out, void *user)
{
    const char *uri = mcp_request_name(req);
    const mcp_json *variables;
    struct service *service = user;
    struct job *job;
    int r = job_new(req, service, &job);

    (void)out;
    if (r < 0)
        return r;
    r = mcp_uri_template_match(service->table_uri, uri, strlen(uri), &job->variables,
                               NULL, NULL);
    variables = mcp_doc_root(job->variables);
    if (r < 0 || mcp_json_count(variables) != 2) {
        job_free(job);
        return r < 0 ? r : mcp_request_not_found(req);
    }
    describe_start(job, mcp_json_get(variables, "schema"),
                   mcp_json_get(variables, "table"), NULL, read_done);
    return 0;
}

static int
explore_done(struct job *job)
{
    mcp_request *req = job->call.req;
    const char *question = mcp_request_argument(req, "question");
    const char *table = mcp_request_argument(req, "table");
    mcp_result *out = mcp_request_result(req);

    if (job->changes == 0)
        return mcp_request_fail(req, -32602, NULL, "there is no such table");
    mcp_result_textf(out,
                     "This is the table %s of a PostgreSQL database, as JSON. Use the "
                     "tool query to look at its rows, a few at first. %s",
                     table, question ? question : "Tell me what is in it.");
    return mcp_result_text_n(out, job->text, job->text_length);
}

int
tables_explore(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *arguments = mcp_json_get(mcp_request_params(req), "arguments");
    struct job *job;
    int r = job_new(req, user, &job);

    (void)out;
    if (r == 0)
        describe_start(job, NULL, NULL, mcp_json_get(arguments, "table"), explore_done);
    return r;
}

/* ---- completion ----------------------------------------------------------------- */

static bool
complete_take(struct pool_call *call, PGresult *result)
{
    mcp_result *out = mcp_request_result(call->req);

    for (int row = 0; row < PQntuples(result); row++)
        (void)mcp_result_value(out, PQgetvalue(result, row, 0)); /* sticky */
    return true;
}

static int
complete_done(struct job *job)
{
    (void)job;
    return 0;
}

/* Of the template, its variables; of the prompt, a name as it stands in SQL. */
int
tables_complete(mcp_request *req, mcp_result *out, void *user)
{
    const char *of = mcp_request_complete_name(req);
    bool is_template = strcmp(mcp_request_name(req), TABLE_URI) == 0;
    struct job *job;
    int r = job_new(req, user, &job);

    (void)out;
    if (r < 0)
        return r;
    if (!is_template)
        job->call.steps[1] = complete_name_sql;
    else if (strcmp(of, "schema") == 0)
        job->call.steps[1] = complete_schema_sql;
    else
        job->call.steps[1] = complete_table_sql;
    job->call.steps[0] = READ_ONLY;
    job->typed[0] = mcp_request_complete_value(req);
    job->typed[1] = is_template && strcmp(of, "table") == 0
                        ? mcp_request_complete_known(req, "schema")
                        : NULL;
    job->call.bound = 1;
    job->call.parameters = job->typed;
    job->call.parameter_count = 2;
    job->call.take = complete_take;
    job->done = complete_done;
    job_start(job, mcp_request_loop(req));
    return 0;
}
