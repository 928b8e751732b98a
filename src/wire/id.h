/*
 * id.h - request ids: the value as it is on the wire, and the key it is found by
 *
 * An id goes out verbatim; "7" and 7 are one id when correlating (A2, A6). The key of
 * an id is its folded form: a string that is the shortest decimal spelling of an int64
 * becomes that integer, every other string stays what it is (A5). Ids are never doubles
 * (A10), and what is no id folds to nothing and matches nothing (A12).
 */
#ifndef MCPI_WIRE_ID_H
#define MCPI_WIRE_ID_H

#include <mcp/json.h>

#include "base/buf.h"
#include "base/map.h"

/* Longest id we send, in bytes: with it a cancel frame always fits MCPI_FRAME_MAX.
 * Ids that come in are as long as a message may be. */
#define MCPI_ID_MAX 512

enum mcpi_id_kind {
    MCPI_ID_NONE = 0, /* absent, or not an id */
    MCPI_ID_INT,      /* int64 */
    MCPI_ID_UINT,     /* above INT64_MAX, up to UINT64_MAX */
    MCPI_ID_STRING,
    MCPI_ID_REAL /* an integer spelled as a fraction, 1.0: matches nothing; see below */
};

/* A view: text is borrowed from whoever made it. */
struct mcpi_id {
    enum mcpi_id_kind kind;
    union {
        int64_t number;   /* INT */
        uint64_t unsign;  /* UINT */
        const char *text; /* STRING; need not be terminated */
        double real;      /* REAL */
    };
    size_t len; /* STRING, else 0 */
};

struct mcpi_id mcpi_id_int(int64_t number);
struct mcpi_id mcpi_id_string(const char *text, size_t len);

/* The id a JSON value spells; NONE for null, booleans, fractions, arrays, objects, NULL,
 * and for a string that may have been another one (mcpi_json_is_repaired). */
struct mcpi_id mcpi_id_read(const mcp_json *value);

/* The id to refuse a message under that has no id to serve it by: REAL for an integer
 * that is spelled as a fraction, up to 2^53, so that whoever sent it finds its request
 * again; else NONE. The schemas have integers as ids, and JSON Schema calls 1.0 one. */
struct mcpi_id mcpi_id_read_refused(const mcp_json *value);

/* The key form; see above. Text stays borrowed. */
struct mcpi_id mcpi_id_fold(struct mcpi_id id);

/* Both already folded: same key? NONE and REAL equal nothing, not even
 * themselves. */
bool mcpi_id_same(const struct mcpi_id *a, const struct mcpi_id *b);

/* Hash of a folded id under a map's seed. */
uint64_t mcpi_id_hash(const struct mcpi_map *map, const struct mcpi_id *folded);

/* Append the id as JSON, verbatim; NONE is a programming error. Text is known to be
 * UTF-8: it came from a parsed document or was checked when the request started. */
void mcpi_id_write(struct mcpi_buf *buf, const struct mcpi_id *id);

/* For logs: a short printable form in `into`, always terminated. Returns into. */
#define MCPI_ID_SHOWN 48
const char *mcpi_id_show(const struct mcpi_id *id, char into[MCPI_ID_SHOWN]);

#endif
