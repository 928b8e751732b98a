/*
 * postgres_server.h - what the files of postgres-server share
 *
 *     postgres_server.c      the command line, and what is offered
 *     postgres_job.c         a request on its way through the pool
 *     postgres_tables.c      tables: as resources, their schema, completion, the prompt
 *     postgres_page.c        rows as JSON
 *     postgres_pool.c        connections, and who waits for one
 *     postgres_connection.c  one of them: how it comes home, canceled or not
 *     postgres_cancel.c      PostgreSQL's cancel request, off the loop
 *     gate.c                 how it is reached, and by whom
 */
#ifndef POSTGRES_SERVER_H
#define POSTGRES_SERVER_H

#include <mcp/http.h>
#include <mcp/uri_template.h>

#include "postgres_page.h"
#include "postgres_pool.h"

enum {
    POOL_DEFAULT = 10, /* connections */
    POOL_MAX = 1000,
    LIMIT_DEFAULT = 300, /* seconds of a request, waiting in line included */
    LIMIT_MAX = 1000000,
    ROWS_DEFAULT = 100, /* rows on a page */
    ROWS_MAX = 1000,
    TEXT_MAX = 4 << 20, /* bytes of a schema */
};

#define READ_ONLY "BEGIN READ ONLY"
#define TABLE_URI "postgres://tables/{schema}/{table}"

/* Tables that are listed as resources: their URIs, in order. */
struct table_list {
    struct table {
        char *uri, *name;
    } * tables;
    size_t count;
};

struct service {
    mcp_server *server;
    struct pool *pool;
    mcp_uri_template *table_uri;
    struct table_list listed;
    bool is_listing; /* they are asked for now */
};

/* ---- postgres_job.c ------------------------------------------------------------- */

/* A request that PostgreSQL answers; of kind `start`, with the service as its user. */
struct job {
    struct pool_call call; /* the first member */
    struct service *service;
    /* All went well: write the result, and return the handler's status. */
    int (*done)(struct job *job);

    struct page page;
    int64_t offset;           /* rows before the page */
    uint64_t digest;          /* of the statement with its parameters */
    int64_t changes;          /* rows that an execute has changed */
    char *sql;                /* the statement, if it is not the client's own text */
    char move[48], fetch[48]; /* statements */
    mcp_doc *variables;       /* of a table's URI */
    const char *typed[2];     /* parameters of a completion */
    struct table_list found;
    char *text; /* one long value */
    size_t text_length;
    const char **values; /* parameters */
    char **texts;        /* those of them that are made here */
    size_t value_count;
};

/* A job for the request; without one, req NULL, it lists the tables. MCP_E_NOMEM. */
int job_new(mcp_request *req, struct service *service, struct job **ret_job);
void job_free(struct job *job);

/* Parameters of the statement: JSON values as texts. MCP_E_INVAL: one is a text that
 * PostgreSQL cannot hold. */
int job_bind(struct job *job, const mcp_json *const *values, size_t count);

/* Hand it to the pool: it ends by itself. */
void job_start(struct job *job, mcp_loop *loop);

/* It cannot be started: say why, and end it. */
void job_refuse(struct job *job, const char *why);

/* Keep the long text of a row's second column, and in `changes` the number in its
 * first: a take of the call. */
bool job_take_text(struct pool_call *call, PGresult *result);

/* ---- postgres_tables.c ---------------------------------------------------------- */

/* List the tables that there are as resources: at once, before the loop runs; or soon,
 * and clients are told of changes. */
void tables_load(struct service *service);
void tables_follow(struct service *service, mcp_loop *loop);
void tables_free(struct table_list *list);

int tables_schema(mcp_request *req, mcp_result *out, void *user);  /* start handlers */
int tables_read(mcp_request *req, mcp_result *out, void *user);    /* of a URI */
int tables_explore(mcp_request *req, mcp_result *out, void *user); /* the prompt */
int tables_complete(mcp_request *req, mcp_result *out,
                    void *user); /* names of tables */

#endif
