/*
 * content.h - contents of results for people: texts, images, resources, messages
 */
#ifndef CLI_CONTENT_H
#define CLI_CONTENT_H

#include "cli/cli.h"

/* Where images go (--images); AUTO: the terminal if it can, else a file. */
enum cli_images {
    CLI_IMAGES_AUTO,
    CLI_IMAGES_FILE,
    CLI_IMAGES_SIXEL,
    CLI_IMAGES_KITTY,
    CLI_IMAGES_NONE
};

/* Options of commands that show contents, for their tables. */
#define CLI_CONTENT_OPTIONS                                                     \
    {"images",                                                                  \
     "HOW",                                                                     \
     "auto|file|sixel|kitty|none",                                              \
     CLI_CHOICE,                                                                \
     offsetof(struct cli_options, images),                                      \
     "Where images go: into the terminal if it can, or into files"},            \
    {                                                                           \
        "save", "FOLDER", NULL, CLI_TEXT, offsetof(struct cli_options, save),   \
            "Where images and other bytes are saved; else in a new folder for " \
            "temporary files"                                                   \
    }

/* Shows the content of a tool's result (array, or one block), or the contents of a
 * resource, on stdout: text wrapped and harmless, images and other bytes as files in
 * --save (or a fresh folder in $TMPDIR) with a line that says where, links with their
 * URI, what we do not know as JSON. Images may go to the terminal instead (image.h);
 * with --save they are files as well. Returns CLI_OK, or how to exit if stdout is gone,
 * data is no base64 or a file cannot be written, which was said; the rest is shown all
 * the same. */
int cli_show_content(struct cli *cli, const mcp_json *content);
int cli_show_contents(struct cli *cli, const mcp_json *contents);

/* Messages of a prompt: role, then content. */
int cli_show_messages(struct cli *cli, const mcp_json *messages);

/* Any value, for people: JSON, indented, and harmless on a terminal. */
int cli_show_value(struct cli *cli, const mcp_json *value);

/* Width of the terminal, at least 40; 80 if there is none. */
size_t cli_terminal_width(void);

#endif
