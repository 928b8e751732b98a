/*
 * option.h - options on the command line: a table describes them, one reader fills them in
 *
 * An option is "--name", "--name VALUE" or "--name=VALUE", anywhere among the words;
 * after "--" there are none. Tables are also what help, the man page and the shells'
 * completions are made of.
 */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include <mcp/base.h>

#define CLI_LIST_MAX 64 /* of one option that may be said several times */

/* Texts in the order they were said; NULL behind the last. Borrowed from argv. */
struct cli_list {
    const char *item[CLI_LIST_MAX + 1];
    size_t count;
};

enum cli_kind {
    CLI_FLAG,    /* bool */
    CLI_TEXT,    /* const char * */
    CLI_LIST,    /* struct cli_list */
    CLI_TIME,    /* int64_t, milliseconds: "500ms", "5s", "2m", "1h", "5" are seconds */
    CLI_COUNT,   /* int64_t, not negative */
    CLI_PERCENT, /* double, 0 to 1: "30%" or "0.3" */
    CLI_CHOICE   /* int: the index among `choices` */
};

struct cli_option {
    const char *name;    /* "timeout"; NULL ends a table */
    const char *value;   /* what stands for its value in help, "TIME"; NULL: a flag */
    const char *choices; /* CLI_CHOICE: "auto|modern|legacy"; else NULL */
    enum cli_kind kind;
    size_t offset;    /* of its member in struct cli_options */
    const char *text; /* one line, for help, man page and completions */
};

/* All that can be said, by whichever command. Zero means that it was not, but for those
 * that cli_options_begin sets. */
struct cli_options {
    /* of all commands */
    int era; /* enum mcp_era */
    struct cli_list headers, env;
    const char *cwd;
    int64_t timeout_ms; /* 60000 unless it is said; 0: none */
    int64_t total_ms;
    bool reset_on_progress;
    int severity;   /* enum mcp_severity: log messages to be shown; -1: not said */
    const char *ca; /* TLS: who may vouch */
    bool insecure;  /* TLS: whoever it is */
    bool no_store;  /* keep no tokens, use none */
    bool json, trace, no_input;
    bool help, version;
    /* of some */
    const char *args;          /* call, get: FILE or - */
    const char *save;          /* call, read, get: where to put images and blobs */
    int images;                /* call, read, get: enum cli_images */
    struct cli_list arguments; /* complete: NAME=VALUE known already */
    struct cli_list resources; /* tail: URIs to watch */
    int64_t count;             /* bench, ping, tail: how many */
    int64_t at_once;           /* bench: calls at a time */
    int64_t duration_ms;       /* bench, tail */
    double cancel_rate;        /* bench */
    int64_t cancel_after_ms;   /* bench; -1: not said */
    int64_t warm_up;           /* bench */
    const char *tool;          /* bench, doctor: which one to call */
    int report;                /* doctor: the index of auto|text|json|junit */
    const char *client_id, *client_secret_file, *scope; /* login, as all below */
    int64_t port;
    bool no_browser, logout, client_credentials, dpop;
    bool notify; /* raw: a notification, no answer */
    bool all;    /* servers: also those that are disabled or shadowed */
};

/* Nothing was said yet. */
void cli_options_begin(struct cli_options *opt);

/* What the words of argv say by the tables common and own (may be NULL): options are
 * written into opt, the other words stay, in order, in argv[0..*ret_count). False: err
 * says what is wrong. The list of unknown options gets a suggestion if one is near. */
bool cli_options_read(const struct cli_option *common, const struct cli_option *own,
                      int argc, char **argv, struct cli_options *opt, int *ret_count,
                      mcp_error *err);

/* "5s", "500ms", "2m", "1h", "1.5"; false: it is no time. 0 is a time. */
bool cli_time_read(const char *text, int64_t *ret_ms);

/* Does each that was said begin with a name and what that ends with? */
bool cli_list_is_pairs(const struct cli_list *said, char end);

/* Takes those pairs out of what is configured ("NAME=value", "Name: value"; NULL at the
 * end, or NULL) whose name was said, which wins. end: what a name ends with; names of
 * headers (':') have no case. */
void cli_list_override(char **pairs, const struct cli_list *said, char end);

/* What is configured (NULL at the end, or NULL), then what was said; NULL at the end. The
 * texts are borrowed, the list is for free(). NULL: no memory. */
const char **cli_list_join(char *const *configured, const struct cli_list *said);

/* The entry of that name in either table, or NULL. own may be NULL. */
const struct cli_option *cli_option_find(const struct cli_option *common,
                                         const struct cli_option *own,
                                         const char *name);

#endif
