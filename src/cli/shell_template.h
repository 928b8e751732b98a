/*
 * shell_template.h - a URI that is being typed, seen through a URI template
 */
#ifndef CLI_SHELL_TEMPLATE_H
#define CLI_SHELL_TEMPLATE_H

#include "cli/text.h"

/* What the cursor stands in. Texts are its own. */
struct cli_template_place {
    char *next; /* the template's own text goes on so, up to its next variable; NULL: */
    char *variable; /* this one's value is typed */
    char *value;    /* what there is of it, decoded */
    char *context;  /* the variables before it, a JSON object; NULL: none */
    char *tail;     /* the template's own text behind it, or "" */
    size_t start;   /* where in the typed text the value begins, or `next` */
    bool is_raw;    /* {+name}: reserved characters are not encoded */
};

/* False: the text does not fit, or the template has more than {name} and {+name}. */
bool cli_template_find(const char *text, const char *typed,
                       struct cli_template_place *ret_place);
void cli_template_place_done(struct cli_template_place *place);

/* The typed text with this value for the variable, and what follows it; with `next`
 * where there is that, and then value is NULL. */
void cli_template_fill(const struct cli_template_place *place, const char *typed,
                       const char *value, struct cli_text *into);

#endif
