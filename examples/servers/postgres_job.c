/* postgres_job.c - a request on its way through the pool, to its end */
#include "postgres_server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
job_free(struct job *job)
{
    if (!job)
        return;
    for (size_t i = 0; i < job->value_count; i++)
        mcp_text_free(job->texts[i], NULL);
    free(job->texts);
    free(job->values);
    free(job->text);
    free(job->sql);
    tables_free(&job->found);
    mcp_doc_free(job->variables);
    free(job);
}

/* ---- when it fails -------------------------------------------------------------- */

/* Tools say it to the model, all else is an error of the protocol. */
static int
request_say_no(mcp_request *req, const char *why)
{
    mcp_result *out = mcp_request_result(req);

    if (strcmp(mcp_request_method(req), "tools/call") != 0)
        return mcp_request_fail(req, -32603, NULL, "%s", why);
    mcp_result_reset(out);
    return mcp_result_fail(out, "%s", why);
}

/* An error as PostgreSQL tells it: the code is for programs, the rest for who reads. */
static int
request_say_error(mcp_request *req, const PGresult *error)
{
    static const struct {
        int field;
        const char *before;
    } parts[] = {
        {PG_DIAG_SEVERITY_NONLOCALIZED, ""}, {PG_DIAG_SQLSTATE, " "},
        {PG_DIAG_MESSAGE_PRIMARY, ": "},     {PG_DIAG_MESSAGE_DETAIL, "\nDetail: "},
        {PG_DIAG_MESSAGE_HINT, "\nHint: "},
    };
    char *text = NULL, *clean = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    int r = MCP_E_NOMEM;

    if (!stream)
        return r;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const char *part = PQresultErrorField(error, parts[i].field);

        if (part)
            (void)fprintf(stream, "%s%s", parts[i].before, part);
    }
    if (fclose(stream) == 0)
        clean = text_clean(text, length);
    if (clean)
        r = request_say_no(req, clean);
    free(clean);
    free(text);
    return r;
}

static int
job_fail(struct job *job, int status, const PGresult *error)
{
    mcp_request *req = job->call.req;

    switch (status) {
    case MCP_E_PEER:
        return request_say_error(req, error);
    case MCP_E_SEND_FAILED:
        return request_say_no(req, "PostgreSQL cannot be reached; the log of this "
                                   "server says why");
    case MCP_E_CLOSED:
        return request_say_no(req, "the connection to PostgreSQL was lost; whether the "
                                   "statement took effect is not known");
    case MCP_E_INVAL:
        return request_say_no(req, "COPY to or from the client is not possible here");
    default:
        return status;
    }
}

/* ---- its life ------------------------------------------------------------------- */

static void
job_end(struct pool_call *call, int status, const PGresult *error)
{
    struct job *job = (struct job *)call;
    mcp_request *req = call->req;
    int r = status;

    if (status == 0)
        r = job->done(job);
    else if (req)
        r = job_fail(job, status, error);
    if (!req)
        job->service->is_listing = false;
    job_free(job);
    if (req)
        mcp_request_finish(req, r);
}

int
job_new(mcp_request *req, struct service *service, struct job **ret_job)
{
    struct job *job = calloc(1, sizeof(*job));

    if (!job)
        return MCP_E_NOMEM;
    job->service = service;
    job->call.req = req;
    job->call.end = job_end;
    *ret_job = job;
    return 0;
}

int
job_bind(struct job *job, const mcp_json *const *values, size_t count)
{
    int r = 0;

    job->values = calloc(count + 1, sizeof(job->values[0]));
    job->texts = calloc(count + 1, sizeof(job->texts[0]));
    if (!job->values || !job->texts)
        return MCP_E_NOMEM;
    job->value_count = count;
    for (size_t i = 0; r == 0 && i < count; i++) {
        enum mcp_json_type type = mcp_json_get_type(values[i]);

        if (type == MCP_JSON_STRING) {
            job->values[i] = mcp_json_string(values[i], NULL);
            r = strlen(job->values[i]) < mcp_json_string_length(values[i]) ? MCP_E_INVAL
                                                                           : 0;
        } else if (type != MCP_JSON_NULL && type != MCP_JSON_ABSENT) {
            r = mcp_json_print(values[i], false, NULL, &job->texts[i], NULL);
            job->values[i] = job->texts[i];
        }
    }
    job->call.parameter_count = (int)count;
    job->call.parameters = job->values;
    return r;
}

/* Over HTTP the first progress opens the stream: a client that asks for it knows that
 * the request has arrived. */
void
job_start(struct job *job, mcp_loop *loop)
{
    if (job->call.req)
        (void)mcp_request_progress(job->call.req, 0, 1, NULL);
    pool_start(job->service->pool, loop, &job->call);
}

void
job_refuse(struct job *job, const char *why)
{
    mcp_request *req = job->call.req;

    job_free(job);
    mcp_request_finish(req, request_say_no(req, why));
}

bool
job_take_text(struct pool_call *call, PGresult *result)
{
    struct job *job = (struct job *)call;

    if (PQntuples(result) == 0 || job->text)
        return true;
    job->changes = strtoimax(PQgetvalue(result, 0, 0), NULL, 10);
    job->text_length = (size_t)PQgetlength(result, 0, 1);
    job->text = text_clean(PQgetvalue(result, 0, 1), job->text_length);
    return true;
}
