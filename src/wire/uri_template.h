/*
 * uri_template.h - a parsed URI template, as the uri_*.c files share it
 *
 * uri_template.c parses, uri_expand.c makes URIs, uri_program.c turns the template into
 * steps, and uri_match.c runs them over a URI.
 */
#ifndef MCPI_WIRE_URI_TEMPLATE_H
#define MCPI_WIRE_URI_TEMPLATE_H

#include <mcp/uri_template.h>

#include "base/buf.h"

/* How an operator expands: RFC 6570, appendix A. */
struct mcpi_uri_operator {
    char mark;  /* '\0': none, {var} */
    char first; /* before the first value; '\0': nothing */
    char separator;
    bool is_named;        /* name=value */
    bool equals_if_empty; /* name= rather than name */
    bool is_reserved;     /* reserved characters and triplets pass as they are */
};

struct mcpi_uri_variable {
    const char *name; /* terminated */
    size_t slot;      /* which of the distinct names */
    unsigned prefix;  /* 0: whole */
    bool explode;
};

struct mcpi_uri_part {
    const struct mcpi_uri_operator *form; /* NULL: literal text */
    const char *text;                     /* of a literal */
    size_t len;
    size_t first; /* of an expression: its variables */
    size_t count;
};

/* ---- characters of a URI, decoded ------------------------------------------ */

/* One character of a URI or one %XX: its byte, and whether it stands there encoded. An
 * unreserved character counts as not encoded, whichever way it was written. */
typedef uint16_t mcpi_uri_unit;
#define MCPI_URI_ENCODED 0x100u

bool mcpi_uri_is_unreserved(unsigned char c);
bool mcpi_uri_is_reserved(unsigned char c);

/* The value of %XX at text, or -1. */
int mcpi_uri_triplet(const char *text, size_t len);

/* Read text into units, at most one for each byte. Returns how many bytes were read:
 * less than len if a byte is none that a URI may have. */
size_t mcpi_uri_read(const char *text, size_t len, mcpi_uri_unit *into,
                     size_t *ret_count);

/* ---- the program ----------------------------------------------------------- */

/*
 * Steps of a nondeterministic automaton. Each leads to `next`, a fork also to `other`,
 * and prefers `next`. A step that consumes nothing leads only to steps before it in the
 * array, except where the way there consumes something first.
 */
enum mcpi_uri_step_kind {
    MCPI_URI_END,     /* the URI must end here */
    MCPI_URI_LITERAL, /* `count` units from `first` on */
    MCPI_URI_ANY,     /* one unit of a set */
    MCPI_URI_FORK,
    MCPI_URI_MARK /* consumes nothing; notes where a part of a value is */
};

enum mcpi_uri_set {
    MCPI_URI_PLAIN,   /* unreserved or encoded */
    MCPI_URI_EACH,    /* reserved too */
    MCPI_URI_BUT_PAIR /* reserved too, but neither "=" nor "," */
};

enum mcpi_uri_mark {
    MCPI_URI_ITEM,  /* a value of `variable` begins */
    MCPI_URI_MORE,  /* the same, after a comma in a value without explode */
    MCPI_URI_KEY,   /* what was read since is its key */
    MCPI_URI_VALUE, /* and here the value begins */
    MCPI_URI_DONE   /* it ends */
};

struct mcpi_uri_step {
    enum mcpi_uri_step_kind kind;
    size_t next;
    size_t other;
    enum mcpi_uri_set set;
    enum mcpi_uri_mark mark;
    size_t variable;
    size_t first;
    size_t count;
};

struct mcpi_uri_program {
    struct mcpi_uri_step *steps;
    size_t step_count;
    mcpi_uri_unit *units; /* of all literals */
    size_t unit_count;
    size_t start;
};

struct mcp_uri_template {
    const mcp_allocator *mem;
    char *text;
    char *names_text; /* a copy, with a terminator behind each name */
    struct mcpi_uri_part *parts;
    size_t part_count;
    struct mcpi_uri_variable *variables;
    size_t variable_count;
    const char **names; /* each once */
    size_t name_count;
    struct mcpi_uri_program program;
};

/* Make the program of a template whose parts are known. MCP_E_NOMEM. */
int mcpi_uri_program_make(mcp_uri_template *t);
void mcpi_uri_program_done(mcp_uri_template *t);

/* mcp_uri_template_match, and how many steps it took. The length is within its limit. */
int mcpi_uri_match(const mcp_uri_template *t, const char *uri, size_t len,
                   mcp_doc **ret_variables, size_t *ret_missing, size_t *ret_steps);

#endif
